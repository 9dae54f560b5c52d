import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type ReplicatedServer, startReplicatedServer } from '../../support/replica.ts';
import { startApplication, type TestApplication } from '../../support/testing.ts';

const Note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary().groups('read'), text: p.string().groups('read', 'write') },
});
const lists = {
  actions: { _index: { methods: { GET: true, POST: true } }, _entity: { methods: { GET: true, PATCH: true, DELETE: true } } },
} as const;

function options(url: string) {
  return {
    app_main: {
      formats: ['json', 'csv'],
      database: { url, schema: 'update' },
      // a search by trigrams needs an extension
      apis: { note: { class: Note, base_path: '/note', ...lists, search: { fields: ['text'], using: 'trigram' } } },
    },
    models: [Note],
    seed: (em: any) => em.create(Note, { text: 'first' }),
  } as const;
}

let server: ReplicatedServer;
beforeAll(async () => {
  server = await startReplicatedServer();
});
afterAll(() => server?.stop());

test('a replica as the only database serves reads, and writes return database_read_only', async () => {
  await expect(startApplication(options(server.replica))).rejects.toThrow(/the table note does not exist/);
  const primary = await startApplication(options(server.primary));
  // the replica has replayed the schema
  const app = await vi.waitFor(() => startApplication(options(server.replica)), { timeout: 60_000, interval: 200 });
  expect((await primary.request('POST', '/note.json', { json: { text: 'second' } })).status).toBe(201);
  await vi.waitFor(async () => expect((await app.request('GET', '/note/2.json')).json.text).toBe('second'), { timeout: 60_000 });
  for (const path of ['/note.json', '/note.json?q=irs', '/note.csv', '/note/1.json', '/health/ready'])
    expect([path, (await app.request('GET', path)).status]).toEqual([path, 200]);
  expect(await writes(app)).toEqual(Array(4).fill([503, 'database_read_only']));
  await Promise.all([primary.close(), app.close()]);
});

async function writes(app: TestApplication): Promise<[number, string][]> {
  const key = { 'idempotency-key': 'one' };
  const responses = await Promise.all([
    app.request('POST', '/note.json', { json: { text: 'third' } }),
    app.request('POST', '/note.json', { json: { text: 'third' }, headers: key }),
    app.request('PATCH', '/note/1.json', { json: { text: 'changed' } }),
    app.request('DELETE', '/note/1.json'),
  ]);
  return responses.map(({ json, status }) => [status, json.code]);
}
