// Runs in a thread of its own: reads a SQLite file for the thread that started it, one statement after the other.
import { parentPort, workerData } from 'node:worker_threads';
import type { Statement } from '../../database/executor.ts';
import { openToRead } from './functions.ts';
import { NamedReads } from './named-reads.ts';
import { PreparedReads } from './prepared-reads.ts';

/** Whether rows are arrays, as compiled statements want them, or objects, as the mapper does. */
export type RowForm = 'arrays' | 'named';

/** What is asked of the thread; null asks it to end. */
export type Question = { readonly statement: Statement; readonly parameters: readonly unknown[]; readonly as: RowForm } | null;

/** What it answers, with the milliseconds that it took. */
export type Answer =
  | { readonly took: number; readonly rows: readonly unknown[] }
  | { readonly took: number; readonly error: { readonly message: string; readonly properties: object } };

/** What it says first, when it has opened the file. */
export type Opened = 'opened';

export interface ReaderThreadData {
  readonly file: string;
  readonly busyTimeout: number;
}

const { file, busyTimeout } = workerData as ReaderThreadData;
const port = parentPort as NonNullable<typeof parentPort>;
const db = openToRead(file, busyTimeout);
const reads = new PreparedReads(db);
const namedReads = new NamedReads(db);
port.postMessage('opened' satisfies Opened);

port.on('message', (question: Question) => {
  if (question) {
    port.postMessage(answerTo(question));
    return;
  }
  db.close();
  port.close();
});

function answerTo({ statement, parameters, as }: NonNullable<Question>): Answer {
  const start = performance.now();
  try {
    const rows = as === 'arrays' ? reads.rows(statement, parameters) : namedReads.rows(statement.text, parameters);
    return { took: performance.now() - start, rows };
  } catch (error) {
    // an error that is sent to another thread keeps nothing but its message
    const { message, code, errcode, errstr } = error as Error & Record<string, unknown>;
    return { took: performance.now() - start, error: { message, properties: { code, errcode, errstr } } };
  }
}
