import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeApplication } from '../application.ts';
import { freshDatabase } from '../database.ts';
import { ask, clients } from '../load.ts';
import { both, type Row } from '../row.ts';
import { serve } from '../server.ts';

export const durabilityRows: readonly Row[] = [
  {
    name: 'kill -9 during writes',
    must: 'no acknowledged write lost, no half-written association, integrity check passes',
    kinds: both,
    async run(surroundings) {
      const times = surroundings.quick ? 2 : 200;
      const database = await freshDatabase(surroundings);
      const directory = writeApplication(surroundings.root, database.url);
      const acknowledged = new Set<string>();
      for (let i = 0; i < times; i++) {
        const server = await serve(directory);
        const load = clients(8, server.url, (n) => ({
          method: 'POST',
          path: '/thing.json',
          json: { name: `round ${i} write ${n}`, ...(n % 2 && { tags: [{ id: 1 }, { id: 2 }] }) },
        }));
        // in the short form, even a busy machine must complete a write before the kill
        await sleep((surroundings.quick ? 600 : 100) + Math.random() * 300);
        await server.end('SIGKILL');
        for (const { status, body } of await load.stop()) if (status === 201) acknowledged.add(JSON.parse(body).name);
      }
      const found = new Set(
        (await database.query("select name from thing where name like 'round%'")).map(({ name }) => String(name)),
      );
      const lost = [...acknowledged].filter((name) => !found.has(name)).length;
      const half = await database.query(
        `select name from thing left join thing_tags on thing_id = thing.id where name like 'round%' group by thing.id, name
         having count(tag_id) <> case when cast(substr(name, length(name)) as integer) % 2 = 1 then 2 else 0 end`,
      );
      const integrity =
        surroundings.kind === 'sqlite' ? String((await database.query('pragma integrity_check'))[0]?.integrity_check) : 'ok';
      return {
        seen: `${times} kills, ${acknowledged.size} acknowledged, ${lost} lost, ${half.length} half, integrity ${integrity}`,
        pass: lost === 0 && half.length === 0 && integrity === 'ok' && acknowledged.size > 0,
      };
    },
  },
  {
    name: 'fsync for each acknowledged commit',
    must: 'at least one',
    kinds: ['sqlite'],
    async run(surroundings) {
      if (spawnSync('strace', ['-V']).status !== 0) return { seen: 'there is no strace here', pass: false };
      const database = await freshDatabase(surroundings);
      const trace = join(mkdtempSync(join(surroundings.root, 'strace-')), 'trace.txt');
      const strace = ['strace', '-f', '-e', 'trace=fsync,fdatasync', '-o', trace];
      const server = await serve(writeApplication(surroundings.root, database.url), [], strace);
      const syncs = () => (readFileSync(trace, 'utf8').match(/f(data)?sync\(\d+\)? /g) ?? []).length;
      try {
        await sleep(500);
        const before = syncs();
        let written = 0;
        for (let n = 0; n < 20; n++) {
          const { status } = await ask(server.url, {
            method: 'PATCH',
            path: `/thing/${n + 1}.json`,
            json: { name: `sync ${n}` },
          });
          if (status === 200) written++;
        }
        await sleep(300);
        const after = syncs();
        return { seen: `${written} commits, ${after - before} syncs`, pass: written === 20 && after - before >= written };
      } finally {
        // if strace is killed, the process that it traces keeps running
        const { pid } = server.child;
        for (const child of readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean))
          process.kill(Number(child), 'SIGKILL');
        await server.end('SIGKILL');
      }
    },
  },
];
