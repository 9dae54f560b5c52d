import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** The result of a request: a status, `refused` without a connection, or `lost` if the connection broke. */
export interface Outcome {
  readonly status: number | 'refused' | 'lost';
  readonly took: number;
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
}

export interface ListQuery {
  readonly method?: string;
  readonly path: string;
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a request. Errors of the connection are results, never exceptions. */
export function ask(url: string, { method = 'GET', path, json, headers = {} }: ListQuery, agent?: Agent): Promise<Outcome> {
  let start = performance.now();
  const body = json === undefined ? undefined : JSON.stringify(json);
  return new Promise((resolve) => {
    const done = (status: Outcome['status'], text = '', received: IncomingHttpHeaders = {}) =>
      resolve({ status, took: performance.now() - start, body: text, headers: received });
    const ofBody = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const sent = request(url + path, { method, agent, headers: { ...headers, ...ofBody } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => done(response.complete ? (response.statusCode as number) : 'lost', text, response.headers));
      response.on('error', () => done('lost'));
    });
    // excludes the wait for a connection of this client
    sent.once('socket', () => {
      start = performance.now();
    });
    sent.on('error', (error: NodeJS.ErrnoException) => {
      done(error.code === 'ECONNREFUSED' ? 'refused' : 'lost');
    });
    sent.end(body);
  });
}

/** Counts of outcomes by status. */
export function tally(outcomes: readonly Outcome[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of outcomes) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

export function shown(counts: Record<string, number>): string {
  return Object.entries(counts)
    .map(([status, count]) => `${count} × ${status}`)
    .join(', ');
}

export function percentile(outcomes: readonly Outcome[], part: number): number {
  const times = outcomes.map(({ took }) => took).sort((a, b) => a - b);
  return times[Math.min(Math.floor(times.length * part), times.length - 1)] ?? 0;
}

/** Clients that send one request after another until they are stopped. */
export function clients(
  count: number,
  url: string,
  next: (n: number) => ListQuery,
): { stop(): Promise<Outcome[]>; readonly outcomes: Outcome[] } {
  const outcomes: Outcome[] = [];
  let isOver = false;
  const agent = new Agent({ keepAlive: true, maxSockets: count });
  const running = Array.from({ length: count }, async (_, i) => {
    for (let n = 0; !isOver; n++) {
      const outcome = await ask(url, next(i + n * count), agent);
      outcomes.push(outcome);
      if (outcome.status === 'refused' || outcome.status === 503) await sleep(20);
    }
  });
  return {
    outcomes,
    async stop() {
      isOver = true;
      await Promise.all(running);
      agent.destroy();
      return outcomes;
    },
  };
}

/** Sends requests at a fixed rate, whether or not earlier ones have a response. */
export async function atRate(
  rate: number,
  { connections, seconds }: { connections: number; seconds: number },
  url: string,
  next: (n: number) => ListQuery,
): Promise<Outcome[]> {
  // connections are opened before the measurement, like those of a proxy
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  for (let open = 20; open <= connections; open += 20)
    await Promise.all(Array.from({ length: open }, () => ask(url, { path: '/health/live' }, agent)));
  const pending: Promise<Outcome>[] = [];
  const start = performance.now();
  for (let sent = 0; performance.now() - start < seconds * 1000; await sleep(5)) {
    for (const due = ((performance.now() - start) / 1000) * rate; sent < due; sent++) pending.push(ask(url, next(sent), agent));
  }
  const outcomes = await Promise.all(pending);
  agent.destroy();
  return outcomes;
}
