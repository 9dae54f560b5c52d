// Runs in a thread of its own: reads a SQLite file for the thread that started it, one statement after the other.
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { Statement } from './executor.ts';
import { PreparedReads } from './prepared-reads.ts';

/** What is asked of the thread; null asks it to end. */
export type Question = { readonly statement: Statement; readonly parameters: readonly unknown[] } | null;

/** What it answers, with the milliseconds that it took. */
export type Answer =
  | { readonly took: number; readonly rows: unknown[][] }
  | { readonly took: number; readonly error: { readonly message: string; readonly properties: object } };

/** What it says first, when it has opened the file. */
export type Opened = 'opened';

export interface ReaderThreadData {
  readonly file: string;
  readonly busyTimeout: number;
}

const { file, busyTimeout } = workerData as ReaderThreadData;
const port = parentPort as NonNullable<typeof parentPort>;
const reads = new PreparedReads(new DatabaseSync(file, { readOnly: true, timeout: busyTimeout }));
port.postMessage('opened' satisfies Opened);

port.on('message', (question: Question) => {
  if (question) {
    port.postMessage(answerTo(question));
    return;
  }
  reads.db.close();
  port.close();
});

function answerTo({ statement, parameters }: NonNullable<Question>): Answer {
  const start = performance.now();
  try {
    const rows = reads.rows(statement, parameters);
    return { took: performance.now() - start, rows };
  } catch (error) {
    // an error that is sent to another thread keeps nothing but its message
    const { message, code, errcode, errstr } = error as Error & Record<string, unknown>;
    return { took: performance.now() - start, error: { message, properties: { code, errcode, errstr } } };
  }
}
