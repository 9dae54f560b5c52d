import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { call } from '../cli/call.ts';
import { databases, freshDatabase } from '../support/databases.ts';
import { checkSchema, pullInto, runSql, schemaSql } from './databases.ts';

describe.each(databases)('declarest pull on %s', (kind) => {
  test.each(['shop', 'tickets', 'rental'])('makes models of the sample schema %s that fit the database', async (name) => {
    const database = await freshDatabase(kind);
    onTestFinished(() => database.drop());
    await runSql(kind, database, schemaSql(name, kind));
    const { code, directory, err, out } = await pullInto(database.url);
    expect([code, err]).toEqual([0, '']);
    const sources = readdirSync(join(directory, 'src/models')).map((file) =>
      readFileSync(join(directory, 'src/models', file), 'utf8'),
    );
    if (process.env.SHOW) console.log(out, ...sources);
    const checked = await call(['check', directory], { env: { DATABASE_URL: database.url } });
    expect(checked).toEqual({ code: 0, out: 'ok: 0 APIs, 0 routes\n', err: '' });
    await checkSchema(directory, database.url);
    const again = await call(['pull', directory, '--from', database.url]);
    expect([again.code, again.err]).toEqual([0, '']);
    expect(again.out).not.toContain('created');
  });
});
