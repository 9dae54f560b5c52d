import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Question, Reader } from './reader.ts';
import { NoThreads, type ReaderThreads } from './reader-threads.ts';

/** Where snapshots are taken of. */
export interface SnapshotSource {
  readonly file: string | null;
  readonly threads: ReaderThreads | null;
  /** Opens the file, unless it is open. */
  init(): Promise<void>;
}

/** A state of a SQLite file, which is read as long as needed and holds up nobody. */
export interface Snapshot {
  /** The rows of a statement, or the next of a cursor. */
  ask(question: Question): Promise<unknown[]>;
  close(): Promise<void>;
}

/** Begins a snapshot in a thread of its own. */
export async function beginSnapshot(source: SnapshotSource): Promise<Snapshot> {
  await source.init();
  try {
    return await begun(inThread(source.threads as ReaderThreads));
  } catch (error) {
    if (!(error instanceof NoThreads)) throw error;
    return begun(inSlices(source.file as string));
  }
}

async function begun(snapshot: Snapshot): Promise<Snapshot> {
  try {
    await snapshot.ask({ begin: true });
    return snapshot;
  } catch (error) {
    await snapshot.close();
    throw error;
  }
}

function inThread(threads: ReaderThreads): Snapshot {
  const thread = threads.take();
  const ask = (question: Question) => threads.ask(thread, question);
  return {
    ask,
    async close() {
      await ask({ end: true }).catch(() => undefined);
      threads.giveBack(thread);
    },
  };
}

/** The same in this thread, some rows at a time, if no other can be started. */
function inSlices(file: string): Snapshot {
  const reader = new Reader(file);
  return {
    async ask(question) {
      // others are served between any two slices
      await nextTurn();
      return reader.rows(question);
    },
    async close() {
      reader.close();
    },
  };
}
