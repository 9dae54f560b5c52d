import { accessSync, constants, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { TestProject } from 'vitest/node';
import { makeTemporary } from './temporary.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The directory of SQLite files and other files of this run. */
    runDirectory: string;
  }
}

/** Creates one directory for the files of the whole run, so that all of them are removed at its end. */
export default function setup(project: TestProject): () => void {
  const { directory, remove } = makeTemporary('run', hasSpace(memoryDirectory) ? memoryDirectory : tmpdir());
  project.provide('runDirectory', directory);
  return remove;
}

/** On Linux, these files are in memory, so a commit does not wait for a disk. Containers often have too little space there. */
const memoryDirectory = '/dev/shm';
const neededBytes = 2 ** 31;

function hasSpace(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize >= neededBytes;
  } catch {
    return false;
  }
}
