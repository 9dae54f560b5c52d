// Generates the same load as wrk, for machines without it: node autocannon-client.ts URL CONNECTIONS SECONDS
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fromLines, type SentRequest } from './request.ts';

interface Result {
  requests: { total: number };
  latency: { p50: number; p99: number };
  duration: number;
  non2xx: number;
  errors: number;
}

interface Client {
  setRequests(requests: readonly SentRequest[]): void;
}

const peer = createRequire(join(import.meta.dirname, '..', 'peers', 'autocannon', 'package.json'));
const autocannon = peer('autocannon') as (options: object) => Promise<Result>;

const [url, connections, duration] = process.argv.slice(2);
const all = fromLines(readFileSync(process.env.REQUESTS ?? '', 'utf8'));
const offset = Number(process.env.OFFSET ?? 0) % all.length;
const requests = [...all.slice(offset), ...all.slice(0, offset)];
// Each connection sends its own share. If all sent everything, they would send the same request at the same time and lock the
// same rows. Building all requests for each connection would also take seconds. Writes come in pairs, so shares are even.
const share = Math.max(2, 2 * Math.floor(requests.length / Number(connections) / 2));
let started = 0;

function setupClient(client: Client): void {
  const start = (started++ * share) % requests.length;
  client.setRequests(requests.slice(start, start + share));
}

const result = await autocannon({
  url,
  connections: Number(connections),
  duration: Number(duration),
  requests: requests.slice(0, share),
  setupClient,
});
const { p50, p99 } = result.latency;
const summary = {
  requests: result.requests.total,
  seconds: result.duration,
  refused: result.non2xx,
  broken: result.errors,
  p50,
  p99,
};
console.log(`RESULT ${JSON.stringify(summary)}`);
