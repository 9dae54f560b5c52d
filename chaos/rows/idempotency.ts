import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeApplication } from '../application.ts';
import { freshDatabase } from '../database.ts';
import { ask, type ListQuery, shown, tally } from '../load.ts';
import { both, type Row } from '../row.ts';
import { serve } from '../server.ts';

function keyed(name: string, path = '/thing.json', headers: Record<string, string> = {}): ListQuery {
  return { method: 'POST', path, json: { name }, headers: { 'idempotency-key': name, ...headers } };
}

export const idempotencyRows: readonly Row[] = [
  {
    name: '20 parallel requests with one idempotency key',
    must: 'one effect, one body',
    kinds: both,
    async run(surroundings) {
      const rounds = surroundings.quick ? 10 : 100;
      const database = await freshDatabase(surroundings);
      const directory = writeApplication(surroundings.root, database.url);
      // two servers on one database, one of them with two processes
      const servers = [await serve(directory), await serve(directory, ['--workers', '2'])];
      const agent = new Agent({ keepAlive: true, maxSockets: 20 });
      const outcomes = [];
      let bodies = 0;
      try {
        for (let round = 0; round < rounds; round++) {
          const name = `round ${round}`;
          const path = round % 2 ? '/thing.json' : '/fragile.json';
          const responses = await Promise.all(
            Array.from({ length: 20 }, (_, i) => ask(servers[i % 2]?.url as string, keyed(name, path), agent)),
          );
          outcomes.push(...responses);
          bodies += new Set(responses.map(({ body }) => body)).size;
        }
      } finally {
        agent.destroy();
        await Promise.all(servers.map((server) => server.end()));
      }
      const [row] = await database.query("select count(*) as n from thing where name like 'round %'");
      const counts = tally(outcomes);
      return {
        seen: `${rounds} rounds, ${shown(counts)}: ${row?.n} effects, ${bodies} bodies`,
        pass: Number(row?.n) === rounds && bodies === rounds && counts['201'] === outcomes.length,
      };
    },
  },
  {
    name: 'kill -9 between change, commit and answer, with idempotency keys',
    must: 'what is sent again was done once, whenever the server died',
    kinds: both,
    async run(surroundings) {
      const times = surroundings.quick ? 1 : 50;
      const database = await freshDatabase(surroundings);
      const directory = writeApplication(surroundings.root, database.url);
      const names: string[] = [];
      let left = 0;
      for (let i = 0; i < times; i++) {
        for (const when of ['before the commit', 'after the commit'] as const) {
          const server = await serve(directory);
          const name = `${when} ${i} ${randomUUID()}`;
          names.push(name);
          const { status } = await ask(server.url, keyed(name, '/fragile.json', { 'x-die': when }));
          if (status !== 'lost') throw new Error(`the server did not die ${when}, but answered ${status}`);
          await server.end('SIGKILL');
          const [row] = await database.query(
            `select (select count(*) from thing where name = '${name}') as things, (select count(*) from declarest_idempotency) as answers`,
          );
          const expected = when === 'before the commit' ? 0 : 1;
          // each earlier round has stored two responses
          if (Number(row?.things) !== expected || Number(row?.answers) !== 2 * i + (expected ? 2 : 0)) left++;
          const again = await serve(directory);
          const response = await ask(again.url, keyed(name, '/fragile.json'));
          if (response.status !== 201) throw new Error(`sent again, it was answered with ${response.status}`);
          await again.end('SIGKILL');
        }
      }
      const rows = await database.query("select name from thing where name like '%the commit%'");
      return {
        seen: `${2 * times} kills: ${names.length} asked for, ${rows.length} done, ${left} half`,
        pass: rows.length === names.length && new Set(rows.map(({ name }) => name)).size === names.length && left === 0,
      };
    },
  },
  {
    name: 'kill -9 during writes with idempotency keys, all sent again',
    must: 'each done once, none lost',
    kinds: both,
    async run(surroundings) {
      const times = surroundings.quick ? 1 : 50;
      const database = await freshDatabase(surroundings);
      const directory = writeApplication(surroundings.root, database.url);
      let next = 0;
      let unanswered: string[] = [];
      for (let i = 0; i <= times; i++) {
        const isLast = i === times;
        const server = await serve(directory);
        // first the requests to which the server before did not respond
        const open = [...unanswered];
        unanswered = [];
        let isOver = false;
        const work = Promise.all(
          Array.from({ length: 8 }, async () => {
            for (;;) {
              const name = open.pop() ?? (isOver || isLast ? null : `write ${next++}`);
              if (name === null) return;
              const path = /[02468]$/.test(name) ? '/thing.json' : '/fragile.json';
              const { status } = await ask(server.url, keyed(name, path));
              if (status !== 201) unanswered.push(name);
            }
          }),
        );
        if (!isLast) {
          await sleep(200 + Math.random() * 300);
          isOver = true;
          await server.end('SIGKILL');
        }
        await work;
        if (isLast) await server.end();
      }
      const rows = await database.query("select name from thing where name like 'write %'");
      const once = new Set(rows.map(({ name }) => name));
      return {
        seen: `${times} kills, ${next} asked for, ${rows.length} done, ${once.size} different, ${unanswered.length} unanswered`,
        pass: rows.length === next && once.size === next && unanswered.length === 0,
      };
    },
  },
];
