// @module-tag divided
import { describe, expect, test } from 'vitest';
import { databases } from '../support/databases.ts';
import { type Answer, example, useTarget } from './support/target.ts';
import { admin, ann, bob, marker, vault } from './support/vault.ts';

/** Bob's, and nobody's: of the same length, so that answers can be compared byte by byte. */
const hidden = 2;
const missing = 9;

/** Ways to a row by its id: what they do with it, for Ann, who cannot see it. */
type Door = [name: string, method: string, path: (id: number) => string, body?: (id: number) => unknown];
const doors: Door[] = [
  ['GET', 'GET', (id) => `/page/${id}.json`],
  ['HEAD', 'HEAD', (id) => `/page/${id}.json`],
  ['PATCH', 'PATCH', (id) => `/page/${id}.json`, () => ({ title: 'mine now' })],
  ['PATCH with a wrong value', 'PATCH', (id) => `/page/${id}.json`, () => ({ title: 5 })],
  ['PATCH with an unknown field', 'PATCH', (id) => `/page/${id}.json`, () => ({ nonsense: 5 })],
  ['PATCH with its own id', 'PATCH', (id) => `/page/${id}.json`, (id) => ({ id, title: 'mine now' })],
  ['PUT', 'PUT', (id) => `/page/${id}.json`, () => ({ title: 'mine now' })],
  ['DELETE', 'DELETE', (id) => `/page/${id}.json`],
  ['an unknown query parameter', 'GET', (id) => `/page/${id}.json?fields=secret`],
  ['GET of a custom action', 'GET', (id) => `/page/${id}/stamp.json`],
  ['HEAD of a custom action', 'HEAD', (id) => `/page/${id}/stamp.json`],
  ['POST of a custom action', 'POST', (id) => `/page/${id}/stamp.json`, () => ({})],
  ['the second API of the class', 'GET', (id) => `/mirror/${id}.json`],
  ['DELETE in the second API of the class', 'DELETE', (id) => `/mirror/${id}.json`],
  ['the target of an add', 'POST', () => '/folder/1/pages.json', (id) => ({ id })],
  ['the target of a remove', 'DELETE', () => '/folder/1/pages.json', (id) => ({ id })],
  ['the target of a typed add', 'POST', () => '/folder/1/pages.json', (id) => ({ type: 'page', id })],
  ['a to-one in PATCH', 'PATCH', () => '/page/1.json', (id) => ({ parent: { id } })],
  ['a to-one in PUT', 'PUT', () => '/page/1.json', (id) => ({ title: 'x', parent: { id } })],
  ['a to-one in POST', 'POST', () => '/page.json', (id) => ({ title: 'x', parent: { id } })],
  ['a to-many in PATCH', 'PATCH', () => '/page/1.json', (id) => ({ siblings: [{ id: 3 }, { id }] })],
  ['a to-many in POST', 'POST', () => '/page.json', (id) => ({ title: 'x', siblings: [{ id }] })],
];

function bytesOf({ headers, status, text }: Answer, id: number): unknown {
  const { date: _, 'x-request-id': __, ...rest } = headers;
  return { status, headers: rest, text: text.replaceAll(`/${id}`, '/#') };
}

describe.each(databases)('API1:2023 broken object level authorization, on %s', (kind) => {
  const target = useTarget(kind, vault);

  describe('a request for a hidden row gets the same response as for a missing row (API Platform CVE-2025-31481)', () => {
    test.each(doors)('%s', async (...[, method, path, body]: Door) => {
      const before = await target.rows('select * from page order by id');
      const ask = (id: number) => target.send(method, path(id), { as: ann, ...(body && { json: body(id) }) });
      const shut = await ask(hidden);
      expect(shut.status).toBeGreaterThanOrEqual(400);
      expect(bytesOf(shut, hidden)).toEqual(bytesOf(await ask(missing), missing));
      expect(shut.whole).not.toContain(marker);
      expect(await target.rows('select * from page order by id')).toEqual(before);
      expect(await target.rows('select * from folder_pages')).toEqual([]);
    });

    test('the owner and the administrator can read the row', async () => {
      expect((await target.send('GET', `/page/${hidden}.json`, { as: bob })).json.title).toBe(`${marker}title-${hidden}`);
      expect((await target.send('GET', `/archive/${hidden}.json`, { as: admin })).status).toBe(200);
    });

    test('an API that the caller may not use returns 401 or 403 (API Platform CVE-2025-31481)', async () => {
      const answer = await target.send('GET', `/archive/${hidden}.json`, { as: ann });
      expect(answer.status).toBe(403);
      expect(answer.whole).not.toContain(marker);
      expect((await target.send('GET', '/archive.json', { as: ann })).status).toBe(403);
      expect((await target.send('HEAD', '/archive.json')).status).toBe(401);
    });
  });

  describe('conditional headers reveal nothing about a hidden row (CWE-204; RFC 9110, 13.1)', () => {
    test.each([
      ['If-None-Match', '*'],
      ['If-None-Match', '"1"'],
      ['If-Match', '*'],
      ['If-Match', '"1"'],
      ['If-Modified-Since', 'Thu, 01 Jan 1970 00:00:00 GMT'],
      ['If-Unmodified-Since', 'Thu, 01 Jan 1970 00:00:00 GMT'],
      ['Range', 'bytes=0-1'],
      ['If-Range', '"1"'],
    ])('%s: %s', async (name, value) => {
      const ask = (id: number, method = 'GET') =>
        target.send(method, `/page/${id}.json`, { as: ann, headers: { [name]: value } });
      for (const method of ['GET', 'HEAD', 'DELETE']) {
        const answers = await Promise.all([2, 4, missing].map(async (id) => bytesOf(await ask(id, method), id)));
        expect(answers[0]).toEqual(answers[2]);
        expect(answers[1]).toEqual(answers[2]);
      }
      const { headers, status } = await ask(hidden);
      expect([status, headers.etag, headers['last-modified']]).toEqual([404, undefined, undefined]);
    });
  });

  describe('lists contain only rows that the caller may see (CVE-2023-22894: counts and filters as oracles)', () => {
    test.each(['/page.json', '/mirror.json', '/page/recent.json'])('rows, count and links of %s', async (path) => {
      const { json, whole } = await target.send('GET', path, { as: ann });
      expect([json.count, json.results.map(({ id }: { id: number }) => id)]).toEqual([3, [1, 3, 5]]);
      expect(json.pagination.more).toBe(false);
      expect(whole).not.toContain(marker);
    });

    test.each(['/page.json', '/mirror.json', '/page/recent.json'])('every page of %s, by its links', async (path) => {
      const seen: number[] = [];
      let next: string | null = `${path}?items_per_page=1`;
      while (next !== null) {
        const { json, whole }: Answer = await target.send('GET', next, { as: ann });
        expect(whole).not.toContain(marker);
        expect(json.count).toBe(3);
        seen.push(...json.results.map(({ id }: { id: number }) => id));
        next = json.pagination.next;
      }
      expect(seen).toEqual([1, 3, 5]);
    });

    test.each(['/page.json', '/mirror.json'])('the Content-Length of HEAD %s', async (path) => {
      const [get, head] = await Promise.all(['GET', 'HEAD'].map((method) => target.send(method, path, { as: ann })));
      expect(head?.headers['content-length']).toBe(get?.headers['content-length']);
      expect(head?.text).toBe('');
    });

    test.each([2, 3, 4, 5, 100])('page %i is empty if it is beyond the rows of the caller', async (page) => {
      const { json } = await target.send('GET', `/page.json?items_per_page=3&page=${page}`, { as: ann });
      expect([json.count, json.results, json.pagination.more]).toEqual([3, [], false]);
    });

    test('a caller without rows gets an empty list', async () => {
      const eve = { id: 'eve', roles: ['ROLE_USER'] };
      const { json } = await target.send('GET', '/page.json', { as: eve });
      expect([json.count, json.results, json.pagination.more]).toEqual([0, [], false]);
    });
  });

  describe('pagination tokens give no access to hidden rows (CWE-639; CVE-2023-22894: hidden values are not compared)', () => {
    const tokenIn = (link: string | null, name = 'after') => new URLSearchParams(String(link).split('?')[1]).get(name);
    const listOf = (path: string, as: typeof ann) => target.send('GET', path, { as });
    const encoded = (content: unknown) => Buffer.from(JSON.stringify(content)).toString('base64url');

    test('a list sorted by a hidden field returns no token and rejects forged ones', async () => {
      const { json } = await listOf('/page.json?items_per_page=1', ann);
      expect(json.pagination.next).not.toContain('after');
      expect(json.pagination.next).not.toContain('73400');
      for (const value of [0, 7_340_003, '7340003', null]) {
        const forged = await listOf(`/page.json?page=2&after=${encoded(['AAAAAA', value, 1])}`, ann);
        expect(forged.status).toBe(400);
      }
    });

    test('a token of another caller returns only rows of the sender', async () => {
      const theirs = await listOf('/mirror.json?items_per_page=1', bob);
      const token = tokenIn(theirs.json.pagination.next);
      expect(token).toBeTruthy();
      for (const name of ['after', 'before']) {
        const { status, whole, json } = await listOf(`/mirror.json?page=2&${name}=${token}`, ann);
        expect(status).toBe(200);
        expect(whole.replaceAll(String(token), '')).not.toContain(marker);
        expect(json.count).toBe(3);
        for (const { title } of json.results) expect(title).toMatch(/^ann/);
      }
    });

    test('a token forged from the keys of a hidden row does not reveal whether the row exists', async () => {
      const [tag] = JSON.parse(
        Buffer.from(
          String(tokenIn((await listOf('/mirror.json?items_per_page=1', ann)).json.pagination.next)),
          'base64url',
        ).toString(),
      );
      for (const name of ['after', 'before']) {
        const answers = [];
        for (const [title, id] of [
          [`${marker}title-2`, hidden],
          [`${marker}title-9`, missing],
        ]) {
          const { status, json } = await listOf(`/mirror.json?page=2&${name}=${encoded([tag, title, id])}`, ann);
          const ids = json.results?.map((each: { id: number }) => each.id);
          answers.push([status, json.count, ids, json.pagination?.more]);
        }
        expect(answers[0]).toEqual(answers[1]);
      }
    });

    test.each([
      ['of another API', async () => tokenIn((await listOf('/folder.json?items_per_page=1', ann)).json.pagination.next)],
      ['that is empty', async () => ''],
      ['that is none', async () => 'x'],
      ['of no JSON', async () => Buffer.from('{').toString('base64url')],
      ['of an object', async () => encoded({ length: 3 })],
      ['of null', async () => encoded(null)],
      ['of nothing', async () => encoded([])],
      ['with a condition', async () => encoded(['AAAAAA', { $gt: '' }, 1])],
      ['with SQL', async () => encoded(['AAAAAA', "' or 1=1 --", 1])],
      ['with a prototype', async () => encoded(['__proto__', '__proto__', '__proto__'])],
      ['with NUL', async () => encoded(['AAAAAA', '\0', 1])],
      ['nested deeply', async () => Buffer.from('['.repeat(700)).toString('base64url')],
      ['longer than any', async () => 'A'.repeat(5000)],
      [
        'in another spelling',
        async () => `${tokenIn((await listOf('/mirror.json?items_per_page=1', ann)).json.pagination.next)}==`,
      ],
    ])('rejects a token %s', async (_, make) => {
      const token = encodeURIComponent(String(await make()));
      for (const name of ['after', 'before']) {
        const { status, json } = await listOf(`/mirror.json?page=2&${name}=${token}`, ann);
        expect([status, json.code]).toEqual([400, token.length > 4000 ? 'parameter_too_long' : 'invalid_parameter']);
      }
    });
  });

  describe('rejects a reference without a valid id (CVE-2022-24999, CVE-2024-53900: objects in place of values)', () => {
    const ids: readonly (readonly [string, string])[] = [
      ['missing', '{}'],
      ['null', '{"id":null}'],
      ['an object', '{"id":{"$gt":0}}'],
      ['an object with an id', '{"id":{"id":1}}'],
      ['a list', '{"id":[1]}'],
      ['an empty list', '{"id":[]}'],
      ['true', '{"id":true}'],
      ['text', '{"id":"1"}'],
      ['text with SQL', '{"id":"1 or 1=1"}'],
      ['a fraction', '{"id":1.5}'],
      ['zero', '{"id":0}'],
      ['negative', '{"id":-1}'],
      ['beyond 32 bits', '{"id":4294967297}'],
      ['beyond 53 bits', '{"id":9007199254740993}'],
      ['beyond 64 bits', '{"id":18446744073709551617}'],
      ['infinite', '{"id":1e999}'],
      ['__proto__', '{"id":"__proto__"}'],
      ['constructor', '{"id":"constructor"}'],
      ['toString', '{"id":"toString"}'],
      ['inherited', '{"__proto__":{"id":1}}'],
      ['inherited by escape', '{"\\u005f_proto__":{"id":1}}'],
      ['inherited by constructor', '{"constructor":{"prototype":{"id":1}}}'],
      ['of a wrong type', '{"type":"folder","id":1}'],
      ['of type null', '{"type":null,"id":1}'],
      ['of an object as type', '{"type":{"toString":"page"},"id":1}'],
      ['of a list as type', '{"type":["page"],"id":1}'],
      ['of a number as type', '{"type":0,"id":1}'],
      ['of type __proto__', '{"type":"__proto__","id":1}'],
      ['of type constructor', '{"type":"constructor","id":1}'],
      ['of type toString', '{"type":"toString","id":1}'],
      ['of the class in another case', '{"type":"Page","id":1}'],
      ['of a huge type', `{"type":"${'page'.repeat(1000)}","id":1}`],
      ['with more than a reference', '{"id":1,"title":"changed"}'],
      ['a list of references', '[{"id":1}]'],
      ['no object', '1'],
    ];

    test.each(ids)('an id that is %s', async (_, body) => {
      const headers = { 'content-type': 'application/json' };
      const before = await target.rows('select * from page order by id');
      for (const method of ['POST', 'DELETE']) {
        const answer = await target.send(method, '/folder/1/pages.json', { as: ann, headers, body });
        expect(answer.status).toBe(400);
        expect(answer.whole).not.toContain(marker);
      }
      for (const field of [`"parent":${body}`, `"siblings":[${body}]`]) {
        const answer = await target.send('PATCH', '/page/1.json', { as: ann, headers, body: `{${field}}` });
        expect([400, 422]).toContain(answer.status);
      }
      expect(await target.rows('select * from folder_pages')).toEqual([]);
      expect(await target.rows('select * from page order by id')).toEqual(before);
    });
  });

  describe('concurrent callers get only their own rows (API Platform CVE-2025-31485: decisions cached across rows and users)', () => {
    const own = { ann: [1, 3, 5], bob: [2, 4, 6] };

    test('in lists', async () => {
      const answers = await Promise.all(
        Array.from({ length: 60 }, (_, index) => {
          const as = index % 2 === 0 ? ann : bob;
          return target.send('GET', `/mirror.json?items_per_page=${1 + (index % 3)}`, { as }).then(({ json }) => ({ as, json }));
        }),
      );
      for (const { as, json } of answers) {
        expect(json.count).toBe(3);
        for (const { id } of json.results) expect(own[as.id as 'ann' | 'bob']).toContain(id);
      }
    });

    test('in single rows', async () => {
      const answers = await Promise.all(
        Array.from({ length: 60 }, (_, index) => {
          const as = index % 2 === 0 ? ann : bob;
          const id = 1 + (index % 6);
          return target.send('GET', `/page/${id}.json`, { as }).then(({ status }) => [as.id, id, status] as const);
        }),
      );
      for (const [who, id, status] of answers) expect(status).toBe(own[who as 'ann' | 'bob'].includes(id) ? 200 : 404);
    });

    test('in pipelined requests on one connection (CVE-2022-32215)', async () => {
      const tokens = await Promise.all([ann, bob].map((user) => target.app.tokenFor(user)));
      const requests = Array.from({ length: 12 }, (_, index) => {
        const authorization = index % 3 === 2 ? '' : `Authorization: Bearer ${tokens[index % 3]}\r\n`;
        const close = index === 11 ? 'Connection: close\r\n' : '';
        return `GET /page/1.json HTTP/1.1\r\nHost: a\r\n${authorization}${close}\r\n`;
      });
      const statuses = (await target.raw(requests.join(''))).map(({ status }) => status);
      // the anonymous caller is not told whether the row is there
      expect(statuses).toEqual(Array.from({ length: 12 }, (_, index) => [200, 404, 404][index % 3]));
    });
  });
});

describe.each(databases)('API1:2023 broken object level authorization, in the example on %s', (kind) => {
  const target = useTarget(kind, example);
  const north = { id: 1, roles: ['ROLE_USER'], centers: [1] };

  /** Course 2 is of another center, course 10 is confidential and of somebody else, course 999 is not there. */
  test.each([
    ['GET', '', undefined],
    ['HEAD', '', undefined],
    ['PATCH', '', { title: 'mine now' }],
    ['POST', '/close', {}],
    ['POST', '/participation', { id: 1 }],
    ['DELETE', '/participation', { id: 1 }],
    ['POST', '/tags', { id: 'housing' }],
    ['DELETE', '/tags', { id: 'housing' }],
  ])('%s /api/course/{id}%s of another center returns 404 (CVE-2025-31481)', async (method, action, json) => {
    for (const id of [2, 999]) {
      const { status } = await target.send(method, `/api/course/${id}${action}.json`, { as: north, ...(json && { json }) });
      expect(status).toBe(404);
    }
  });

  test('rejects a person of another center as participant and as requestor (CVE-2025-31481)', async () => {
    const boss = { id: 1, roles: ['ROLE_ADMIN'], centers: [1] };
    for (const id of [2, 999]) {
      const added = await target.send('POST', '/api/course/1/participation.json', { as: boss, json: { id } });
      expect([added.status, added.json.detail]).toEqual([400, 'person id not found']);
      for (const requestor of [{ type: 'person', id }, `person/${id}`]) {
        const set = await target.send('PATCH', '/api/course/1.json', { as: boss, json: { requestor } });
        expect([set.status, set.json.code]).toEqual([400, 'invalid_reference']);
      }
    }
  });

  test('the list of own courses omits courses of a center that the caller has left (CVE-2025-31481)', async () => {
    const gone = { id: 1, roles: ['ROLE_USER'], centers: [3] };
    const { json } = await target.send('GET', '/api/course/mine.json?items_per_page=100', { as: gone });
    for (const { center } of json.results) expect(center.id).toBe(3);
  });

  test.each(['rita', 'NaN', '1.0', ' 1', '0x1', '1e0', '1e400', '-1', '١', '99999999999999999999', '__proto__'])(
    'the token subject %j is not treated as the user with the id 1 (CVE-2019-19844: similar identities)',
    async (id) => {
      const as = { id, roles: ['ROLE_USER'], centers: [1, 2, 3] };
      const mine = await target.send('GET', '/api/course/mine.json', { as });
      expect([mine.status, mine.json.count]).toEqual([200, 0]);
      const list = await target.send('GET', '/api/course.json?items_per_page=100', { as });
      expect(list.json.results.filter(({ confidential }: { confidential: boolean }) => confidential)).toEqual([]);
    },
  );
});
