import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ApiController, Normalizer } from '../../src/index.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

/** The smallest limit that can be declared. */
const limit = 1024;

const text = () => p.text().nullable().groups('read');
const define = (name: string, properties: object, more: object = {}): Any =>
  defineEntity({ name, properties: { id: p.integer().primary().groups('read'), ...properties }, ...more } as never);

const Part = define('Part', { text: text() });
const Veiled = define('Veiled', { text: text() });
const Stamp = define('Stamp', { text: text() });
const pageSchema = define(
  'Page',
  {
    kind: p.enum(['page', 'note']),
    name: p.string().groups('read', 'write'),
    text: text(),
    data: p.blob().nullable().groups('read'),
    size: p.integer().nullable().groups('read'),
    serialized: p
      .text()
      .nullable()
      .groups('read')
      .serializer(() => 's'),
    normalized: text(),
    gist: text().persist(false),
    part: () => p.manyToOne(Part).nullable().groups('read'),
    veiled: () => p.manyToOne(Veiled).nullable().groups('read'),
    stamp: () => p.manyToOne(Stamp).nullable().groups('read'),
    parts: () => p.manyToMany(Part).groups('read'),
  },
  { discriminatorColumn: 'kind', discriminatorValue: 'page' },
);
/** The calls of the getter. */
let calls = 0;
class Page extends pageSchema.class {
  get gist() {
    calls++;
    return 'gist'.repeat(limit);
  }
}
pageSchema.setClass(Page);
const Note: Any = defineEntity({
  name: 'Note',
  extends: pageSchema,
  discriminatorValue: 'note',
  properties: { remarkOfTheAuthor: text() },
} as never);

class PartNormalizer extends Normalizer {
  static override properties = ['Page.normalized'];
  static override models = ['Stamp'];
  static override schema = { type: 'string' };
  override normalize() {
    return 'n';
  }
}
/** Makes the API write entities. */
class EntityController extends ApiController {
  override afterFetch() {}
}
class VeiledController extends ApiController {
  override customizeQuery(_action: string, _request: unknown, query: Any) {
    query.andWhere({ id: 1 });
  }
}

let app: TestApplication;
beforeAll(async () => {
  const entity = { _entity: { methods: { GET: true, PATCH: true } } };
  app = await startApplication({
    app_main: {
      server: { response_limit: limit },
      apis: {
        page: { class: 'Page', base_path: '/page', controller: EntityController, actions: entity },
        veiled: { class: Veiled, base_path: '/veiled', controller: VeiledController, actions: entity },
      },
    },
    models: [Part, Veiled, Stamp, pageSchema, Note],
    controllers: [EntityController, VeiledController],
    normalizers: [PartNormalizer],
    databaseUrl: 'sqlite::memory:',
  } as Any);
});
afterAll(() => app?.close());

const execute = (sql: string, values: unknown[] = []): Promise<Any> =>
  app.application.mapper.em.fork().execute(sql, values as never);

/** The names of the fields that every page has, with its references. */
const names = ['id', 'name', 'text', 'data', 'size', 'part', 'veiled', 'stamp', 'parts'].join('').length;
const namesOfPart = 'idtext'.length;

/** Texts of the columns and rows of a page: how much of each counts is its second number. */
const shapes: [title: string, counted: number, columns: Record<string, unknown>, parts?: number[]][] = [
  ['alone', 0, {}],
  ['with a number', 0, { size: 12345 }],
  ['with bytes', 300, { data: Buffer.alloc(300, 1) }],
  ['with a value that the model serializes', 0, { serialized: 'x'.repeat(2000) }],
  ['with a value that a normalizer replaces', 0, { normalized: 'x'.repeat(2000) }],
  ['with a referenced row', namesOfPart + 200, { part_id: 1 }],
  ['with two rows of a list', 2 * namesOfPart + 200 + 300, {}, [1, 2]],
  ['with a referenced row that may be hidden', 0, { veiled_id: 1 }],
  ['with a referenced row that a normalizer replaces', 0, { stamp_id: 1 }],
  ['of a subclass', 'remarkOfTheAuthor'.length + 100, { kind: 'note', remark_of_the_author: 'x'.repeat(100) }],
];

test.each(shapes)(
  'a change is rolled back if the response is larger than the limit: a page %s',
  async (_, counted, columns, parts = []) => {
    for (const table of ['page_parts', 'page', 'part', 'veiled', 'stamp']) await execute(`delete from ${table}`);
    for (const [id, length] of [
      [1, 200],
      [2, 300],
    ])
      await execute('insert into part (id, text) values (?, ?)', [id, 'p'.repeat(length as number)]);
    for (const table of ['veiled', 'stamp']) await execute(`insert into ${table} (id, text) values (1, ?)`, ['x'.repeat(2000)]);
    const name = 'new';
    const room = limit - names - name.length - counted;
    for (const [size, isWritten] of [
      [room, true],
      [room + 1, false],
      [room + 1000, false],
    ] as const) {
      await execute('delete from page_parts');
      await execute('delete from page');
      const row = { id: 1, kind: 'page', name: 'old', text: 'x'.repeat(size), ...columns };
      const places = Object.keys(row).map(() => '?');
      await execute(`insert into page (${Object.keys(row).join()}) values (${places.join()})`, Object.values(row));
      for (const part of parts) await execute(`insert into page_parts values (1, ${part})`);
      calls = 0;
      const { json, status } = await app.request('PATCH', '/page/1.json', { json: { name } });
      const stored = (await execute('select name from page'))[0].name;
      expect([size - room, status, json.code, stored]).toEqual([
        size - room,
        ...(isWritten ? [200, undefined, name] : [413, 'response_too_large', 'old']),
      ]);
      if (!isWritten) expect(json.detail).toContain(`${limit} bytes`);
      // code of the model runs once, for the response
      expect(calls).toBe(isWritten ? 1 : 0);
    }
  },
);
