// @module-tag divided
import { generateKeyPairSync } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';
import { forge, hmac, rsa } from './support/forge.ts';
import { answerOf, inspect, useTarget } from './support/target.ts';

const Item = defineEntity({
  name: 'Item',
  properties: {
    id: p.string().length(60).primary().groups('read'),
    text: p.text().nullable().groups('read', 'write'),
    data: p.json<unknown>().nullable().groups('read', 'write'),
    link: () => p.manyToOne(Item).nullable().groups('read', 'write'),
  },
});

const apis = {
  item: {
    class: Item,
    base_path: '/item',
    base_role: 'ROLE_USER',
    actions: { _index: null, _entity: { methods: { GET: true, PATCH: true }, requirements: { id: '[^]+' } } },
  },
};

const claims = { sub: 'ann', roles: ['ROLE_USER'], exp: Math.floor(Date.now() / 1000) + 3600 };
const strong = generateKeyPairSync('rsa', { modulusLength: 2048 });
const weak = generateKeyPairSync('rsa', { modulusLength: 1024 });
const jwk = { ...strong.publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256' };

describe.each(databases)('API10:2023 unsafe consumption of APIs, on %s', (kind) => {
  describe('external key sets', () => {
    let server: Server;
    let database: FreshDatabase;
    let app: TestApplication;
    let answer: RequestListener = () => undefined;

    beforeAll(async () => {
      server = createServer((request, response) => answer(request, response));
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      database = await freshDatabase(kind);
    });
    afterAll(async () => {
      server.closeAllConnections();
      server.close();
      await app?.close();
      await database.drop();
    });

    async function statusOf(token: string, respond: RequestListener): Promise<number> {
      answer = respond;
      await app?.close();
      const jwks = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
      const security = { jwt: { algorithm: 'RS256', jwks } };
      app = await startApplication({ app_main: { security, apis } as never, models: [Item], databaseUrl: database.url });
      app.statements.length = 0;
      const answered = answerOf(await app.request('GET', '/item.json', { headers: { authorization: `Bearer ${token}` } }));
      // a set that cannot be read is the one reason for a 503
      const { status, text } = inspect(answered, { fault: answered.status === 503 ? 503 : null });
      expect(text).not.toMatch(/127\.0\.0\.1|jose|JWKS|ECONN|stack/);
      if (status !== 200) expect(app.statements).toEqual([]);
      return status;
    }

    const keys =
      (list: unknown): RequestListener =>
      (_, response) =>
        response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: list }));
    const right = forge({ alg: 'RS256', kid: 'one' }, claims, rsa(strong.privateKey));

    test('accepts a token signed with a key of the set', async () => {
      expect(await statusOf(right, keys([jwk]))).toBe(200);
    });

    test.each<[string, number, RequestListener]>([
      ['a page', 503, (_, response) => response.end('<html>')],
      ['nothing', 503, (_, response) => response.end()],
      ['no list', 503, keys('none')],
      ['500', 503, (_, response) => response.writeHead(500).end('{}')],
      ['another place', 503, (_, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
      ['a cut connection', 503, (request) => request.socket.destroy()],
      ['no key', 401, keys([])],
    ])('with %s in place of a key set, the request returns %i', async (_, status, respond) => {
      expect(await statusOf(right, respond)).toBe(status);
    });

    test.each<[string, string, unknown[]]>([
      [
        'a secret',
        forge({ alg: 'HS256', kid: 'one' }, claims, hmac('x'.repeat(32))),
        [{ kty: 'oct', k: Buffer.from('x'.repeat(32)).toString('base64url'), kid: 'one' }],
      ],
      ['a key for something else', right, [{ ...jwk, use: 'enc' }]],
      ['a key for another algorithm', right, [{ ...jwk, alg: 'RS512' }]],
      ['a key of another name', right, [{ ...jwk, kid: 'two' }]],
      ['a key of another owner', forge({ alg: 'RS256', kid: 'one' }, claims, rsa(weak.privateKey)), [jwk]],
    ])('with %s in the key set, the request returns 401 (CVE-2016-10555, CVE-2022-23539)', async (_, token, list) => {
      expect(await statusOf(token, keys(list))).toBe(401);
    });

    test('rejects a token signed with a weak key of the set (CVE-2022-23539)', async () => {
      const token = forge({ alg: 'RS256', kid: 'one' }, claims, rsa(weak.privateKey));
      const status = await statusOf(token, keys([{ ...weak.publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256' }]));
      expect(status).toBe(401);
    });
  });

  describe('hostile stored values are returned unchanged (CWE-79, CWE-116, CWE-1321)', () => {
    const texts = [
      '__proto__',
      'constructor',
      'toString',
      '</script><script>alert(1)</script>',
      '\u2028\u2029',
      '{"a":1}',
      '"',
      '\\',
      "'",
      '\r\nSet-Cookie: a=b',
      '\u0001',
      '😀',
      '%00',
      '../x',
      '\ufeff',
    ];
    const target = useTarget(kind, {
      app_main: { security: { jwt: { secret: 'a secret of the store that is long enough' } }, apis } as never,
      models: [Item],
      seed: async (em: any) => {
        for (const text of texts) {
          em.create(Item, { id: text, text, data: JSON.parse(`{"__proto__":{"polluted":true},"k":${JSON.stringify(text)}}`) });
          await em.flush();
        }
      },
    });
    const ann = { id: 'ann', roles: ['ROLE_USER'] };

    test('in a list', async () => {
      const { json, text } = await target.send('GET', '/item.json', { as: ann });
      expect(json.count).toBe(texts.length);
      expect(new Set(json.results.map(({ id }: { id: string }) => id))).toEqual(new Set(texts));
      expect([...text].filter((letter) => letter < ' ')).toEqual([]);
      expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    });

    test.each(texts)('in the row %j', async (id) => {
      const path = `/item/${encodeURIComponent(id)}.json`;
      const { headers, json, status } = await target.send('GET', path, { as: ann });
      expect([status, json.id, json.text, json.data.k]).toEqual([200, id, id, id]);
      expect(headers['set-cookie']).toBeUndefined();
      const linked = await target.send('PATCH', path, { as: ann, json: { link: { id } } });
      expect([linked.status, linked.json.link.id]).toEqual([200, id]);
      expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    });
  });
});
