import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startApplication, type TestApplication } from 'declarest/testing';

const ada = { id: 'ada', roles: ['ROLE_ADMIN'] };
const ed = { id: 'ed', roles: ['ROLE_EDITOR'] };
const rita = { id: 'rita', roles: [] };
let app: TestApplication;

before(async () => {
  app = await startApplication({ directory: join(import.meta.dirname, '..'), databaseUrl: 'sqlite::memory:' });
});
after(() => app.close());

test('an editor creates a row, and a reader cannot', async () => {
  const json = { title: 'New' };
  assert.equal((await app.request('POST', '/api/sample-item.json', { as: rita, json })).status, 403);
  const created = await app.request('POST', '/api/sample-item.json', { as: ed, json });
  assert.equal(created.status, 201);
  assert.equal(created.json.title, 'New');
  assert.equal('remark' in created.json, false);
});

test('an administrator changes an archived row, and an editor cannot', async () => {
  const { json: list } = await app.request('GET', '/api/sample-item.json?archived=true', { as: rita });
  const path = `/api/sample-item/${list.results[0].id}.json`;
  assert.equal((await app.request('PATCH', path, { as: ed, json: { title: 'Changed' } })).status, 403);
  assert.equal((await app.request('PATCH', path, { as: ada, json: { title: 'Changed' } })).status, 200);
});
