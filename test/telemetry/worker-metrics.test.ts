import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { personYaml, smallApplication } from '../cli/applications.ts';
import { addressOf, start } from '../cli/spawned.ts';
import { freshDatabase } from '../support/databases.ts';
import { parseExposition, total } from './parse-exposition.ts';

describe('the metrics of several processes', () => {
  test('are served by any of them, one series per process, even after a restart', async () => {
    const database = await freshDatabase('sqlite');
    const directory = smallApplication({
      'config/app_main.yaml': `${personYaml}  database: { url: '${database.url}', schema: update }\n  server: { metrics: { role: ~ } }\n`,
    });
    const server = start(['serve', directory, '--port', '0', '--workers', '2']);
    const url = await addressOf(server);
    const ask = async (path: string) => (await fetch(`${url}${path}`, { headers: { connection: 'close' } })).text();
    const scrape = async () => parseExposition(await ask('/metrics'));
    const route = '/api/person.{_format}';
    try {
      expect(server.printed.err).toContain('PUBLIC  GET,HEAD /metrics  metrics');
      await Promise.all(Array.from({ length: 30 }, () => ask('/api/person.json')));
      for (let i = 0; i < 4; i++) {
        const metrics = await scrape();
        expect(total(metrics, 'http_requests_total', { route })).toBe(30);
        for (const worker of ['1', '2']) {
          expect(total(metrics, 'worker_up', { worker })).toBe(1);
          expect(total(metrics, 'http_requests_total', { route, worker })).toBeGreaterThan(0);
          expect(total(metrics, 'process_resident_memory_bytes', { worker })).toBeGreaterThan(1e7);
          expect(total(metrics, 'db_statement_duration_seconds_count', { worker })).toBeGreaterThan(0);
        }
      }
      const before = await scrape();
      const kept = total(before, 'http_requests_total', { route, worker: '1' });
      // the process with the number 2, told by when it was started
      const pids = await pidsOf(server.child.pid as number);
      process.kill(pids[1] as number, 'SIGKILL');
      await server.until(/ended with SIGKILL; starting another/);
      let after = await scrape().catch(() => before);
      for (let tries = 0; tries < 200 && total(after, 'worker_up', { worker: '2' }) === 0; tries++) {
        await sleep(50);
        after = await scrape().catch(() => before);
      }
      expect(total(after, 'http_requests_total', { route, worker: '1' })).toBe(kept);
      expect(total(after, 'http_requests_total', { route, worker: '2' })).toBe(0);
      expect(after.get('worker_up')?.samples).toHaveLength(2);
    } finally {
      server.child.kill('SIGTERM');
      expect((await server.ended).code).toBe(0);
      await database.drop();
    }
  });
});

/** The processes that another one started, the first one first. */
async function pidsOf(parent: number): Promise<number[]> {
  const { readFile } = await import('node:fs/promises');
  const children = await readFile(`/proc/${parent}/task/${parent}/children`, 'utf8');
  return children
    .trim()
    .split(' ')
    .map(Number)
    .sort((one, other) => one - other);
}
