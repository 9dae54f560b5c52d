import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A directory that its process removes at exit. If the process was killed, the next one of the same kind removes it. */
export interface Temporary {
  directory: string;
  remove(): void;
}

/** Makes an empty temporary directory, and removes those that killed runs left behind. */
export function makeTemporary(kind: string, root = tmpdir()): Temporary {
  const prefix = `declarest-test-${kind}-`;
  removeLeftovers(root, prefix);
  const directory = mkdtempSync(join(root, `${prefix}${process.pid}-`));
  const remove = () => {
    process.off('exit', remove);
    removeWhileInUse(directory);
  };
  process.once('exit', remove);
  return { directory, remove };
}

/**
 * A PostgreSQL server that still runs in such a directory misses its lock file within a minute and shuts itself down,
 * so no process has to be looked up and ended here.
 */
function removeLeftovers(root: string, prefix: string): void {
  for (const name of readdirSync(root)) {
    const owner = name.startsWith(prefix) ? Number.parseInt(name.slice(prefix.length), 10) : Number.NaN;
    if (Number.isNaN(owner) || isRunning(owner)) continue;
    try {
      rmSync(join(root, name), { recursive: true, force: true });
    } catch {
      // It belongs to another user, or something still writes there: a later run will remove it.
    }
  }
}

/**
 * A server that is still shutting down writes files into folders that are being removed. The removal then ends early, not
 * always with an error, so it is retried for two seconds.
 */
function removeWhileInUse(directory: string): void {
  for (let attempt = 1; attempt <= 40 && existsSync(directory); attempt++) {
    // An exiting process runs no asynchronous code.
    if (attempt > 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
    try {
      rmSync(directory, { recursive: true, force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error;
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
