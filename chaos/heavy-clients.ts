// Ten clients with the most expensive requests, in a separate process, so that they do not delay the measurements.
import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const url = process.argv[2] as string;
const counts: Record<string, number> = {};
let isOver = false;

/** Ten conditions, none of which can use an index. */
function contains(n: number): string {
  const conditions = Array.from({ length: 10 }, (_, i) => `or[${i}][note][contains]=${(n * 10 + i).toString(36)}q`);
  return `/text.json?${conditions.join('&')}&page=${(n % 5) + 1}&items_per_page=200`;
}

/** Resolves when the response was read. An unread response resolves with its headers, and is disconnected after two seconds. */
function send(kind: string, path: string, isRead: boolean): Promise<void> {
  return new Promise((resolve) => {
    const done = (outcome: number | string) => {
      const name = `${kind} ${outcome}`;
      counts[name] = (counts[name] ?? 0) + 1;
      resolve();
    };
    const sent = get(url + path, { agent: false }, (response) => {
      const { statusCode = 0 } = response;
      if (!isRead) {
        response.on('error', () => undefined);
        setTimeout(() => sent.destroy(), 2000);
        done(statusCode);
        return;
      }
      response.on('error', () => done('lost')).on('end', () => done(response.complete ? statusCode : 'lost'));
      response.resume();
    });
    sent.on('error', () => done('lost'));
  });
}

async function client(kind: string, pathOf: (n: number) => string, isRead = true): Promise<void> {
  for (let n = 0; !isOver; n++) {
    await send(kind, pathOf(n), isRead);
    await sleep(isRead ? 5 : 50);
  }
}

for (let i = 0; i < 3; i++) void client('contains', (n) => contains(n * 3 + i));
for (let i = 0; i < 3; i++) void client('export', () => '/read.ndjson');
for (let i = 0; i < 2; i++) void client('page', (n) => `/large.json?items_per_page=20&page=${(n % 2) + 1}`);
void client('unread page', (n) => `/large.json?items_per_page=20&page=${(n % 2) + 1}`, false);
void client('page beyond the limit', () => '/large.json?items_per_page=40');

process.on('message', () => {
  isOver = true;
  process.send?.(counts, () => process.exit());
});
process.send?.('started');
