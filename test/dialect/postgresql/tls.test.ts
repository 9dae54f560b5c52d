import { defineEntity, p } from '@mikro-orm/core';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApplication } from '../../support/testing.ts';
import { startTlsServer, type TlsServer } from '../../support/tls-server.ts';

const Note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary().groups('read'), text: p.string().groups('read', 'write') },
});

let server: TlsServer;
beforeAll(async () => {
  server = await startTlsServer();
});
afterAll(() => server?.stop());

function options(parameters: Readonly<Record<string, string>>) {
  const url = `${server.url}?${new URLSearchParams(parameters)}`;
  const actions = { _index: { methods: { GET: true, POST: true } } } as const;
  return {
    app_main: {
      formats: ['json', 'csv'],
      database: { url, schema: 'update' },
      apis: { note: { class: Note, base_path: '/note', actions } },
    },
    models: [Note],
  } as const;
}

test('sslmode=verify-full encrypts the connections for reads, writes, exports and the schema', async () => {
  const verified = { sslmode: 'verify-full', sslrootcert: server.authority };
  const app = await startApplication(options(verified));
  expect((await app.request('POST', '/note.json', { json: { text: 'one' } })).status).toBe(201);
  expect((await app.request('GET', '/note.json')).json.count).toBe(1);
  expect((await app.request('GET', '/note.csv')).text).toContain('one');
  const client = new Client({ connectionString: `${server.url}?${new URLSearchParams(verified)}` });
  await client.connect();
  const { rows } = await client.query(
    "select count(*)::int as open, bool_and(ssl) as encrypted from pg_stat_ssl join pg_stat_activity using (pid) where backend_type = 'client backend'",
  );
  expect(rows[0].open).toBeGreaterThan(3);
  expect(rows[0].encrypted).toBe(true);
  await client.end();
  await app.close();
});

test('sslmode=verify-full rejects a server whose certificate another authority signed', async () => {
  const started = startApplication(options({ sslmode: 'verify-full', sslrootcert: server.otherAuthority }));
  await expect(started).rejects.toThrow(/certificate/);
});

test('a connection without encryption is rejected by a server that requires it', async () => {
  await expect(startApplication(options({ sslmode: 'disable' }))).rejects.toThrow(/no encryption/);
});
