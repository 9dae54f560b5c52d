import type { TestProject } from 'vitest/node';
import { makeTemporary } from './temporary.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Where the SQLite files and other files of this run live. */
    runDirectory: string;
  }
}

/** Makes one directory for the files of the whole run, so that none outlives it. */
export default function setup(project: TestProject): () => void {
  const { directory, remove } = makeTemporary('run');
  project.provide('runDirectory', directory);
  return remove;
}
