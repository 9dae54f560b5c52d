// Sends requests at a fixed rate, regardless of the responses: node fixed-rate.ts PORT RATE SECONDS. Latency is measured from
// the time at which a request was due, so it includes the time for which a stalled server delays requests.
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { quantile } from '../statistics.ts';
import { fromLines } from './request.ts';

const [port, rate, seconds] = process.argv.slice(2).map(Number) as [number, number, number];
const requests = fromLines(readFileSync(process.env.REQUESTS ?? '', 'utf8'));
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const total = rate * seconds;
// the first second opens connections, and is not measured
const warming = rate;
const latencies: number[] = [];
const begun = performance.now();
let sent = 0;
let completed = 0;
let failed = 0;

function send(number: number): void {
  const due = begun + (number * 1000) / rate;
  const { body, ...options } = requests[number % requests.length] as (typeof requests)[number];
  const outgoing = request({ host: '127.0.0.1', port, agent, ...options }, (response) => {
    if ((response.statusCode ?? 500) >= 400) failed++;
    response.resume().on('end', () => {
      if (number >= warming) latencies.push(performance.now() - due);
      finish();
    });
  });
  outgoing.on('error', () => {
    failed++;
    finish();
  });
  outgoing.end(body);
}

function tick(): void {
  while (sent < total && begun + (sent * 1000) / rate <= performance.now()) send(sent++);
  if (sent < total) setTimeout(tick, 1);
}

function finish(): void {
  completed++;
  if (completed < total) return;
  latencies.sort((a, b) => a - b);
  console.log(`RESULT ${JSON.stringify({ rate, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), failed })}`);
  process.exit();
}

tick();
setTimeout(
  () => {
    console.log(`RESULT ${JSON.stringify({ rate, p50: null, p99: null, failed: failed + total - completed })}`);
    process.exit();
  },
  seconds * 1000 + 5000,
);
