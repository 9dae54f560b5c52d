import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { databases, freshDatabase } from '../support/databases.ts';
import { startApplication } from '../support/testing.ts';
import { pullInto, runSql, schemaSql } from './databases.ts';

/** Does what the docs say after a pull: uncomments every API, and adds groups to every property. */
function open(directory: string): void {
  const config = join(directory, 'config/apis.yaml');
  const declared = readFileSync(config, 'utf8').replace(/^ {4}# (?!\w+ has no API)/gm, '    ');
  writeFileSync(
    config,
    declared
      .replaceAll('{ GET: true, HEAD: true }', '{ GET: true, POST: true }')
      .replaceAll('_entity: { methods: { GET: true, POST: true } }', '_entity: { methods: { GET: true, PATCH: true } }'),
  );
  for (const file of readdirSync(join(directory, 'src/models'))) {
    const path = join(directory, 'src/models', file);
    const grouped = (text: string) =>
      text.replace(
        /^( {4}\p{L}[\p{L}\p{N}]*: (?:\(\) => )?p\..*),$/gmu,
        (_, line: string) => `${line}${line.includes('.generated(') ? ".groups('read')" : ".groups('read', 'write')"},`,
      );
    writeFileSync(path, grouped(readFileSync(path, 'utf8')));
  }
}

describe.each(databases)('an application that was pulled on %s', (kind) => {
  const started = async (name: string) => {
    const database = await freshDatabase(kind);
    onTestFinished(() => database.drop());
    await runSql(kind, database, schemaSql(name, kind));
    const { directory } = await pullInto(database.url);
    open(directory);
    const app = await startApplication({ directory, env: { DATABASE_URL: database.url } });
    onTestFinished(() => app.close());
    const user = { id: 1, roles: ['ROLE_USER'] };
    return {
      get: async (path: string) => await app.request('GET', path, { user }),
      send: async (method: 'POST' | 'PATCH', path: string, body: unknown) => await app.request(method, path, { user, body }),
    };
  };

  test('serves every table of the sample schemas', async () => {
    for (const name of ['shop', 'tickets', 'rental']) {
      const { get } = await started(name);
      const document = (await get('/openapi.json')).body as { paths: Record<string, object> };
      const lists = Object.keys(document.paths).filter((path) => !path.includes('{id}') && path.startsWith('/api/'));
      expect(lists.length).toBeGreaterThan(6);
      for (const path of lists) {
        const list = await get(path.replace('{_format}', 'json'));
        expect([path, list.status, list.status === 200 ? '' : list.body]).toEqual([path, 200, '']);
      }
    }
  });
});
