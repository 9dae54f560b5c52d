// @module-tag divided
import { describe, expect, test } from 'vitest';
import { databases } from '../support/databases.ts';
import { example, useTarget } from './support/target.ts';
import { admin, ann, bob, marker, takenName, vault } from './support/vault.ts';

/** Spellings under which a property that nobody may set could get in. */
function spellings(name: string): string[] {
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const upper = name[0]?.toUpperCase() + name.slice(1);
  return [
    name,
    snake,
    snake.replaceAll('_', '-'),
    upper,
    name.toUpperCase(),
    name.toLowerCase(),
    snake.toUpperCase(),
    ` ${name}`,
    `${name} `,
    `${name}\t`,
    `${name}\0`,
    `\u200b${name}`,
    `\ufeff${name}`,
    name.replace('e', '\u0435').replace('a', '\u0430').replace('i', '\u0456').replace('o', '\u043e'),
    name.replace(/./, (first) => String.fromCodePoint((first.codePointAt(0) as number) + 0xfee0)),
    `_${name}`,
    `__${name}`,
    `$${name}`,
    `@${name}`,
    `${name}[]`,
    `${name}[0]`,
    `[${name}]`,
    `page.${name}`,
    `this.${name}`,
    `__helper.__originalEntityData.${name}`,
    `["${name}"]`,
    `e.${name}`,
    `"${name}"`,
    `/${name}`,
    `${name}; drop table page`,
  ];
}

const protectedFields: readonly (readonly [string, unknown])[] = [
  ['owner', 'bob'],
  ['secret', 'changed'],
  ['isAdmin', true],
  ['rank', 1],
  ['draft', 'changed'],
];

describe.each(databases)('API3:2023 broken object property level authorization, on %s', (kind) => {
  const target = useTarget(kind, vault);
  const stateOf = (id: number) => target.rows(`select owner, secret, is_admin, rank, draft from page where id = ${id}`);

  describe('mass assignment (rails/rails#5228)', () => {
    // every spelling of one name, and the usual ones of the others
    test.each(
      protectedFields.flatMap(([name, value], index) =>
        spellings(name)
          .slice(0, index === 2 ? undefined : 7)
          .map((spelling) => [spelling, value] as const),
      ),
    )('rejects the field %j', async (name, value) => {
      const before = await stateOf(1);
      for (const [method, path] of [
        ['PATCH', '/page/1.json'],
        ['PUT', '/page/1.json'],
        ['POST', '/page.json'],
      ] as const) {
        const answer = await target.send(method, path, { as: ann, json: { title: 'ann 1', [name]: value } });
        expect([answer.status, answer.json.code]).toEqual([400, 'unknown_field']);
        expect(answer.whole).not.toContain(marker);
      }
      expect(await stateOf(1)).toEqual(before);
      expect(await target.rows('select count(*) as n from page')).toEqual([{ n: kind === 'sqlite' ? 6 : '6' }]);
    });

    test.each([
      ['another id', '{"title":"x","id":2}'],
      ['an id of another form', '{"title":"x","id":"1"}'],
      ['a list as id', '{"title":"x","id":[1]}'],
      ['null as id', '{"title":"x","id":null}'],
      ['an id that was said twice', '{"title":"x","id":1,"id":2}'],
      ['another type', '{"title":"x","type":"folder"}'],
      ['a type in another case', '{"title":"x","type":"PAGE"}'],
      ['a list as type', '{"title":"x","type":["page"]}'],
      ['__proto__', '{"title":"x","__proto__":{"owner":"bob"}}'],
      ['__proto__ by escapes', '{"title":"x","\\u005f\\u005fproto\\u005f\\u005f":{"owner":"bob"}}'],
      ['constructor.prototype', '{"title":"x","constructor":{"prototype":{"owner":"bob"}}}'],
      ['constructor', '{"title":"x","constructor":{"name":"Folder"}}'],
      ['toString', '{"title":"x","toString":"x"}'],
      ['toJSON', '{"title":"x","toJSON":"x"}'],
      ['then', '{"title":"x","then":"x"}'],
      ['__entity', '{"title":"x","__entity":true}'],
      ['__meta', '{"title":"x","__meta":{}}'],
      ['__helper', '{"title":"x","__helper":{"__managed":true}}'],
      ['a field in an association', '{"title":"x","folder":{"id":1,"name":"renamed"}}'],
      ['a secret field in an association', '{"title":"x","folder":{"id":1,"code":"taken"}}'],
      ['a new row in an association', '{"title":"x","folder":{"name":"new"}}'],
      ['a field in a to-many', '{"title":"x","siblings":[{"id":3,"owner":"bob"}]}'],
      ['the other end of an association', '{"title":"x","folder":{"id":1,"pages":[{"id":1}]}}'],
      ['an association that only actions change', '{"title":"x","pages":[{"id":1}]}'],
    ])('rejects a body with %s (CVE-2018-16487, CVE-2019-10744, CVE-2017-12635)', async (_, body) => {
      const headers = { 'content-type': 'application/json' };
      const before = await target.rows('select * from page order by id');
      const folders = await target.rows('select * from folder order by id');
      for (const [method, path] of [
        ['PATCH', '/page/1.json'],
        ['PUT', '/page/1.json'],
        ['POST', '/page.json'],
      ] as const) {
        expect((await target.send(method, path, { as: ann, headers, body })).status).toBe(400);
      }
      expect(await target.rows('select * from page order by id')).toEqual(before);
      expect(await target.rows('select * from folder order by id')).toEqual(folders);
      expect(({} as { owner?: unknown }).owner).toBeUndefined();
    });

    test('the last of two equal keys is both validated and stored (CVE-2017-12635)', async () => {
      const headers = { 'content-type': 'application/json' };
      const wrong = await target.send('PATCH', '/page/5.json', { as: ann, headers, body: '{"title":"right","title":5}' });
      expect(wrong.status).toBe(422);
      const { json } = await target.send('PATCH', '/page/5.json', { as: ann, headers, body: '{"title":5,"title":"ann 5"}' });
      expect(json.title).toBe('ann 5');
    });

    test.each([
      ['a fragment of SQL', { __raw: true, sql: '(select secret from page where id = 2)', params: [] }],
      ['a condition', { $ne: null }],
      ['a key like a path', { 'a.b': 1, "x'y": 2, 'a"b': 3 }],
      ['the name of a function', { toJSON: 'x', constructor: 'x', valueOf: 'x' }],
      ['a fragment as text', '[raw]: (select secret from page) (#1)'],
    ])('%s in a JSON column is stored as a plain value (MikroORM CVE-2026-34220, CVE-2026-44680)', async (_, data) => {
      for (const [method, path] of [
        ['PATCH', '/page/5.json'],
        ['PUT', '/page/5.json'],
      ] as const) {
        const { json, status } = await target.send(method, path, { as: ann, json: { title: 'ann 5', data } });
        expect(status).toBe(200);
        if (method === 'PUT') expect(json.data).toEqual(data);
      }
      const { json } = await target.send('GET', '/page/5.json', { as: ann });
      expect(json.data).toEqual(data);
      await target.send('PATCH', '/page/5.json', { as: ann, json: { data: null } });
    });
  });

  describe('fields outside the groups of the caller are never returned (nestjsx/crud#377, Strapi CVE-2026-27886)', () => {
    test.each([
      ['GET', '/page.json'],
      ['GET', '/page/1.json'],
      ['GET', '/mirror.json'],
      ['GET', '/mirror/1.json'],
      ['GET', '/folder.json'],
      ['GET', '/folder/1.json'],
      ['GET', '/page/recent.json'],
      ['GET', '/page/1/stamp.json'],
      ['POST', '/page/1/stamp.json'],
      ['POST', '/folder/1/pages.json', { id: 1 }],
      ['DELETE', '/folder/1/pages.json', { id: 1 }],
      ['PATCH', '/page/1.json', { title: 'ann 1' }],
      ['PATCH', '/page/1.json', { title: 5 }],
      ['PUT', '/folder/3.json', { name: 'third' }],
    ] as [string, string, unknown?][])('%s %s', async (...[method, path, json]: [string, string, unknown?]) => {
      const answer = await target.send(method, path, { as: ann, ...(json !== undefined && { json }) });
      expect(answer.whole).not.toContain(marker);
      expect(answer.whole).not.toMatch(/734000|isAdmin|is_admin|draft|"owner"|"secret"|"code":"HIDDEN|"pin"/);
    });

    test('not even to the administrator, who sees every row', async () => {
      const { text } = await target.send('GET', '/archive.json', { as: admin });
      expect(text).toContain(`${marker}title-2`);
      expect(text).not.toMatch(/HIDDEN-(secret|draft|pin|code)|734000|isAdmin/);
    });

    test.each([
      'fields=secret',
      'fields[]=secret',
      'select=secret',
      'groups=internal',
      'groups[]=internal',
      'group=internal',
      'include=owner',
      'expand=parent',
      'populate=*',
      'populate[parent]=true',
      'with=parent',
      'embed=siblings',
      'sort=secret',
      'sort=-rank',
      'order[secret]=asc',
      'orderBy=secret',
      'filter[secret][$startsWith]=H',
      'filters[secret][$startsWith]=H',
      'where[secret]=x',
      'secret=x',
      'secret[$gt]=',
      'q=HIDDEN',
      'search=HIDDEN',
      'owner=bob',
      'owner[$ne]=ann',
      '$where=1',
      'filter=secret%20eq%20x',
      '__proto__[admin]=1',
      'constructor[prototype][admin]=1',
      'having=1',
      'group_by=secret',
      'distinct=secret',
      'aggregate=max(secret)',
      'count=secret',
      'limit=1000',
      'offset=1',
      'per_page=1000',
      'page[size]=10',
      'callback=alert',
      'format=xml',
      '_format=xml',
      '_method=DELETE',
      'debug=1',
    ])('rejects the query ?%s (CVE-2023-22894, CVE-2026-27886, CVE-2022-24999)', async (query) => {
      for (const path of ['/page.json', '/page/1.json', '/folder.json']) {
        const answer = await target.send('GET', `${path}?${query}`, { as: ann });
        expect(answer.status).toBe(400);
        expect(['unknown_parameter', 'field_not_readable']).toContain(answer.json.code);
        expect(answer.whole.replaceAll('HIDDEN', '')).not.toContain('-title');
      }
    });

    test('requesting a hidden field gets the same error as an unknown field (CVE-2026-27886)', async () => {
      const told = [];
      for (const name of ['secret', 'owner', 'draft', 'pin', 'parent', 'parent.secret', 'folder.code', 'nonsense']) {
        const { json, status } = await target.send('GET', `/page.json?fields=${name}`, { as: ann });
        told.push([status, json.code, json.detail.replaceAll(name, '#')]);
      }
      expect(new Set(told.map((each) => JSON.stringify(each))).size).toBe(1);
    });
  });

  describe('errors reveal nothing about hidden fields (CWE-204, CWE-209)', () => {
    test('a conflict on a property without a group does not name the property', async () => {
      const answer = await target.send('POST', '/folder.json', { as: ann, json: { name: takenName } });
      expect([answer.status, answer.json.detail]).toEqual([409, 'another folder has the same value for: a unique property']);
      expect(answer.text).not.toContain('folder_code');
      expect(answer.whole).not.toContain(marker);
    });

    test('a conflict on a writable property names the property, but neither the row nor its value', async () => {
      const answer = await target.send('PATCH', '/page/1.json', { as: ann, json: { pin: `${marker}pin-2` } });
      expect([answer.status, answer.json.detail]).toEqual([409, 'another page has the same value for: pin']);
      expect(answer.text).not.toContain(marker);
    });

    test('writing a hidden field gets the same error as an unknown field', async () => {
      const codes = [];
      for (const name of ['secret', 'owner', 'draft', 'nonsense'])
        codes.push((await target.send('PATCH', '/page/1.json', { as: ann, json: { [name]: 1 } })).json.detail.replace(name, '#'));
      expect(new Set(codes).size).toBe(1);
    });

    test('rows of other callers are unchanged after all these requests', async () => {
      const { json } = await target.send('GET', '/page/2.json', { as: bob });
      expect(json.title).toBe(`${marker}title-2`);
    });
  });
});

describe.each(databases)('API3:2023 broken object property level authorization, in the example on %s', (kind) => {
  const target = useTarget(kind, example);
  const boss = { id: 1, roles: ['ROLE_ADMIN'], centers: [1, 2, 3] };

  test.each(spellings('nationalNumber'))('the field %j does not set the national number (rails/rails#5228)', async (name) => {
    const before = await target.rows('select * from person where id = 1');
    for (const method of ['PATCH', 'PUT']) {
      const json = { firstName: 'Ada', lastName: 'Adler', center: { id: 1 }, [name]: 'stolen' };
      const answer = await target.send(method, '/api/person/1.json', { as: boss, json });
      expect([answer.status, answer.json.code]).toEqual([400, 'unknown_field']);
    }
    expect(await target.rows('select * from person where id = 1')).toEqual(before);
  });

  test.each([
    '/api/person.json?items_per_page=100',
    '/api/person/1.json',
    '/api/course.json?items_per_page=100',
    '/api/course/1.json',
    '/api/course/mine.json',
  ])('%s contains no national number (nestjsx/crud#377)', async (path) => {
    const { status, whole } = await target.send('GET', path, { as: boss });
    expect(status).toBe(200);
    expect(whole).not.toMatch(/NN-\d|national/i);
  });
});
