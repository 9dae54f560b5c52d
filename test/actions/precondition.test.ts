import type { EntityMetadata } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { outdated } from '../../src/actions/precondition.ts';
import type { ApiRequest } from '../../src/index.ts';
import { stores, useRunning } from './application.ts';

const writes = [
  ['PATCH', '/1.json', { num: 7 }],
  ['PUT', '/1.json', { name: 'new', code: 'N' }],
  ['DELETE', '/1.json', undefined],
  ['POST', '/1/tags.json', { id: 2 }],
  ['DELETE', '/1/tags.json', { id: 1 }],
] as const;

test.each<[Record<string, string>, number, string]>([
  [{ 'if-match': '"a"' }, 412, 'the course has changed since it had this ETag; fetch it again and repeat the change'],
  [{}, 409, 'another request has changed the course; fetch it again and repeat the change'],
  [{ 'if-match': '*' }, 409, 'another request has changed the course; fetch it again and repeat the change'],
  [{ 'if-match': ' * ' }, 409, 'another request has changed the course; fetch it again and repeat the change'],
])('a change with the headers %j that came too late is rejected with %i', (headers, status, reason) => {
  const problem = outdated({ className: 'Course' } as EntityMetadata, { headers } as unknown as ApiRequest);
  expect(problem).toMatchObject({ status, message: expect.stringContaining(reason) });
});

describe.each(stores)('preconditions through $store', ({ compiledReads }) => {
  const running = useRunning(compiledReads, ['plain', 'restricted', 'judged', 'revised', 'strict', 'strict_plain']);

  const send: typeof running.send = (...args) => running.send(...args);
  const tagOf = async (path: string) => (await send('GET', path)).headers.get('etag') as string;
  const state = async () =>
    JSON.stringify([await running.rows('revised'), await running.rows(), await running.execute('select * from revised_tags')]);

  async function expectRefused(headers: Record<string, string>, code: string, reason: RegExp, base = '/revised') {
    const before = await state();
    for (const [method, path, json] of writes) {
      const answer = await send(method, base + path, json, headers);
      expect([method, path, answer.json?.code]).toEqual([method, path, code]);
      expect(answer.json.detail).toMatch(reason);
    }
    expect(await state()).toBe(before);
  }

  async function expectPassed(headersOf: () => Promise<Record<string, string>>, base = '/revised') {
    for (const [method, path, json] of writes) {
      await running.restore();
      const { status, text } = await send(method, base + path, json, await headersOf());
      expect([method, path, status, status < 300 ? '' : text]).toEqual([
        method,
        path,
        path === '/1.json' && method === 'DELETE' ? 204 : 200,
        '',
      ]);
    }
  }

  test('a write with the current tag succeeds, also if If-Match lists several tags', async () => {
    const tag = () => tagOf('/revised/1.json');
    await expectPassed(async () => ({ 'if-match': await tag() }));
    await expectPassed(async () => ({ 'if-match': `"other", ${await tag()}` }));
    await expectPassed(async () => ({ 'if-match': await tagOf('/revised/1.xml') }));
    await expectPassed(async () => ({ 'if-match': '*' }));
    await expectPassed(async () => ({ 'if-match': ' * ' }), '/plain');
  });

  test('a tag of another version is rejected', async () => {
    const tag = await tagOf('/revised/1.json');
    await running.execute('update revised set revision = 2 where id = 1');
    await expectRefused(
      { 'if-match': tag },
      'precondition_failed',
      /^.*the revised has changed since it had this ETag; fetch it again/,
    );
  });

  test('a tag of another row or another table is rejected', async () => {
    await expectRefused({ 'if-match': await tagOf('/revised/2.json') }, 'precondition_failed', /has changed since/);
    await expectRefused({ 'if-match': '"0123456789abcdef.0123456789abcdef"' }, 'precondition_failed', /has changed since/);
  });

  test('a weak tag never matches, and the error says so', async () => {
    const tag = await tagOf('/revised/1.json');
    await expectRefused(
      { 'if-match': `W/${tag}` },
      'precondition_failed',
      /a weak ETag \(W\/"…"\) never matches; send the strong one/,
    );
    await expectRefused({ 'if-match': `W/${tag}, "x"` }, 'precondition_failed', /has changed since/);
  });

  test('a malformed If-Match or If-None-Match header is rejected', async () => {
    await expectRefused({ 'if-match': 'abc' }, 'invalid_precondition', /If-Match/);
    await expectRefused({ 'if-none-match': 'abc' }, 'invalid_precondition', /If-None-Match/);
  });

  test('no tag matches a row without a version', async () => {
    const tag = await tagOf('/plain/1.json');
    expect(tag).toMatch(/^W\//);
    await expectRefused(
      { 'if-match': tag },
      'precondition_failed',
      /the item has no version, so its ETags are weak and never match/,
      '/plain',
    );
  });

  test('If-None-Match rejects writes for the listed tags, and for * if the row exists', async () => {
    const tag = await tagOf('/revised/1.json');
    const reason = /the revised exists, or may match the ETag in If-None-Match/;
    await expectRefused({ 'if-none-match': '*' }, 'precondition_failed', reason);
    await expectRefused({ 'if-none-match': tag }, 'precondition_failed', reason);
    await expectRefused({ 'if-none-match': '"other"' }, 'precondition_failed', /the item exists, or may match/, '/plain');
    await expectPassed(async () => ({ 'if-none-match': '"other"' }));
    await expectPassed(async () => ({ 'if-none-match': await tagOf('/revised/2.json') }));
    await expectPassed(async () => ({ 'if-none-match': '"other"', 'if-match': await tagOf('/revised/1.json') }));
    await expectRefused({ 'if-none-match': '"other"', 'if-match': '"other"' }, 'precondition_failed', /has changed since/);
  });

  test('an API can require If-Match for writes', async () => {
    await expectRefused({}, 'precondition_required', /If-Match is required; send the ETag of the revised/, '/strict');
    await expectRefused(
      { 'if-none-match': '"other"' },
      'precondition_required',
      /If-Match is required; send the ETag of the revised/,
      '/strict',
    );
    await expectPassed(async () => ({ 'if-match': await tagOf('/strict/1.json') }), '/strict');
    await expectPassed(async () => ({}), '/strict-plain');
    expect((await send('POST', '/strict.json', { name: 'n', code: 'N' })).status).toBe(201);
    expect((await send('PATCH', '/strict/99.json', { num: 1 })).status).toBe(404);
  });

  test('If-Match with a tag is rejected when a row is created', async () => {
    const json = { name: 'n', code: 'N' };
    const refused = await send('POST', '/revised.json', json, { 'if-match': '"x"' });
    expect([refused.status, refused.json.code]).toEqual([412, 'precondition_failed']);
    expect(refused.json.detail).toContain('a new revised has no ETag yet; leave out If-Match');
    const malformed = await send('POST', '/revised.json', json, { 'if-match': 'abc' });
    expect(malformed.json).toMatchObject({ code: 'invalid_precondition', detail: expect.stringContaining('If-Match') });
    expect(await running.rows('revised')).toHaveLength(3);
    expect((await send('POST', '/revised.json', json, { 'if-match': '*' })).status).toBe(201);
  });

  test('the ETag of a write equals that of the next GET, and is valid for the next write', async () => {
    const created = await send('POST', '/revised.json', { name: 'n', code: 'N' });
    const path = new URL(created.headers.get('location') as string).pathname;
    const tags = [created.headers.get('etag'), await tagOf(path)];
    expect(tags[0]).toBe(tags[1]);
    for (const [method, json] of [
      ['PATCH', { num: 5 }],
      ['PUT', { name: 'm', code: 'M' }],
    ] as const) {
      const changed = await send(method, path, json, { 'if-match': tags.at(-1) as string });
      expect([changed.status, changed.headers.get('etag')]).toEqual([200, await tagOf(path)]);
      expect(changed.headers.get('content-location')).toBe(method === 'PUT' ? `https://api.example${path}` : null);
      expect(tags).not.toContain(changed.headers.get('etag'));
      tags.push(changed.headers.get('etag'));
    }
  });

  test.each(['/revised', '/plain', '/restricted', '/judged'])(
    'a GET of %s with a current If-None-Match tag returns 304',
    async (base) => {
      for (const path of [`${base}/1.json`, `${base}.json`, `${base}/1.xml`, `${base}/1.csv`]) {
        const first = await send('GET', path);
        const tag = first.headers.get('etag') as string;
        expect([first.status, first.headers.get('cache-control'), tag.startsWith('W/')]).toEqual([
          200,
          'private, no-cache',
          base !== '/revised' || path === `${base}.json`,
        ]);
        const known = await send('GET', path, undefined, { 'if-none-match': tag });
        expect([known.status, known.text, known.headers.get('etag')]).toEqual([304, '', tag]);
        expect(known.headers.get('content-type')).toBe(null);
        expect((await send('GET', path, undefined, { 'if-none-match': '"other"' })).text).toBe(first.text);
        expect((await send('GET', path, undefined, { 'if-none-match': '*' })).status).toBe(304);
        const strong = tag.startsWith('W/') ? 412 : 200;
        const matched = await send('GET', path, undefined, { 'if-match': tag });
        expect([path, matched.status]).toEqual([path, strong]);
        const other = await send('GET', path, undefined, { 'if-match': '"other"' });
        const detail = other.json?.detail ?? /<detail>(.*?)<\/detail>/.exec(other.text)?.[1];
        expect([other.status, detail]).toEqual([412, expect.stringContaining(`the response has the ETag ${tag} now`)]);
        expect((await send('GET', path, undefined, { 'if-match': '*' })).status).toBe(200);
      }
    },
  );
});
