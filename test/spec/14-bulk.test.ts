// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, Voter } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Center = defineEntity({
  name: 'Center',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read', 'write') },
});
const Person = defineEntity({
  name: 'Person',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().length(20).groups('read', 'write'),
    email: p.string().nullable().unique().groups('read', 'write'),
    age: p.integer().nullable().groups('read', 'write'),
    active: p.boolean().default(true).groups('read', 'write'),
    center: () => p.manyToOne(Center).deleteRule('restrict').nullable().groups('read', 'write'),
  },
});
const Note = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary().groups('read'),
    text: p.string().groups('read', 'write'),
    owner: p.string().nullable().groups('read', 'write'),
    place: p.integer().nullable().unique().groups('write'),
    version: p.integer().version().groups('read'),
  },
});

/** The calls of application code. */
const calls: string[] = [];

class NoteVoter extends Voter {
  static override roles = ['NOTE_CHANGE', 'NOTE_ADD'];
  vote(role: string, subject: unknown, user: { id: unknown } | null) {
    const owner = (subject as { owner?: string } | null)?.owner;
    calls.push(`vote ${role} ${owner ?? '-'}`);
    return role === 'NOTE_ADD' || owner === user?.id ? ('grant' as const) : ('deny' as const);
  }
}

class NoteController extends ApiController {
  override customizeQuery(action: string, _: ApiRequest, query: any) {
    calls.push(`customizeQuery ${action}`);
    return query.andWhere({ text: { $ne: 'hidden' } });
  }
  override afterFetch(_: string, request: ApiRequest, note: any) {
    calls.push(`afterFetch ${note.text} ${(request.params as { id?: string }).id}`);
  }
  override beforeValidation(_: string, request: ApiRequest, note: any) {
    calls.push(`beforeValidation ${note.text} ${(request.body as { text?: string }).text}`);
  }
  override afterCommit(_: string, __: ApiRequest, note: any) {
    calls.push(`afterCommit ${note.text}`);
  }
}

const all = { GET: true, POST: true, PATCH: true, DELETE: true };
const bulk = { POST: true, PATCH: true, DELETE: true };

function apis() {
  return {
    person: {
      class: 'Person',
      base_path: '/api/person',
      actions: {
        _index: { methods: { GET: true, POST: true }, bulk: { ...bulk, max_items: 500 } },
        _entity: { methods: { GET: true, PATCH: true, DELETE: true } },
      },
    },
    center: { class: 'Center', base_path: '/api/center', actions: { _index: { methods: all, bulk }, _entity: { methods: all } } },
    note: {
      class: 'Note',
      base_path: '/api/note',
      controller: 'NoteController',
      actions: {
        _index: { methods: { GET: true, POST: true }, roles: { POST: 'NOTE_ADD' }, bulk },
        _entity: { methods: { GET: true, PATCH: true, DELETE: true }, roles: { PATCH: 'NOTE_CHANGE', DELETE: 'NOTE_CHANGE' } },
      },
    },
  };
}

describe.each(databases)('bulk writes on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;

  beforeEach(async () => {
    database = await freshDatabase(kind);
    app = await startApplication({
      app_main: { database: { url: database.url, schema: 'update' }, apis: apis() } as never,
      models: [Center, Person, Note],
      controllers: [NoteController],
      voters: [NoteVoter],
    });
    calls.length = 0;
    app.statements.length = 0;
  });
  afterEach(async () => {
    await app.close();
    await database.drop();
  });

  const post = (path: string, json: unknown, more: object = {}) => app.request('POST', path, { json, ...more });
  const patch = (path: string, json: unknown, more: object = {}) => app.request('PATCH', path, { json, ...more });
  const remove = (path: string, json: unknown, more: object = {}) => app.request('DELETE', path, { json, ...more });
  const names = async () => (await app.request('GET', '/api/person.json')).json.results.map(({ name }: { name: string }) => name);

  test('POST creates the rows of a list with one statement, and returns them in its order', async () => {
    await post('/api/center.json', { name: 'North' });
    app.statements.length = 0;
    const list = Array.from({ length: 200 }, (_, i) => ({
      name: `n${i}`,
      ...(i % 2 && { age: i, center: { id: 1 } }),
      email: `${i}@x`,
    }));
    const created = await post('/api/person.json', list);
    expect(created.status).toBe(201);
    expect(created.json.count).toBe(200);
    expect(created.json.results.map(({ name }: { name: string }) => name)).toEqual(list.map(({ name }) => name));
    expect(created.json.results[1]).toEqual({
      id: expect.any(Number),
      name: 'n1',
      email: '1@x',
      age: 1,
      active: true,
      center: { id: 1, name: 'North' },
    });
    expect(created.json.results[2]).toMatchObject({ age: null, center: null });
    expect(created.headers.get('location')).toBeNull();
    expect(app.statements.filter((sql) => /insert into/i.test(sql))).toHaveLength(1);
    expect(app.statements.length).toBeLessThan(8);
  });

  test('POST of an object creates one row as before', async () => {
    const created = await post('/api/person.json', { name: 'Ada' });
    expect([created.status, created.headers.get('location'), created.json.name]).toEqual([201, '/api/person/1.json', 'Ada']);
  });

  test('an invalid item keeps all from being created, and the violations of all items are returned', async () => {
    const refused = await post('/api/person.json', [{ name: 'Ada' }, {}, { name: 'x'.repeat(30), age: 'old' }]);
    expect(refused.status).toBe(422);
    expect(refused.json.violations.map(({ propertyPath, code }: any) => `${propertyPath} ${code}`).sort()).toEqual([
      '[1].name required',
      '[2].age type',
      '[2].name too_long',
    ]);
    expect(await names()).toEqual([]);
  });

  test.each([
    ['an unknown field', [{ name: 'a' }, { name: 'b', x: 1 }], 400, 'unknown_field', 1],
    ['a missing reference', [{ name: 'a' }, { name: 'b', center: { id: 9 } }], 400, 'invalid_reference', 1],
    [
      'a value twice in the list',
      [{ name: 'a', email: 'e' }, { name: 'b' }, { name: 'c', email: 'e' }],
      409,
      'conflict_unique',
      2,
    ],
    ['null as an item', [{ name: 'a' }, null], 400, 'invalid_list', 1],
    ['a list as an item', [[]], 400, 'invalid_list', 0],
    ['a text as an item', ['a'], 400, 'invalid_list', 0],
    ['an id', [{ name: 'a', id: 3 }], 400, 'identity_mismatch', 0],
  ])('POST refuses %s with the index of the item', async (_, list, status, code, index) => {
    const refused = await post('/api/person.json', list);
    expect([refused.status, refused.json.code, refused.json.index]).toEqual([status, code, index]);
    expect(await names()).toEqual([]);
  });

  test('POST names the item that conflicts with an existing row', async () => {
    await post('/api/person.json', { name: 'Ada', email: 'ada' });
    const refused = await post('/api/person.json', [
      { name: 'a', email: 'a' },
      { name: 'b', email: 'ada' },
    ]);
    expect([refused.status, refused.json.code, refused.json.index]).toEqual([409, 'conflict_unique', 1]);
    expect(await names()).toEqual(['Ada']);
  });

  test('PATCH names the item that takes the value of another row, in either order', async () => {
    await post('/api/person.json', [{ name: 'a', email: 'a' }, { name: 'b' }, { name: 'c', email: 'c' }]);
    for (const [list, index] of [
      [
        [
          { id: 1, name: 'x' },
          { id: 2, email: 'c' },
        ],
        1,
      ],
      [
        [
          { id: 3, email: 'a' },
          { id: 1, name: 'x' },
        ],
        0,
      ],
      [
        [
          { id: 1, name: 'x' },
          { id: 3, email: 'a' },
        ],
        1,
      ],
      [
        [
          { id: 1, email: 'n' },
          { id: 2, name: 'x' },
          { id: 3, email: 'n' },
        ],
        2,
      ],
    ] as const) {
      const refused = await patch('/api/person.json', list);
      expect([refused.status, refused.json.code, refused.json.index]).toEqual([409, 'conflict_unique', index]);
    }
    expect(await names()).toEqual(['a', 'b', 'c']);
  });

  test.each([
    ['another field', { id: 1, name: 'a' }],
    ['a misspelt _if_match', { id: 1, if_match: '*' }],
    ['a type', { id: 1, type: 'person' }],
  ])('DELETE rejects an item with %s', async (_, item) => {
    await post('/api/person.json', [{ name: 'a' }, { name: 'b' }]);
    const refused = await remove('/api/person.json', [{ id: 2 }, item]);
    expect([refused.status, refused.json.code, refused.json.index]).toEqual([400, 'unknown_field', 1]);
    expect(await names()).toEqual(['a', 'b']);
  });

  test('a list that is too long returns 413, and its items are not read', async () => {
    const refused = await post('/api/person.json', new Array(100_000).fill(1));
    expect([refused.status, refused.json.code]).toEqual([413, 'too_many_items']);
  });

  test('an empty list changes nothing', async () => {
    expect((await post('/api/person.json', [])).json).toEqual({ count: 0, results: [] });
    expect((await patch('/api/person.json', [])).json).toEqual({ count: 0, results: [] });
    expect((await remove('/api/person.json', [])).status).toBe(204);
  });

  test('PATCH changes the rows of a list and returns them in its order, with few statements', async () => {
    await post(
      '/api/person.json',
      Array.from({ length: 100 }, (_, i) => ({ name: `n${i}` })),
    );
    app.statements.length = 0;
    const list = Array.from({ length: 100 }, (_, i) => ({ id: 100 - i, age: i, ...(i === 5 && { name: 'five' }) }));
    const changed = await patch('/api/person.json', list);
    expect([changed.status, changed.json.count]).toEqual([200, 100]);
    expect(changed.json.results.map(({ id, age }: any) => ({ id, age }))).toEqual(list.map(({ id, age }) => ({ id, age })));
    expect(changed.json.results[5]).toMatchObject({ id: 95, name: 'five', age: 5 });
    expect(app.statements.length).toBeLessThan(12);
  });

  test.each([
    ['a missing id', [{ id: 1, name: 'x' }, { name: 'y' }], 400, 'invalid_list', 1],
    ['null as an id', [{ id: null }], 400, 'invalid_list', 0],
    ['an object as an id', [{ id: {} }], 400, 'invalid_list', 0],
    ['the same id twice', [{ id: 1 }, { id: 2 }, { id: 1 }], 400, 'duplicate_item', 2],
    ['an unknown id', [{ id: 1, name: 'x' }, { id: 99 }], 404, 'entity_not_found', 1],
    ['an id that cannot exist', [{ id: 1 }, { id: -1.5 }], 404, 'entity_not_found', 1],
    ['_if_match that is not a text', [{ id: 1, _if_match: 5 }], 400, 'invalid_list', 0],
    ['_if_match that is not a tag', [{ id: 1, _if_match: 'x' }], 400, 'invalid_precondition', 0],
  ])('PATCH and DELETE refuse %s with the index of the item', async (_, list, status, code, index) => {
    await post('/api/person.json', [{ name: 'a' }, { name: 'b' }, { name: 'c' }]);
    for (const send of [patch, remove]) {
      const refused = await send('/api/person.json', list);
      expect([refused.status, refused.json.code, refused.json.index]).toEqual([status, code, index]);
    }
    expect(await names()).toEqual(['a', 'b', 'c']);
  });

  test.each(['PATCH', 'DELETE'])('%s needs a list', async (method) => {
    const refused = await app.request(method, '/api/person.json', { json: { id: 1 } });
    expect([refused.status, refused.json.code]).toEqual([400, 'invalid_list']);
    const missing = await app.request(method, '/api/person.json');
    expect([missing.status, missing.json.code]).toEqual([400, 'invalid_list']);
    const tagged = await app.request(method, '/api/person.json', { json: [{ id: 1 }], headers: { 'if-match': '*' } });
    expect([tagged.status, tagged.json.code]).toEqual([400, 'bad_request']);
  });

  test('DELETE removes the rows of a list, and names the item that another row refers to', async () => {
    await post('/api/center.json', [{ name: 'a' }, { name: 'b' }, { name: 'c' }]);
    await post('/api/person.json', { name: 'Ada', center: { id: 2 } });
    const refused = await remove('/api/center.json', [{ id: 1 }, { id: 2 }]);
    expect([refused.status, refused.json.code, refused.json.index]).toEqual([409, 'conflict_reference', 1]);
    app.statements.length = 0;
    expect((await remove('/api/center.json', [{ id: 3 }, { id: 1 }])).status).toBe(204);
    expect(app.statements.filter((sql) => /delete/i.test(sql))).toHaveLength(1);
    expect((await app.request('GET', '/api/center.json')).json.results.map(({ id }: any) => id)).toEqual([2]);
  });

  test('application code runs once for each item and step', async () => {
    const as = { id: 'ada' };
    const created = await post(
      '/api/note.json',
      [
        { text: 'a', owner: 'ada' },
        { text: 'b', owner: 'ada' },
      ],
      { as },
    );
    expect(created.json).toMatchObject({ count: 2, results: [{ text: 'a', version: 1 }, { text: 'b' }] });
    expect(calls).toEqual(['vote NOTE_ADD -', 'beforeValidation a a', 'beforeValidation b b', 'afterCommit a', 'afterCommit b']);
    calls.length = 0;
    const changed = await patch(
      '/api/note.json',
      [
        { id: 2, text: 'B' },
        { id: 1, text: 'A' },
      ],
      { as },
    );
    expect(changed.json.results).toMatchObject([
      { id: 2, text: 'B', version: 2 },
      { id: 1, text: 'A', version: 2 },
    ]);
    expect(calls).toEqual([
      'customizeQuery _entity',
      'afterFetch b 2',
      'vote NOTE_CHANGE ada',
      'afterFetch a 1',
      'vote NOTE_CHANGE ada',
      'beforeValidation B B',
      'beforeValidation A A',
      'afterCommit B',
      'afterCommit A',
    ]);
  });

  test('each row is checked: a denied or hidden row keeps all from being written', async () => {
    const notes = [
      { text: 'a', owner: 'ada' },
      { text: 'b', owner: 'bob' },
      { text: 'hidden', owner: 'ada' },
    ];
    await post('/api/note.json', notes, { as: { id: 'ada' } });
    for (const send of [patch, remove]) {
      const denied = await send(
        '/api/note.json',
        [
          { id: 1, text: 'x' },
          { id: 2, text: 'x' },
        ],
        { as: { id: 'ada' } },
      );
      expect([denied.status, denied.json.code, denied.json.index]).toEqual([403, 'access_denied', 1]);
      const hidden = await send(
        '/api/note.json',
        [
          { id: 1, text: 'x' },
          { id: 3, text: 'x' },
        ],
        { as: { id: 'ada' } },
      );
      expect([hidden.status, hidden.json.code, hidden.json.index]).toEqual([404, 'entity_not_found', 1]);
      const anonymous = await send('/api/note.json', [{ id: 1, text: 'x' }]);
      expect(anonymous.status).toBe(401);
    }
    const { results } = (await app.request('GET', '/api/note.json')).json;
    expect(results.map(({ text }: any) => text)).toEqual(['a', 'b']);
  });

  test('_if_match is compared with the row of its item', async () => {
    const as = { id: 'ada' };
    await post(
      '/api/note.json',
      [
        { text: 'a', owner: 'ada' },
        { text: 'b', owner: 'ada' },
      ],
      { as },
    );
    const [a, b] = await Promise.all(
      [1, 2].map(async (id) => (await app.request('GET', `/api/note/${id}.json`)).headers.get('etag')),
    );
    const stale = await patch(
      '/api/note.json',
      [
        { id: 1, text: 'x', _if_match: a },
        { id: 2, text: 'x', _if_match: a },
      ],
      { as },
    );
    expect([stale.status, stale.json.code, stale.json.index]).toEqual([412, 'precondition_failed', 1]);
    const fresh = await patch(
      '/api/note.json',
      [
        { id: 1, text: 'x', _if_match: a },
        { id: 2, text: 'y', _if_match: b },
      ],
      { as },
    );
    expect([fresh.status, fresh.json.results.map(({ text }: any) => text)]).toEqual([200, ['x', 'y']]);
    expect((await remove('/api/note.json', [{ id: 1, _if_match: a }], { as })).status).toBe(412);
  });

  test('PATCH moves a unique value from one row to another, and both get a new version', async () => {
    const as = { id: 'ada' };
    const owner = 'ada';
    await post(
      '/api/note.json',
      [
        { text: 'a', owner },
        { text: 'b', owner, place: 2 },
      ],
      { as },
    );
    const moved = await patch(
      '/api/note.json',
      [
        { id: 1, place: 2 },
        { id: 2, place: null, text: 'c' },
      ],
      { as },
    );
    expect([moved.status, moved.json.results?.map(({ text }: any) => text)]).toEqual([200, ['a', 'c']]);
    for (const { version } of moved.json.results) expect(version).toBeGreaterThan(1);
    const taken = await post('/api/note.json', [{ text: 'd', owner, place: 2 }], { as });
    expect([taken.status, taken.json.index]).toEqual([409, 0]);
  });

  test('a list has one idempotency key', async () => {
    const headers = { 'idempotency-key': 'k1' };
    const list = [{ name: 'a' }, { name: 'b' }];
    const first = await post('/api/person.json', list, { headers });
    const again = await post('/api/person.json', list, { headers });
    expect([first.status, again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 201, 'true']);
    expect(again.json).toEqual(first.json);
    expect((await post('/api/person.json', [{ name: 'c' }], { headers })).json.code).toBe('idempotency_key_reused');
    expect(await names()).toEqual(['a', 'b']);
  });

  test('keys that could change prototypes are rejected', async () => {
    for (const body of ['[{"name":"a","__proto__":{"x":1}}]', '[{"name":"a","constructor":{"prototype":{}}}]']) {
      const refused = await app.request('POST', '/api/person.json', { body, headers: { 'content-type': 'application/json' } });
      expect(refused.status).toBe(400);
    }
  });
});
