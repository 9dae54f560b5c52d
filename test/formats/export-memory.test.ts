import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { test } from '../support/halves.ts';

const total = 100_000;
const bound = 64 * 1024 * 1024;

describe.each(databases)(`an export of ${total} rows on %s`, (kind) => {
  let database: FreshDatabase;
  let server: ChildProcess;
  let url: string;

  beforeAll(async () => {
    database = await freshDatabase(kind);
    server = fork(join(import.meta.dirname, 'exporting-process.ts'), [database.url], { execArgv: [] });
    [{ url }] = (await once(server, 'message')) as [{ url: string }];
    const select = `select i, 'row ' || i, '${'x'.repeat(1000)}'`;
    if (kind === 'sqlite') {
      const db = new DatabaseSync(database.url.slice('sqlite:'.length), { timeout: 5000 });
      db.exec(
        `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${total}) insert into "row" (id, name, note) ${select} from n`,
      );
      db.close();
    } else {
      const client = new Client({ connectionString: database.url });
      await client.connect();
      await client.query(`insert into "row" (id, name, note) ${select} from generate_series(1, ${total}) as n(i)`);
      await client.end();
    }
  });
  afterAll(async () => {
    const gone = once(server, 'exit');
    server.send('end');
    await gone;
    await database.drop();
  });

  async function memory(): Promise<number> {
    const answer = once(server, 'message') as Promise<[{ rss: number }]>;
    server.send('memory');
    return (await answer)[0].rss;
  }

  async function read(format: string): Promise<{ bytes: number; most: number }> {
    const response = await fetch(`${url}/row.${format}`);
    let bytes = 0;
    let most = 0;
    let looked = 0;
    for await (const piece of response.body as ReadableStream<Uint8Array>) {
      bytes += piece.length;
      if (bytes - looked < 5_000_000) continue;
      looked = bytes;
      most = Math.max(most, await memory());
    }
    return { bytes, most };
  }

  test.each(['ndjson', 'csv'])('uses the same memory in %s whatever its length', async (format) => {
    await read(format);
    await sleep(100);
    const before = await memory();
    const { bytes, most } = await read(format);
    expect(bytes).toBeGreaterThan(total * 1000);
    expect(most - before).toBeLessThan(bound);
  });
});
