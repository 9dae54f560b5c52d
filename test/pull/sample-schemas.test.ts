import { spawnSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { call } from '../cli/call.ts';
import { databases, freshDatabase } from '../support/databases.ts';
import { checkSchema, pullInto, runSql, schemaSql } from './databases.ts';

/** What the TypeScript compiler reports about the models of an application. */
function typeErrors(directory: string): string {
  const modules = join(import.meta.dirname, '..', '..', 'node_modules');
  symlinkSync(modules, join(directory, 'node_modules'));
  const compilerOptions = {
    strict: true,
    noEmit: true,
    module: 'nodenext',
    target: 'es2023',
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    types: [],
  };
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src/models'] }));
  const { stderr, stdout } = spawnSync(
    process.execPath,
    [join(modules, 'typescript', 'bin', 'tsc'), '-p', directory, '--pretty', 'false', '--singleThreaded'],
    { encoding: 'utf8' },
  );
  return stdout + stderr;
}

describe.each(databases)('declarest pull on %s', (kind) => {
  test.each(['shop', 'tickets', 'rental'])(
    'makes models of the sample schema %s that fit the database and pass the type checker',
    async (name) => {
      const database = await freshDatabase(kind);
      onTestFinished(() => database.drop());
      await runSql(kind, database, schemaSql(name, kind));
      const { code, directory, err } = await pullInto(database.url);
      expect([code, err]).toEqual([0, '']);
      const checked = await call(['check', directory], { env: { DATABASE_URL: database.url } });
      expect(checked).toEqual({ code: 0, out: 'ok: 0 APIs, 0 routes\n', err: '' });
      await checkSchema(directory, database.url);
      const again = await call(['pull', directory, '--from', database.url]);
      expect([again.code, again.err]).toEqual([0, '']);
      expect(again.out).not.toContain('created');
      expect(typeErrors(directory)).toBe('');
    },
  );
});
