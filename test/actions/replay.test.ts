import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { replay } from '../../src/actions/idempotency/replay.ts';
import { groupsKey } from '../../src/model/groups.ts';
import { RowChanged, readVersion } from '../../src/query/rows/row-version.ts';
import type { JsonReply } from '../../src/response/json-reply.ts';
import { stateOf } from '../../src/store/request-state.ts';
import { memoryMapper, metaNamed } from '../support/memory-mapper.ts';

type Any = any;

const Item = defineEntity({ name: 'Item', properties: { id: p.integer().primary(), name: p.string() } });
const Tag = defineEntity({ name: 'Tag', properties: { id: p.integer().primary(), name: p.string() } });
const mapper = await memoryMapper(Item, Tag);
const meta = metaNamed(mapper, 'Item');
const execute = (sql: string): Promise<Any[]> => mapper.em.fork().execute(sql) as never;
beforeAll(async () => {
  for (const table of ['item', 'tag']) await execute(`create table ${table} (id integer primary key, name text not null)`);
});
afterAll(() => mapper.close());

/** The names of rows that the caller does not see where others embed them. */
let hidden: string[] = [];
vi.mock('../../src/query/visibility/entity-visibility.ts', () => ({
  EntityVisibility: class {
    async hiddenAmong([{ className }]: Any[], rows: Any[]) {
      const keys = rows.map((row) => `${className} ${typeof row === 'object' ? row.id : row}`);
      return keys.filter((key) => hidden.includes(key));
    }
  },
}));

/** What the application decides about a row of the API, and which restrictions it was asked for. */
let rule: Any;
let known: unknown[] = [];
beforeEach(async () => {
  hidden = [];
  known = [];
  rule = { readsSubject: false, admits: async () => true, restrict: null };
  for (const table of ['item', 'tag']) await execute(`delete from ${table}`);
  await execute("insert into item values (1, 'one'), (2, 'two')");
  await execute("insert into tag values (1, 'red'), (2, 'blue')");
});

const groups = (name: string): Any => ({ read: [name], embedded: [], write: [] });
const stored: Any = { status: 201, headers: { 'content-type': 'text', etag: '"1"', 'x-own': 'kept' }, body: '{"id":1}' };
const asked: unknown[] = [];

/** Repeats a request to which a response was stored. */
async function repeat(given: object, { admission = null, canRender = true }: Any = {}) {
  const request: Any = { method: 'PATCH', headers: {} };
  const state = stateOf(request, mapper);
  state.groups = groups('all');
  asked.length = 0;
  const api: Any = {
    meta,
    framework: { mapper, visibilityOf: () => ({ know: (...about: unknown[]) => known.push(...about) }) },
    rule: () => rule,
    entities: {
      find: async (_: unknown, key: number, restriction: Any) => {
        asked.push(restriction);
        const query = restriction?.clone() ?? state.em.createQueryBuilder(Item as Any);
        const [entity] = await query.andWhere({ id: key }).getResultList();
        return entity ? { entity } : null;
      },
    },
  };
  const rendered: JsonReply[] = [];
  const rerender = async (reply: JsonReply) => {
    rendered.push(reply);
    return { status: reply.status, headers: { ...reply.headers, etag: '"2"' }, body: 'rendered' } as Any;
  };
  const replaying: Any = { admission, api, request, rerender: canRender ? rerender : null };
  const answer: Any = await replay({ ...stored, ...given }, replaying).catch((error: unknown) => error);
  return { answer, rendered, state };
}
const row = { returned: [['Item', '1']], isRow: true };
const returned = { ...stored, headers: { ...stored.headers, 'idempotency-replayed': 'true' } };
const missing = { code: 'entity_not_found', headers: { 'idempotency-replayed': 'true' } };
const unavailable = { code: 'idempotency_answer_too_large', headers: { 'idempotency-replayed': 'true' } };
const restrictedTo = (name: string) => ({ ...rule, restrict: () => (query: Any) => query.andWhere({ name }) });

describe('a stored response', () => {
  test('is returned as it was, to the caller who sees its rows', async () => {
    const { answer, rendered } = await repeat({ ...row, embedded: [['Tag', '1']], groups: groupsKey(groups('all')) });
    expect([answer, rendered]).toEqual([returned, []]);
    expect((await repeat({ body: null })).answer).toEqual({ ...returned, body: null });
  });

  test.each([
    ['a returned row is gone', () => execute('delete from item where id = 1')],
    ['customizeQuery hides a returned row', () => Object.assign(rule, restrictedTo('two'))],
    ['a voter denies a returned row', () => Object.assign(rule, { readsSubject: true, admits: async () => false })],
  ])('returns 404 if %s', async (_, happen) => {
    await happen();
    for (const isRow of [true, false]) expect((await repeat({ ...row, isRow })).answer).toMatchObject(missing);
    expect((await repeat({ ...row, body: undefined })).answer).toMatchObject(missing);
  });

  test('is returned if voters need no row, or grant it', async () => {
    rule = { ...rule, admits: async () => false };
    expect((await repeat(row)).answer).toEqual(returned);
    const admits = vi.fn(async (_: unknown, entity: Any) => entity.name === 'one');
    rule = { ...restrictedTo('one'), readsSubject: true, admits };
    expect((await repeat(row)).answer).toEqual(returned);
    expect(admits).toHaveBeenCalledOnce();
    // embedded rows of the class are seen under the same restriction
    expect(known).toEqual([rule, asked[0]]);
    expect(
      (
        await repeat({
          returned: [
            ['Item', '1'],
            ['Item', '2'],
          ],
        })
      ).answer,
    ).toMatchObject(missing);
  });

  test('of rows of another class returns 404 if one of them would not be embedded', async () => {
    const tags = {
      returned: [
        ['Tag', '1'],
        ['Tag', '2'],
      ],
    };
    expect((await repeat(tags)).answer).toEqual(returned);
    hidden = ['Tag 2'];
    expect((await repeat(tags)).answer).toMatchObject(missing);
    hidden = [];
    await execute('delete from tag where id = 2');
    expect((await repeat(tags)).answer).toMatchObject(missing);
  });

  test.each([
    ['Gone', '1'],
    ['Item', 'no number'],
  ])('returns 404 if the application has no row %s %s any more', async (name, key) => {
    expect((await repeat({ returned: [[name, key]] })).answer).toMatchObject({ ...missing, message: 'no item has this id' });
    expect((await repeat({ ...row, embedded: [[name, key]] })).answer).toMatchObject({ body: 'rendered' });
  });
});

describe('a row whose response cannot be returned', () => {
  test.each<[string, object, () => unknown]>([
    [
      'an embedded row is hidden now',
      {
        embedded: [
          ['Tag', '1'],
          ['Item', '2'],
          ['Tag', '2'],
        ],
      },
      () => hidden.push('Tag 2'),
    ],
    ['other groups apply to the caller', { groups: groupsKey(groups('other')) }, () => 0],
    ['its body was not stored', { body: undefined }, () => 0],
  ])('is rendered again if %s', async (_, given, happen) => {
    happen();
    const { answer, rendered } = await repeat({ ...row, ...given });
    expect(answer).toEqual({
      status: 201,
      headers: { 'x-own': 'kept', etag: '"2"', 'idempotency-replayed': 'rebuilt' },
      body: 'rendered',
    });
    expect(rendered.map(({ headers, status, value }) => [status, headers, (value as Any).name])).toEqual([
      [201, { 'x-own': 'kept' }, 'one'],
    ]);
    // code of the application must not run again, and a list is not rendered
    expect((await repeat({ ...row, ...given }, { canRender: false })).answer).toMatchObject(unavailable);
    expect((await repeat({ ...row, ...given, isRow: false })).answer).toMatchObject(unavailable);
  });

  test('is not looked for if nothing can be returned', async () => {
    await execute('delete from item');
    expect((await repeat({ ...row, body: undefined }, { canRender: false })).answer).toMatchObject(unavailable);
  });
});

describe('the row that the request is about', () => {
  const admitted = async (action: string, restriction: unknown = null) => ({
    action,
    key: 1,
    restriction,
    found: { version: await readVersion(mapper, mapper.em.fork() as Any, meta, 1) },
  });

  test('was checked just now, and is not checked again', async () => {
    rule = { ...rule, readsSubject: true, admits: async () => false };
    expect((await repeat(row, { admission: await admitted('_entity') })).answer).toEqual(returned);
    // other rows are
    expect((await repeat({ returned: [['Item', '2']] }, { admission: await admitted('_entity') })).answer).toMatchObject(missing);
    expect((await repeat({ returned: [['Tag', '1']] }, { admission: await admitted('_entity') })).answer).toEqual(returned);
    hidden = ['Tag 1'];
    expect((await repeat({ returned: [['Tag', '1']] }, { admission: await admitted('_entity') })).answer).toMatchObject(missing);
  });

  test('is rendered through its restriction, if it is the row that was checked', async () => {
    const given = { ...row, body: undefined };
    const admission = await admitted('_entity');
    const { answer, rendered } = await repeat(given, { admission });
    expect([answer.body, (rendered[0] as Any).value.name]).toEqual(['rendered', 'one']);
    await execute("update item set name = 'changed' where id = 1");
    expect((await repeat(given, { admission })).answer).toBeInstanceOf(RowChanged);
    expect((await repeat(given, { admission: { ...admission, found: null } })).answer.body).toBe('rendered');
    const restriction: Any = mapper.em.fork().createQueryBuilder(Item).where({ name: 'other' });
    expect((await repeat(given, { admission: { ...admission, restriction } })).answer).toMatchObject(missing);
    expect(asked).toEqual([restriction]);
  });

  test('has the restriction under which other rows are read, if it was fetched by the default action', async () => {
    rule = restrictedTo('two');
    const restriction: Any = mapper.em.fork().createQueryBuilder(Item).where({ name: 'none' });
    const second = { returned: [['Item', '2']] };
    expect((await repeat(second, { admission: await admitted('_entity', restriction) })).answer).toMatchObject(missing);
    expect((await repeat(second, { admission: await admitted('other', restriction) })).answer).toEqual(returned);
  });
});
