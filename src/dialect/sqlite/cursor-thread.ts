// Runs in a thread of its own: steps through the rows of a SQLite file for the thread that started it, one cursor at a time.
import { parentPort, workerData } from 'node:worker_threads';
import type { Statement } from '../../database/executor.ts';
import type { ReaderThreadData } from './reader-thread.ts';
import { StepReader } from './step-reader.ts';

/** What is asked of the thread, each question answered by one message; null asks it to end. */
export type CursorQuestion =
  | { readonly open: Statement; readonly parameters: readonly unknown[] }
  | { readonly next: number }
  | { readonly rows: Statement; readonly parameters: readonly unknown[] }
  | { readonly end: true }
  | null;

export type CursorAnswer =
  | { readonly rows: unknown[][] }
  | { readonly error: { readonly message: string; readonly properties: object } };

/** What it says first, when it has opened the file. */
export type Opened = 'opened';

const { file, busyTimeout } = workerData as ReaderThreadData;
const port = parentPort as NonNullable<typeof parentPort>;
const reader = new StepReader(file, busyTimeout);
port.postMessage('opened' satisfies Opened);

port.on('message', (question: CursorQuestion) => {
  if (question) {
    port.postMessage(answerTo(question));
    return;
  }
  reader.close();
  port.close();
});

function answerTo(question: NonNullable<CursorQuestion>): CursorAnswer {
  try {
    return { rows: rowsFor(question) };
  } catch (error) {
    // an error that is sent to another thread keeps nothing but its message
    const { message, code, errcode, errstr } = error as Error & Record<string, unknown>;
    return { error: { message, properties: { code, errcode, errstr } } };
  }
}

function rowsFor(question: NonNullable<CursorQuestion>): unknown[][] {
  if ('next' in question) return reader.next(question.next);
  if ('rows' in question) return reader.rows(question.rows, question.parameters);
  if ('open' in question) {
    reader.begin();
    reader.open(question.open, question.parameters);
  } else reader.end();
  return [];
}
