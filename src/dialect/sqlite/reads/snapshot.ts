import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Question, Reader } from './reader.ts';
import { NoThreads, type ReaderThreads } from './reader-threads.ts';

/** The database of a snapshot. */
export interface SnapshotSource {
  readonly file: string | null;
  readonly threads: ReaderThreads | null;
  /** Opens the file, unless it is open. */
  init(): Promise<void>;
}

/** A consistent state of a SQLite file, which can be read as long as needed without blocking others. */
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

/** A snapshot in this thread, read in slices, if no other thread can be started. */
function inSlices(file: string): Snapshot {
  const reader = new Reader(file);
  return {
    async ask(question) {
      // other requests are served between two slices
      await nextTurn();
      return reader.rows(question);
    },
    async close() {
      reader.close();
    },
  };
}
