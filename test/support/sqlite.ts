import type { TestProject } from 'vitest/node';
import { makeTemporary } from './temporary.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Where the SQLite files of this run live. */
    sqliteDirectory: string;
  }
}

/** Makes one directory for the SQLite files of the whole run, so that none outlives it. */
export default function setup(project: TestProject): () => void {
  const { directory, remove } = makeTemporary('sqlite');
  project.provide('sqliteDirectory', directory);
  return remove;
}
