import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { leftOpen } from '../database.ts';
import { ask, clients, shown, tally } from '../load.ts';
import { allowed, both, type Row } from '../row.ts';
import { mixed, withServer } from '../with-server.ts';

export const lifecycleRows: readonly Row[] = [
  {
    name: 'SIGTERM under load',
    must: 'no accepted request dropped, exit 0 within 10 s',
    kinds: both,
    async run(surroundings) {
      const times = surroundings.quick ? 2 : 50;
      let lost = 0;
      let slowest = 0;
      let requests = 0;
      const codes = new Set<number | null>();
      for (let i = 0; i < times; i++) {
        await withServer(surroundings, {}, async (server) => {
          const load = clients(16, server.url, mixed);
          await sleep(300 + Math.random() * 500);
          const { code, took } = await server.end();
          const outcomes = await load.stop();
          codes.add(code);
          slowest = Math.max(slowest, took);
          requests += outcomes.length;
          lost += outcomes.filter(({ status }) => status === 'lost' || (typeof status === 'number' && status >= 500)).length;
          return { seen: '', pass: true };
        });
      }
      const pass = lost === 0 && slowest < allowed(10_000, surroundings) && codes.size === 1 && codes.has(0);
      return {
        seen: `${times} ends, ${requests} requests, ${lost} lost, slowest ${Math.round(slowest)} ms, exit ${[...codes]}`,
        pass,
      };
    },
  },
  {
    name: 'PostgreSQL restarted under load',
    must: 'only 503 while away, recovered within 2 s of its return',
    kinds: ['postgresql'],
    run: (surroundings) =>
      withServer(surroundings, {}, async (server) => {
        const times = surroundings.quick ? 2 : 20;
        const load = clients(8, server.url, mixed);
        let slowest = 0;
        await sleep(500);
        for (let i = 0; i < times; i++) {
          await surroundings.postgres.restart(500);
          const back = performance.now();
          while ((await ask(server.url, { path: '/thing/1.json' })).status !== 200) await sleep(10);
          slowest = Math.max(slowest, performance.now() - back);
          await sleep(500);
        }
        const counts = tally(await load.stop());
        const wrong = Object.keys(counts).filter((status) => !['200', '503'].includes(status));
        return {
          seen: `${times} restarts: ${shown(counts)}; back after ${Math.round(slowest)} ms at most`,
          pass: wrong.length === 0 && slowest < allowed(2000, surroundings),
        };
      }),
  },
  {
    name: 'PostgreSQL stopped (SIGSTOP)',
    must: 'bounded 503s, health live, no connection leaked afterwards',
    kinds: ['postgresql'],
    run: (surroundings) =>
      withServer(
        surroundings,
        { database: { statement_timeout: 2000, connect_timeout: 2000 } },
        async (server, { query, url }) => {
          const seconds = surroundings.quick ? 3 : 30;
          await Promise.all(Array.from({ length: 20 }, (_, n) => ask(server.url, mixed(n))));
          const [{ pids }] = (await query(
            `select array_agg(pid) as pids from pg_stat_activity where datname = '${new URL(url).pathname.slice(1)}'`,
          )) as [{ pids: number[] }];
          const all = [surroundings.postgres.pid(), ...pids];
          const signal = (name: NodeJS.Signals) => {
            for (const pid of all) spawnSync('kill', [`-${name.slice(3)}`, String(pid)]);
          };
          signal('SIGSTOP');
          const load = clients(16, server.url, mixed);
          let live = 0;
          let ready = 0;
          for (let i = 0; i < seconds * 2; i++) {
            const [one, two] = await Promise.all([
              ask(server.url, { path: '/health/live' }),
              ask(server.url, { path: '/health/ready' }),
              sleep(500),
            ]);
            live = Math.max(live, one.status === 200 ? one.took : Number.POSITIVE_INFINITY);
            ready = Math.max(ready, two.took);
          }
          signal('SIGCONT');
          const back = performance.now();
          while ((await ask(server.url, { path: '/thing/1.json' })).status !== 200) await sleep(10);
          const took = performance.now() - back;
          const outcomes = await load.stop();
          await sleep(3000);
          const left = await leftOpen(surroundings, query);
          const slowest = Math.max(...outcomes.map((outcome) => outcome.took));
          const counts = tally(outcomes);
          const wrong = Object.keys(counts).filter((status) => !['200', '503'].includes(status));
          const pass =
            wrong.length === 0 &&
            slowest < allowed(10_000, surroundings) &&
            live < allowed(1000, surroundings) &&
            ready < allowed(2500, surroundings) &&
            /^0 .* ([0-9]|1\d|2[0-2]) connections/.test(left);
          return {
            seen: `${shown(counts)}, slowest ${Math.round(slowest)} ms; live within ${Math.round(live)} ms, ready told within ${Math.round(ready)} ms; back after ${Math.round(took)} ms; ${left}`,
            pass,
          };
        },
      ),
  },
];
