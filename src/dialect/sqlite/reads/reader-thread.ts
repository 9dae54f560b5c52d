// Runs in a worker thread: reads a SQLite file for the thread that started it, one question after the other.
import { parentPort, workerData } from 'node:worker_threads';
import { TooLargeError } from '../../../database/too-large.ts';
import { Stopped } from '../stoppable-connection.ts';
import { type Question, Reader } from './reader.ts';
import { Stopwatch } from './stopwatch.ts';

/** Rows, the elapsed milliseconds, and the cost in milliseconds: see {@link Stopwatch}. */
export interface ReadResult {
  readonly rows: unknown[];
  readonly took: number;
  readonly cost: number;
}

/**
 * `opened` is sent first, when the file is open. `stopped` and `too large` are sent instead of rows that exceed a limit of the
 * question.
 */
export type ThreadMessage =
  | 'opened'
  | 'stopped'
  | 'too large'
  | ReadResult
  | { readonly error: { readonly message: string; readonly properties: object } };

const port = parentPort as NonNullable<typeof parentPort>;
const reader = new Reader(workerData as string);
port.postMessage('opened' satisfies ThreadMessage);

// null ends the thread
port.on('message', (question: Question | null) => {
  if (question) {
    port.postMessage(responseTo(question));
    return;
  }
  reader.close();
  port.close();
});

function responseTo(question: Question): ThreadMessage {
  const stopwatch = new Stopwatch();
  try {
    return { rows: reader.rows(question), took: stopwatch.elapsed(), cost: stopwatch.cost() };
  } catch (error) {
    if (error instanceof Stopped) return 'stopped';
    if (error instanceof TooLargeError) return 'too large';
    // an error that is sent to another thread loses everything but its message
    const { message, code, errcode, errstr } = error as Error & Record<string, unknown>;
    return { error: { message, properties: { code, errcode, errstr } } };
  }
}
