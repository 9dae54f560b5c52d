// @module-tag divided
import { once } from 'node:events';
import { request } from 'node:http';
import { Writable } from 'node:stream';
import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { loadApplication } from '../../src/application.ts';
import { serverOf } from '../../src/server.ts';
import { databases, freshDatabase } from '../support/databases.ts';
import { useTarget } from './support/target.ts';
import { admin, ann, marker, vault } from './support/vault.ts';

const Note = defineEntity({
  name: 'Note',
  properties: {
    code: p.string().length(60).primary().groups('read', 'write'),
    text: p.text().nullable().groups('read', 'write'),
    data: p.json<unknown>().nullable().groups('read', 'write'),
    parent: () => p.manyToOne(Note).nullable().groups('read', 'write'),
  },
});

/** Keys are texts of the caller's choice. */
const notes = {
  app_main: {
    apis: {
      note: {
        class: Note,
        base_path: '/note',
        default_sort: ['text'],
        actions: {
          _index: { methods: { GET: true, HEAD: true, POST: true } },
          _entity: { methods: { GET: true, HEAD: true, PUT: true, PATCH: true, DELETE: true }, requirements: { id: '[^]+' } },
        },
      },
    },
  } as never,
  models: [Note],
  seed: async (em: any) => {
    em.create(Note, { code: 'first', text: 'kept' });
    await em.flush();
  },
};

const injections = [
  "' or '1'='1",
  "'; drop table note; --",
  "' union select code, text from note --",
  '" or ""="',
  "first' --",
  "first'/**/or/**/1=1--",
  '\\',
  "\\' or 1=1 --",
  '$1',
  '?1',
  '?',
  ':code',
  '%',
  '_',
  '%25',
  '{0}',
  '#{7*7}',
  '{{7*7}}',
  '$$; select pg_sleep(9); $$',
  "'||pg_sleep(9)--",
  "' and randomblob(900000000) --",
  "1; attach database 'x' as y",
  '[raw]: 1=1 (#0)',
  'e0.code',
  'first\u02bc or 1=1',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '..',
  '../../etc/passwd',
  'a/b',
  'x.json',
];

describe.each(databases)('API8:2023 security misconfiguration, on %s', (kind) => {
  describe.each([
    ['compiled statements', notes],
    ['statements of MikroORM', { ...notes, compiledReads: false }],
  ])('SQL in text input is a plain value in %s (CWE-89, Sequelize CVE-2023-25813, TypeORM CVE-2025-60542)', (_, application) => {
    const target = useTarget(kind, application);

    test.each(injections)('%j', async (text) => {
      const path = `/note/${encodeURIComponent(text)}.json`;
      const all = () => target.rows('select code, text from note order by code');
      const before = await all();
      for (const method of ['GET', 'HEAD', 'DELETE']) expect((await target.send(method, path)).status).toBe(404);
      expect((await target.send('PATCH', path, { json: { text: 'changed' } })).status).toBe(404);
      for (const name of ['page', 'items_per_page', 'after', 'before', text])
        expect(
          (await target.send('GET', `/note.json?page=1&${encodeURIComponent(name)}=${encodeURIComponent(text)}`)).status,
        ).toBe(400);
      expect((await target.send('PATCH', '/note/first.json', { json: { parent: { id: text } } })).status).toBe(400);
      expect((await target.send('PATCH', '/note/first.json', { json: { [`x${text}`]: 1 } })).status).toBe(400);
      expect(await all()).toEqual(before);

      // it is a value like any other, as a key and as a text
      const made = await target.send('POST', '/note.json', {
        json: { code: text, text, data: { [`k${text}`]: text }, parent: { id: 'first' } },
      });
      expect(made.status).toBe(201);
      const { json } = await target.send('GET', path);
      expect([json.code, json.text, json.data]).toEqual([text, text, { [`k${text}`]: text }]);
      const list = await target.send('GET', '/note.json');
      expect([list.json.count, list.json.results.length]).toEqual([2, 2]);
      expect((await target.send('PUT', path, { json: { code: text, text: null } })).status).toBe(200);
      expect((await target.send('DELETE', path)).status).toBe(204);
      expect(await all()).toEqual(before);
    });
  });

  describe('HTTP parsing', () => {
    const target = useTarget(kind, vault);
    const post = async (type: string, body = '{"title":"typed"}') => {
      const token = await target.app.tokenFor(ann);
      const [answer] = await target.raw(
        `POST /page.json HTTP/1.1\r\nHost: a\r\n${type}Authorization: Bearer ${token}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
      );
      return answer?.status;
    };

    test.each([
      ' application/json',
      '\tapplication/json',
      'Application/JSON ;',
      'application/json;',
      'application/json ; charset=utf-8',
      'application/json; charset="UTF-8"',
      'APPLICATION/JSON',
    ])('a body with the content type %j is validated as JSON (CVE-2025-32442, CVE-2026-33806)', async (type) => {
      expect(await post(`Content-Type:${type}\r\n`, '{"title":5}')).toBe(422);
      expect(await post(`Content-Type:${type}\r\n`, '{"title":"x","owner":"bob"}')).toBe(400);
      expect(await post(`Content-Type:${type}\r\n`)).toBe(201);
    });

    test.each([
      'application/json\ta',
      'application/json a',
      'application/jsonx',
      'application/json+xml',
      'application/json/x',
      'application/json, text/plain',
      'text/plain',
      'text/plain; application/json',
      'text/plain;charset=application/json',
      'text/plain, application/json',
      'text/json',
      'json',
      '*/*',
      'application/*',
      'application\\json',
      'application/json%00',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/vnd.api+json',
      'application/merge-patch+json',
      'application/json-patch+json',
      'application/json; charset=utf-16',
      'application/json; charset=utf-7',
      'application/json; charset=iso-8859-1',
      'text/html',
      'application/xml',
      '',
    ])('rejects the content type %j with 415 (CVE-2026-25223, CVE-2022-41919: forms of other sites)', async (type) => {
      expect(await post(`Content-Type: ${type}\r\n`)).toBe(415);
    });

    test('rejects a body with no content type or with two (CVE-2026-25223)', async () => {
      expect(await post('')).toBe(415);
      expect(await post('Content-Type: text/plain\r\nContent-Type: application/json\r\n')).toBe(415);
      expect(await post('Content-Type: application/json\r\nContent-Type: text/plain\r\n')).toBe(415);
    });

    test.each([
      ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
      ['an overlong form', Buffer.from([0x22, 0xc0, 0xae, 0x22])],
      ['half a surrogate in UTF-8', Buffer.from([0x7b, 0x22, 0x74, 0x22, 0x3a, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x7d])],
      ['UTF-16', Buffer.from('{"title":"x"}', 'utf16le')],
      ['NUL', Buffer.from('{"title":"x"}\0')],
      ['NUL inside', Buffer.from('{"title":"x\0"}')],
      ['nothing but blanks', Buffer.from('   ')],
      ['two values', Buffer.from('{"title":"x"}{"title":"y"}')],
      ['comments', Buffer.from('{/* */"title":"x"}')],
      ['a comma too many', Buffer.from('{"title":"x",}')],
      ['single quotes', Buffer.from("{'title':'x'}")],
      ['NaN', Buffer.from('{"data":NaN}')],
      ['a hexadecimal number', Buffer.from('{"data":0x10}')],
      ['a leading zero', Buffer.from('{"data":010}')],
      ['a list', Buffer.from('[{"title":"x"}]')],
      ['a text', Buffer.from('"x"')],
      ['null', Buffer.from('null')],
      ['a prefix against hijacking', Buffer.from(")]}',\n{}")],
    ])('rejects a body of %s (CWE-20, CWE-176)', async (_, body) => {
      const answer = await target.send('PATCH', '/page/1.json', {
        as: ann,
        headers: { 'content-type': 'application/json' },
        body,
      });
      expect([answer.status, answer.json.code]).toEqual([400, 'invalid_body']);
    });

    test('ignores a byte order mark before a body (RFC 8259, 8.1)', async () => {
      const body = Buffer.from('\ufeff{"title":"ann 1"}');
      const answer = await target.send('PATCH', '/page/1.json', {
        as: ann,
        headers: { 'content-type': 'application/json' },
        body,
      });
      expect(answer.status).toBe(200);
    });

    test.each([
      '//page/1.json',
      '/page//1.json',
      '/page/1.json/',
      '/page/1.json//',
      '/page/1.json;a=b',
      '/page;x/1.json',
      '/;/page/1.json',
      '/PAGE/1.json',
      '/Page/1.json',
      '/page/1.JSON',
      '/page/1.json%00',
      '/page/1%00.json',
      '/page/%00/1.json',
      '/./page/1.json',
      '/x/../page/1.json',
      '/x/%2e%2e/page/1.json',
      '/page/../page/1.json',
      '/page/%2e/1.json',
      '/page%2f1.json',
      '/page%5c1.json',
      '/page\\1.json',
      '/page/1.json%20',
      '/page/1.json%09',
      '/page/1.json%0d%0aX-A:b',
      '/page/%2531.json',
      '/page/1%252ejson',
      '/page/1.json.json',
      '/page/1',
      '/page/1.',
      '/page/.json',
      '/page/+1.json',
      '/page/-1.json',
      '/page/01.json',
      '/page/1e0.json',
      '/page/0x1.json',
      '/page/1.0.json',
      '/page/%EF%BC%91.json',
      '/page/%D9%A1.json',
      '/page/%c0%ae.json',
      '/page/%ff.json',
      '/page/%.json',
      '/page/%u0031.json',
      '/page/1.xml',
      '/page/1.json~',
      '/page/1.json.bak',
      '/api/page/1.json',
      '/v1/page/1.json',
      '/.git/config',
      '/.env',
      '/package.json',
      '/config/app.yaml',
      '/__proto__.json',
      '/page/__proto__.json',
      '/page/1/constructor.json',
      '/page/1/__proto__.json',
      '/page/constructor.json',
      '/page/1/getEntity.json',
      '/page/1/customizeQuery.json',
      '/page/1/stampApi.json',
      '/metrics',
      '/debug',
      '/openapi.yaml',
      '/graphql',
    ])(
      'no route matches %s (Shiro CVE-2020-1957, CVE-2020-11989; Apache CVE-2021-41773; Spring CVE-2023-20860; Symfony CVE-2025-64500)',
      async (path) => {
        const answer = await target.send('GET', path, { as: admin });
        expect(answer.status).toBe(404);
        expect(answer.whole).not.toContain(marker);
        expect(Object.keys(answer.headers)).not.toContain('x-a');
      },
    );

    test.each(['/page/%31.json', '/%70age/1.json', '/page/1%2ejson', '/page/1.jso%6e'])(
      'the encoded path %s has the same access checks as the plain one (Shiro CVE-2020-13933)',
      async (path) => {
        expect((await target.send('GET', path, { as: ann })).json.title).toMatch(/^ann/);
        expect((await target.send('GET', path.replace('%31', '%32').replace('/1', '/2'), { as: ann })).status).toBe(404);
        expect([401, 404]).toContain((await target.send('GET', path)).status);
      },
    );

    test.each([
      ['a length and chunks', 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n'],
      ['chunks and a length', 'Transfer-Encoding: chunked\r\nContent-Length: 4\r\n'],
      ['two lengths', 'Content-Length: 4\r\nContent-Length: 0\r\n'],
      ['a list of lengths', 'Content-Length: 4, 0\r\n'],
      ['a signed length', 'Content-Length: +4\r\n'],
      ['a negative length', 'Content-Length: -4\r\n'],
      ['a hexadecimal length', 'Content-Length: 0x4\r\n'],
      ['a length with a blank before the colon', 'Content-Length : 4\r\n'],
      ['chunks with a blank before the colon', 'Transfer-Encoding : chunked\r\n'],
      ['chunks twice', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n'],
      ['chunks and identity', 'Transfer-Encoding: chunked, identity\r\n'],
      ['chunks by another name', 'Transfer-Encoding: xchunked\r\nContent-Length: 4\r\n'],
      ['a folded header', 'Content-Length:\r\n 4\r\nTransfer-Encoding: chunked\r\n'],
      ['a bare line feed', 'X: y\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n'],
      ['a header without a name', ': x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n'],
    ])(
      'a request with %s cannot smuggle another one (CVE-2022-32213, CVE-2022-32215, CVE-2023-30589, CVE-2024-27982)',
      async (_, headers) => {
        const token = await target.app.tokenFor(admin);
        const inner = `GET /archive/2.json HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`;
        const answers = await target.raw(
          `POST /page.json HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n${headers}\r\n0\r\n\r\n${inner}`,
        );
        expect(answers.filter(({ status }) => status < 400)).toEqual([]);
        for (const { whole } of answers) expect(whole).not.toContain(marker);
      },
    );

    test('responses are JSON, allow no other origin and name no server software (CWE-942, CWE-200)', async () => {
      for (const path of ['/page.json', '/page/1.json', '/page/99.json', '/nothing.json']) {
        const { headers } = await target.send('GET', path, { as: ann, headers: { origin: 'http://evil.example' } });
        expect(headers['content-type']).toMatch(/^application\/(problem\+)?json; charset=utf-8$/);
        expect(Object.keys(headers).filter((name) => /^(access-control|server|x-powered|set-cookie)/.test(name))).toEqual([]);
      }
    });

    test.each(['text/html', 'application/xml', '*/*;q=0', 'image/png', '<script>', 'application/json;q=x'])(
      'an error response is JSON even with Accept: %s (CWE-79)',
      async (accept) => {
        const { headers } = await target.send('GET', '/page/1.json?%3Cscript%3E=1', { as: ann, headers: { accept } });
        expect(headers['content-type']).toBe('application/problem+json; charset=utf-8');
      },
    );

    test('a header line in a path or query does not become a response header (Node CVE-2016-2216)', async () => {
      for (const path of [
        '/page/1.json?a=%0d%0aSet-Cookie:%20a=b',
        '/page/%0d%0aSet-Cookie:a=b.json',
        '/%0d%0aLocation:%20http://evil.example',
      ]) {
        const { headers } = await target.send('GET', path, { as: ann });
        expect([headers['set-cookie'], headers.location]).toEqual([undefined, undefined]);
      }
    });
  });

  test('line breaks in a request do not start a new log line (Rack CVE-2025-25184)', async () => {
    const lines: string[] = [];
    const stream = new Writable({
      write(chunk, _encoding, done) {
        lines.push(...String(chunk).split('\n').filter(Boolean));
        done();
      },
    });
    const database = await freshDatabase(kind);
    const application = await loadApplication({ ...vault, databaseUrl: database.url } as never);
    const app = await serverOf(application, { logger: { level: 'trace', stream } as never });
    try {
      const forged = '%0a{"level":30,"msg":"forged"}%0d%0a';
      const port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
      for (const path of [`/page/1.json?x=${forged}`, `/page/${forged}.json`, `/${forged}`, '/%0aforged', '/page.json'])
        for (const method of ['GET', 'POST'] as const) {
          const headers = {
            'user-agent': 'a\u0085{"msg":"forged"}',
            authorization: 'Bearer x',
            'content-type': 'application/json',
            // a line separator, in bytes
            'x-request-id': '\u00e2\u0080\u00a8forged',
          };
          const sent = request({ host: '127.0.0.1', port, method, path, headers, agent: false });
          sent.end(method === 'POST' ? '{"\\n{\\"msg\\":\\"forged\\"}":1}' : undefined);
          const [answer] = await once(sent, 'response');
          await once(answer.resume(), 'close');
        }
    } finally {
      await app.close();
      await database.drop();
    }
    expect(lines.length).toBeGreaterThan(5);
    for (const line of lines) {
      const { hostname, level, msg } = JSON.parse(line);
      expect([typeof hostname, typeof level]).toEqual(['string', 'number']);
      expect(msg).not.toBe('forged');
    }
  });
});
