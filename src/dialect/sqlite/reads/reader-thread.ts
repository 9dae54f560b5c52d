// Runs in a worker thread: reads a SQLite file for the thread that started it, one question after the other.
import { parentPort, workerData } from 'node:worker_threads';
import { TooLargeError } from '../../../database/too-large.ts';
import { Stopped } from '../stoppable-connection.ts';
import { sizeOfRow } from './prepared-reads.ts';
import { type Question, Reader } from './reader.ts';
import { Stopwatch } from './stopwatch.ts';
import { nextPart, type ReadResult, type ThreadMessage } from './thread-messages.ts';

/** The size of one message. The thread that receives rows copies a message as a whole, and does nothing else meanwhile. */
const mostRowsOfPart = 2000;
const bytesOfPart = 512 * 1024;

const port = parentPort as NonNullable<typeof parentPort>;
let rest: { readonly rows: unknown[]; readonly took: number; readonly cost: number; sent: number } | null = null;
const reader = new Reader(workerData as string);
port.postMessage('opened' satisfies ThreadMessage);

// null ends the thread
port.on('message', (question: Question | typeof nextPart | null) => {
  if (question) {
    port.postMessage(responseTo(question));
    return;
  }
  reader.close();
  port.close();
});

function responseTo(question: Question | typeof nextPart): ThreadMessage {
  if (question === nextPart) return partOfRest();
  const stopwatch = new Stopwatch();
  try {
    rest = { rows: reader.rows(question), took: stopwatch.elapsed(), cost: stopwatch.cost(), sent: 0 };
    return partOfRest();
  } catch (error) {
    if (error instanceof Stopped) return 'stopped';
    if (error instanceof TooLargeError) return 'too large';
    // an error that is sent to another thread loses everything but its message
    const { message, code, errcode, errstr } = error as Error & Record<string, unknown>;
    return { error: { message, properties: { code, errcode, errstr } } };
  }
}

function partOfRest(): ReadResult {
  if (!rest) throw new Error('no rows are left to send');
  const { cost, rows, sent, took } = rest;
  let end = sent;
  for (let bytes = 0; end < rows.length && end - sent < mostRowsOfPart && bytes < bytesOfPart; end++)
    bytes += sizeOfRow(rows[end] as object);
  if (end < rows.length) {
    rest.sent = end;
    return { rows: rows.slice(sent, end), took, cost, isPart: true };
  }
  rest = null;
  return { rows: sent === 0 ? rows : rows.slice(sent), took, cost };
}
