import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FreshDatabase } from '../database.ts';
import { clients, percentile, shown, tally } from '../load.ts';
import { allowed, both, type Kind, type Row } from '../row.ts';
import { withServer } from '../with-server.ts';

interface Sizes {
  readonly seconds: number;
  /** About 230 bytes each. */
  readonly texts: number;
  /** Exported as entities. */
  readonly reads: number;
  /** 500 KB each. */
  readonly large: number;
}

export const expenseRows: readonly Row[] = [
  {
    name: 'the most expensive requests, ten at once',
    must: 'health p99 under 100 ms, other requests served or shed, at most 512 MiB more, SIGTERM within 10 s',
    kinds: both,
    run: (surroundings) =>
      withServer(surroundings, {}, async (server, database) => {
        const sizes = surroundings.quick
          ? { seconds: 2, texts: 2000, reads: 3000, large: 40 }
          : { seconds: 30, texts: 60_000, reads: 200_000, large: 400 };
        await fill(surroundings.kind, database, sizes);
        const usual = clients(2, server.url, () => ({ path: '/thing/1.json' }));
        await sleep(500);
        await usual.stop();
        const { now } = server.memory();
        server.forgetPeak();
        const heavy = fork(join(import.meta.dirname, '..', 'heavy-clients.ts'), [server.url], { execArgv: [] });
        await once(heavy, 'message');
        await sleep(500);
        const health = clients(1, server.url, () => ({ path: '/health/live' }));
        const plain = clients(1, server.url, () => ({ path: '/thing/1.json' }));
        await sleep(sizes.seconds * 1000);
        const [checked, served] = await Promise.all([health.stop(), plain.stop()]);
        const grown = server.memory().peak - now;
        const ending = server.end();
        heavy.send('stop');
        const [counts] = (await once(heavy, 'message')) as [Record<string, number>];
        const { code, took } = await ending;
        const slowest = percentile(checked, 0.99);
        const statuses = Object.keys(tally(served));
        const isFast = surroundings.quick || (slowest < 100 && statuses.includes('200'));
        const isWell =
          checked.every(({ status }) => status === 200) && statuses.every((status) => status === '200' || status === '503');
        return {
          seen: `health p99 ${slowest.toFixed(1)} ms (${checked.length}, at most ${percentile(checked, 1).toFixed(0)} ms); GET ${shown(tally(served))}, p99 ${percentile(served, 0.99).toFixed(1)} ms; + ${grown.toFixed(0)} MiB; SIGTERM ${Math.round(took)} ms, exit ${code}; ${shown(counts)}`,
          pass: isWell && isFast && grown <= 512 && code === 0 && took < allowed(10_000, surroundings),
        };
      }),
  },
];

async function fill(kind: Kind, { query }: FreshDatabase, { large, reads, texts }: Sizes): Promise<void> {
  const numbers = (count: number) =>
    kind === 'sqlite'
      ? `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count}) select i from n`
      : `select i from generate_series(1, ${count}) as n(i)`;
  const long = (size: number) => (kind === 'sqlite' ? `replace(hex(zeroblob(${size / 2})), '0', 'x')` : `repeat('x', ${size})`);
  const insert = (table: string, columns: string, values: string, count: number) =>
    query(`insert into "${table}" (${columns}) select ${values} from (${numbers(count)}) as numbers`);
  await insert('text', 'note', `'note ' || i || ' ' || ${long(200)} || ' ' || (i * 7919 % 100003)`, texts);
  await insert('read', 'name', "'row ' || i", reads);
  await insert('read_tags', 'read_id, tag_id', 'i, i % 20 + 1', reads);
  await insert('large', 'note', long(500_000), large);
}
