// Checks the statements of docs/how-to/scale-out.md with three processes behind nginx, on one PostgreSQL.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { expect, onTestFinished, test } from 'vitest';
import { freshDatabase } from '../support/databases.ts';
import { startNginx } from '../support/nginx.ts';
import { smallApplication } from './applications.ts';
import { addressOf, start } from './spawned.ts';

const model = `
import { defineEntity, p } from '@mikro-orm/core';
export const Note = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().groups('read', 'write'),
    version: p.integer().version(),
  },
});
`;

const config = (database: string, keys: string) => `app_main:
  database: { url: '${database}', schema: update }
  security: { jwt: { algorithm: ES256, jwks: '${keys}' } }
  server:
    trust_proxy: [loopback]
    rate_limit: { limit: 100000, store: database }
    metrics: { role: null }
  apis:
    note:
      class: Note
      base_path: /api/note
      actions:
        _index: { methods: { GET: true, POST: true } }
        _entity: { methods: { GET: true, PATCH: true } }
    limited:
      class: Note
      base_path: /api/limited
      rate_limit: { limit: 4 }
      actions: { _index: { methods: { GET: true } } }
    closed:
      class: Note
      base_path: /api/closed
      base_role: ROLE_USER
      actions: { _index: { methods: { GET: true } } }
`;

/** Serves a key set, and counts how often it is fetched. */
async function keySet() {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }] });
  const seen = { fetches: 0 };
  const server = createServer((_request, response) => {
    seen.fetches++;
    response.setHeader('content-type', 'application/json').end(keys);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const token = await new SignJWT({ roles: ['ROLE_USER'] })
    .setProtectedHeader({ alg: 'ES256', kid: 'one' })
    .setSubject('1')
    .setExpirationTime('1h')
    .sign(privateKey);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`, token, seen, close: () => server.close() };
}

const json = { 'content-type': 'application/json' };

test('three processes behind nginx share what the page says, and nothing else', async () => {
  const database = await freshDatabase('postgresql');
  const keys = await keySet();
  const directory = smallApplication({
    'config/app_main.yaml': config(database.url, keys.url),
    'src/models/person.ts': null,
    'src/models/note.ts': model,
    'src/seed.ts': "import { Note } from './models/note.ts';\nexport default (em) => { em.create(Note, { title: 'first' }); };\n",
  });
  // all at once, on an empty database
  const servers = Array.from({ length: 3 }, () => start(['serve', directory, '--port', '0']));
  const urls = await Promise.all(servers.map((server) => addressOf(server)));
  const proxy = await startNginx(
    (_directory, socketPath) => `upstream notes { ${urls.map((url) => `server ${new URL(url).host};`).join(' ')} }
  server {
    listen unix:${socketPath};
    location / {
      proxy_pass http://notes;
      proxy_http_version 1.1;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      add_header X-Process $upstream_addr always;
    }
  }`,
  );
  onTestFinished(async () => {
    await proxy.close();
    keys.close();
    for (const { child, ended } of servers) {
      child.kill('SIGKILL');
      await ended;
    }
    await database.drop();
  });
  const thrice = <Result>(work: () => Promise<Result>) => Promise.all([work(), work(), work()]);
  const get = (path: string, headers = {}) => proxy.send('GET', path, headers);

  // schema changes: one process makes them, and seeds the database once
  expect(servers.filter(({ printed }) => printed.err.includes('created the database'))).toHaveLength(1);

  // rows, counts and ETags are the same in every process
  const lists = await thrice(() => get('/api/note.json'));
  expect(new Set(lists.map(({ headers }) => headers['x-process'])).size).toBe(3);
  expect(lists.map(({ text }) => JSON.parse(text).count)).toEqual([1, 1, 1]);
  const rows = await thrice(() => get('/api/note/1.json'));
  expect(new Set(rows.map(({ headers }) => headers.etag)).size).toBe(1);
  const tag = rows[0]?.headers.etag as string;
  const changes = await thrice(() =>
    proxy.send('PATCH', '/api/note/1.json', { ...json, 'if-match': tag }, JSON.stringify({ title: 'changed' })),
  );
  expect(changes.map(({ status }) => status).sort()).toEqual([200, 412, 412]);

  // idempotency keys: the request runs once, whichever process repeats it
  const created = await thrice(() =>
    proxy.send('POST', '/api/note.json', { ...json, 'idempotency-key': 'same' }, JSON.stringify({ title: 'second' })),
  );
  expect(new Set(created.filter(({ status }) => status === 201).map(({ headers }) => headers.location)).size).toBe(1);
  const replayed = await thrice(() =>
    proxy.send('POST', '/api/note.json', { ...json, 'idempotency-key': 'same' }, JSON.stringify({ title: 'second' })),
  );
  expect(replayed.map(({ headers, status }) => [status, headers['idempotency-replayed']])).toEqual(Array(3).fill([201, 'true']));
  expect((await thrice(() => get('/api/note.json'))).map(({ text }) => JSON.parse(text).count)).toEqual([2, 2, 2]);

  // rate limits with store: database
  const limited: number[] = [];
  for (let i = 0; i < 8; i++) limited.push((await get('/api/limited.json')).status);
  expect(limited).toEqual([200, 200, 200, 200, 429, 429, 429, 429]);

  // each process fetches the key set by itself
  expect(keys.seen.fetches).toBeLessThanOrEqual(3);
  const authorization = { authorization: `Bearer ${keys.token}` };
  for (let i = 0; i < 6; i++) expect((await get('/api/closed.json', authorization)).status).toBe(200);
  expect(keys.seen.fetches).toBe(3);

  // each process has its own metrics
  for (const url of urls) {
    const text = await (await fetch(`${url}/metrics`)).text();
    expect(text).toMatch(/http_requests_total\{route="\/api\/closed\.\{_format\}",method="GET",status="200"\} 2$/m);
  }

  // the others go on if one process ends
  servers[0]?.child.kill('SIGTERM');
  const statuses: number[] = [];
  while (servers[0]?.child.exitCode === null) statuses.push((await get('/api/note/1.json')).status);
  for (let i = 0; i < 6; i++) statuses.push((await get('/api/note/1.json')).status);
  expect(new Set(statuses)).toEqual(new Set([200]));
});
