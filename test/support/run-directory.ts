import { accessSync, constants, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
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
  const { directory, remove } = makeTemporary('run', hasRoom(memory) ? memory : tmpdir());
  project.provide('runDirectory', directory);
  return remove;
}

/** Linux keeps these files in memory: a commit waits for no disk. Containers often have less of it than the tests fill. */
const memory = '/dev/shm';
const roomNeeded = 2 ** 31;

function hasRoom(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize >= roomNeeded;
  } catch {
    return false;
  }
}
