// @module-tag divided
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { databases } from '../support/databases.ts';
import { useTarget } from './support/target.ts';

const Part = defineEntity({
  name: 'Part',
  embeddable: true,
  properties: { label: p.string().groups('read', 'write'), size: p.integer().groups('read', 'write') },
});

const schema = defineEntity({
  name: 'Machine',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().length(40).groups('read', 'write'),
    data: p.json<unknown>().nullable().groups('read', 'write'),
    words: p.array().nullable().groups('read', 'write'),
    duration: p.interval().nullable().groups('read', 'write'),
    parts: () => p.embedded(Part).array().nullable().groups('read', 'write'),
    next: () => p.manyToOne(Machine).nullable().groups('read', 'write'),
    linked: () => p.manyToMany(Machine).groups('read', 'write'),
  },
});
class Machine extends schema.class {
  static constraints = { words: z.array(z.string().max(3)).nullish() };
}
schema.setClass(Machine);

const Ticket = defineEntity({
  name: 'Ticket',
  properties: {
    id: p.string().columnType('uuid').primary().groups('read'),
    label: p.string().nullable().groups('read', 'write'),
  },
});

const everything = {
  _index: { methods: { GET: true, HEAD: true, POST: true } },
  _entity: { methods: { GET: true, HEAD: true, PUT: true, PATCH: true, DELETE: true } },
} as const;

const options = {
  app_main: {
    apis: {
      machine: { class: Machine, base_path: '/machine', actions: everything },
      ticket: {
        class: Ticket,
        base_path: '/ticket',
        actions: { _entity: { methods: { GET: true, PATCH: true, DELETE: true }, requirements: { id: '[^/]+' } } },
      },
    },
  } as never,
  models: [Part, Machine, Ticket],
  seed: async (em: any) => {
    em.create(Machine, { name: 'first' });
    await em.flush();
  },
};

const headers = { 'content-type': 'application/json' };
const nested = (depth: number, open: string, close: string) =>
  `${open.repeat(depth)}${open.includes(':') ? '1' : ''}${close.repeat(depth)}`;

describe.each(databases)('API4:2023 unrestricted resource consumption, on %s', (kind) => {
  const target = useTarget(kind, options);
  const patch = (body: string) => target.send('PATCH', '/machine/1.json', { headers, body });
  const timeOf = async (work: () => Promise<unknown>) => {
    const start = performance.now();
    await work();
    return performance.now() - start;
  };

  describe('rejects JSON nested 100,000 levels deep (jackson-core CVE-2025-52999)', () => {
    const deep = [
      nested(100_000, '[', ']'),
      nested(100_000, '{"a":', '}'),
      `[${nested(90_000, '{"id":', '}')}]`,
      `{"id":${nested(100_000, '[', ']')}}`,
    ];

    test.each(['name', 'data', 'words', 'duration', 'parts', 'next', 'linked', 'id', 'type', 'nonsense'])(
      'in the field %s',
      async (field) => {
        for (const value of deep) {
          for (const [method, path] of [
            ['PATCH', '/machine/1.json'],
            ['POST', '/machine.json'],
          ] as const) {
            const answer = await target.send(method, path, { headers, body: `{"name":"x","${field}":${value}}` });
            expect([400, 422]).toContain(answer.status);
          }
        }
      },
    );

    test('as the whole body', async () => {
      for (const body of deep) expect((await patch(body)).status).toBe(400);
    });

    test('cut off in the middle', async () => {
      for (const body of deep) expect((await patch(body.slice(0, 50_000))).status).toBe(400);
    });
  });

  describe('a body with very many violations gets a small response (CWE-405)', () => {
    test.each([
      ['embedded objects', `{"parts":[${Array(300_000).fill('{}').join()}]}`],
      ['few embedded objects', `{"parts":[${Array(9000).fill('{}').join()}]}`],
      ['embedded values', `{"parts":[${Array(400_000).fill('1').join()}]}`],
      ['references', `{"linked":[${Array.from({ length: 150_000 }, (_, index) => index).join()}]}`],
      ['equal references', `{"linked":[${Array(400_000).fill('1').join()}]}`],
      ['items of a list', `{"words":[${Array(150_000).fill('1').join()}]}`],
      ['constraints', `{"words":[${Array(100_000).fill('"long"').join()}]}`],
      ['unknown fields', `{${Array.from({ length: 60_000 }, (_, index) => `"k${index}":1`).join()}}`],
    ])('caused by %s', async (_, body) => {
      const answer = await patch(body);
      expect([400, 422]).toContain(answer.status);
      expect(answer.text.length).toBeLessThan(40_000);
    });

    test.each([
      ['objects of a JSON column', `{"data":[${Array(60_000).fill('{}').join()}]}`],
      ['lists of a JSON column', `{"data":[${Array(60_000).fill('[]').join()}]}`],
      ['embedded objects', `{"parts":[${Array(20_000).fill('{"label":"x","size":1}').join()}]}`],
    ])('tens of thousands of %s are rejected, as the mapper would compare each with all others', async (_, body) => {
      expect((await patch(body)).status).toBe(422);
    });
  });

  describe('request size limits', () => {
    test('rejects a body over the limit, with or without Content-Length (CWE-770)', async () => {
      expect((await patch(`{"name":"${'x'.repeat(1_100_000)}"}`)).status).toBe(413);
      const chunk = `${(70_000).toString(16)}\r\n${' '.repeat(70_000)}\r\n`;
      const [answer] = await target.raw(
        `PATCH /machine/1.json HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${chunk.repeat(20)}0\r\n\r\n`,
      );
      expect(answer?.status).toBe(413);
    });

    test.each(['gzip', 'deflate', 'br', 'zstd', 'x-gzip', 'gzip, gzip'])(
      'rejects a body with the encoding %s (CWE-409)',
      async (encoding) => {
        const answer = await target.send('PATCH', '/machine/1.json', {
          headers: { ...headers, 'content-encoding': encoding },
          body: gzipSync(`{"name":"${'x'.repeat(1000)}"}`),
        });
        expect(answer.status).toBe(415);
      },
    );

    test('rejects 10,000 headers or a header of one megabyte (Node CVE-2018-12121)', async () => {
      const request = (more: string) => `GET /machine.json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${more}\r\n`;
      expect((await target.raw(request('X-A: b\r\n'.repeat(10_000))))[0]?.status).toBe(431);
      expect((await target.raw(request(`X-A: ${'b'.repeat(1_000_000)}\r\n`)))[0]?.status).toBe(431);
    });

    test('rejects 10,000 query keys (qs CVE-2014-10064)', async () => {
      const few = Array.from({ length: 200 }, (_, index) => `a${index}`).join('&');
      expect((await target.send('GET', `/machine.json?${few}`)).status).toBe(400);
      const many = Array.from({ length: 10_000 }, (_, index) => `a${index}`).join('&');
      expect((await target.raw(`GET /machine.json?${many} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`))[0]?.status).toBe(
        431,
      );
    });

    test.each([
      ['page', '9007199254740992'],
      ['page', '1e9'],
      ['page', '0'],
      ['page', '-1'],
      ['items_per_page', '201'],
      ['items_per_page', '1000000000'],
      ['items_per_page', '0'],
      ['items_per_page', 'Infinity'],
      ['items_per_page', 'NaN'],
    ])('rejects ?%s=%s (CWE-770)', async (name, value) => {
      expect((await target.send('GET', `/machine.json?${name}=${value}`)).status).toBe(400);
    });

    test('a page far beyond the last row returns an empty list', async () => {
      const { json, status } = await target.send('GET', '/machine.json?page=45035996273704');
      expect([status, json.results]).toEqual([200, []]);
    });
  });

  describe('paths that are expensive to match are rejected quickly (find-my-way CVE-2024-45813, path-to-regexp CVE-2024-45296)', () => {
    test.each([
      ['1. again and again', `/machine/${'1.'.repeat(7500)}json`],
      ['digits', `/machine/${'1'.repeat(15_000)}.json`],
      ['slashes', `/machine${'/'.repeat(15_000)}`],
      ['points', `/machine/${'.'.repeat(15_000)}`],
      ['percent signs', `/machine/${'%31'.repeat(5000)}.json`],
      ['formats', `/machine/1${'.json'.repeat(3000)}`],
      ['letters and a point', `/ticket/${'a.'.repeat(7500)}`],
      ['blanks', `/ticket/${'%20'.repeat(5000)}.json`],
      ['a query', `/machine.json?${'a[b]'.repeat(3500)}`],
      ['the same parameter', `/machine.json?${'page=1&'.repeat(2000)}`],
    ])('%s', async (_, path) => {
      const plain = () => target.send('GET', '/nothing-here.json');
      for (let i = 0; i < 20; i++) await plain();
      const usual = await timeOf(async () => {
        for (let i = 0; i < 20; i++) await plain();
      });
      const long = await timeOf(async () => {
        for (let i = 0; i < 20; i++) expect((await target.send('GET', path)).status).toBeGreaterThanOrEqual(400);
      });
      expect(long).toBeLessThan(usual * 30 + 200);
    });

    test('1. repeated 50,000 times', async () => {
      const time = await timeOf(async () => {
        const [answer] = await target.raw(
          `GET /machine/${'1.'.repeat(50_000)}json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
        );
        expect([404, 414, 431]).toContain(answer?.status);
      });
      expect(time).toBeLessThan(2000);
    });
  });

  describe('values that a column cannot hold (CWE-20)', () => {
    test.each([
      '1e999',
      '-1e999',
      '1E400',
      '123456789012345678901234567890',
      '"\\u0000"',
      '"\\ud800"',
      '"\\udc00\\ud800"',
      '{"a":"\\u0000"}',
      '{"\\u0000":1}',
      '{"a":1e999}',
      '["\\ud800"]',
    ])('%s is rejected or stored unchanged (UltraJSON CVE-2022-31116)', async (value) => {
      for (const field of ['name', 'data', 'words', 'duration']) {
        const answer = await patch(`{"${field}":${value}}`);
        expect([200, 422]).toContain(answer.status);
        if (answer.status === 200) expect(JSON.stringify(answer.json[field])).toBe(JSON.stringify(JSON.parse(value)));
      }
      await patch('{"data":null}');
    });

    test.each(['x', '', "'; drop table machine; --", '1e5', 'NaN', '[raw]: now()', '2026-02-30'])(
      'the interval %j causes no server error',
      async (duration) => {
        for (const [method, path] of [
          ['PATCH', '/machine/1.json'],
          ['PUT', '/machine/1.json'],
          ['POST', '/machine.json'],
        ] as const) {
          const answer = await target.send(method, path, { json: { name: 'first', duration } });
          expect([200, 201, 422]).toContain(answer.status);
        }
      },
    );

    test.each([
      'abc',
      '1',
      '00000000-0000-0000-0000-00000000000',
      '00000000-0000-0000-0000-000000000000x',
      '%00',
      '%F0%9F%98%80',
      '__proto__',
      "'",
      'null',
    ])('the invalid UUID %s in the path returns 404', async (id) => {
      for (const method of ['GET', 'PATCH', 'DELETE']) {
        const json = method === 'PATCH' ? { label: 'x' } : undefined;
        expect((await target.send(method, `/ticket/${id}.json`, { ...(json && { json }) })).status).toBe(404);
      }
    });
  });

  describe('requests that never end (Node CVE-2018-12122, CVE-2019-5737)', () => {
    const patient = useTarget(kind, {
      ...options,
      app_main: { ...(options.app_main as object), server: { header_timeout: 400, request_timeout: 800 } } as never,
    });

    /** Sends a beginning and then a piece every 50 ms, for as long as the server listens; gives what came back, and after how long. */
    async function trickle(beginning: string, piece: string): Promise<{ received: string; time: number }> {
      const { hostname, port } = new URL(patient.app.url);
      const start = performance.now();
      return new Promise((resolve) => {
        let received = '';
        const socket = connect(Number(port), hostname, () => socket.write(beginning));
        const timer = setInterval(() => socket.writable && socket.write(piece), 50);
        const end = () => {
          clearInterval(timer);
          socket.destroy();
          resolve({ received, time: performance.now() - start });
        };
        socket.on('data', (chunk) => {
          received += chunk;
        });
        socket.on('error', () => undefined);
        socket.on('close', end);
        socket.setTimeout(20_000, end);
      });
    }

    test.each([
      ['a request line', 'GET /mach', 'a', 300],
      ['headers', 'GET /machine.json HTTP/1.1\r\nHost: a\r\n', 'X-A: b\r\n', 300],
      ['one header', 'GET /machine.json HTTP/1.1\r\nHost: a\r\nX-A: ', 'b', 300],
      [
        'a body',
        'PATCH /machine/1.json HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{',
        ' ',
        700,
      ],
      [
        'a body in chunks',
        'POST /machine.json HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
        '1\r\n \r\n',
        700,
      ],
    ])('slowly sending %s times out with 408 and does not block other requests', async (_, beginning, piece, least) => {
      const slow = Array.from({ length: 5 }, () => trickle(beginning, piece));
      expect((await patient.send('GET', '/machine/1.json')).status).toBe(200);
      for (const { received, time } of await Promise.all(slow)) {
        expect(received).toMatch(/^HTTP\/1\.1 408 /);
        expect(time).toBeGreaterThan(least);
        expect(time).toBeLessThan(10_000);
      }
    });
  });
});
