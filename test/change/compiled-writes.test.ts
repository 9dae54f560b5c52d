import { defineEntity, p } from '@mikro-orm/core';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { kinds } from '../query/random-model.ts';
import { type DatabaseKind, databases, freshDatabase } from '../support/databases.ts';
import { casesOn } from '../support/random.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

const runs = Number(process.env.FC_RUNS ?? 4);

const kindNames = Object.keys(kinds) as (keyof typeof kinds)[];

/** A model with a column of every kind, a required one, a to-one and a many-to-many; none has code. */
function models() {
  const Maker = defineEntity({
    name: 'Maker',
    properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
  });
  const Tag = defineEntity({
    name: 'Tag',
    properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
  });
  const columns = Object.fromEntries(
    kindNames.map((kind) => [kind, (kinds[kind].make() as Any).nullable().groups('read', 'write')]),
  );
  const Item = defineEntity({
    name: 'Item',
    properties: {
      id: p.integer().primary().groups('read'),
      code: p.string().length(10).unique().groups('read', 'write'),
      status: p.string().default('new').groups('read', 'write'),
      hidden: p.string().default('kept'),
      notes: p.json().nullable().groups('write'),
      serial: p
        .integer()
        .onCreate(() => 7)
        .groups('read'),
      ...columns,
      maker: () => p.manyToOne(Maker).nullable().groups('read', 'write'),
      tags: () => p.manyToMany(Tag).groups('read'),
    },
  } as Any);
  return { Item, Maker, Tag };
}

function options(url: string, compiledReads: boolean) {
  const { Item, Maker, Tag } = models();
  const association = { association: { property: 'tags' }, methods: { POST: true, DELETE: true } };
  return {
    app_main: {
      database: { url, schema: 'update' as const },
      apis: {
        item: {
          class: Item,
          base_path: '/item',
          actions: {
            _index: { methods: { GET: true, POST: true } },
            _entity: { methods: { GET: true, PATCH: true, PUT: true, DELETE: true } },
            tags: association,
          },
        },
      },
    },
    models: [Item, Maker, Tag],
    seed: async (em: Any) => {
      for (const id of [1, 2, 3]) {
        em.create(Maker, { id, name: `maker ${id}` });
        em.create(Tag, { id, name: `tag ${id}` });
        em.create(Item, { code: `c${id}`, tags: id === 3 ? [] : [id] });
      }
      await em.flush();
    },
    compiledReads,
  };
}

function jsonOf(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  return Buffer.isBuffer(value) ? value.toString('base64') : value;
}

const columnValue = fc
  .constantFrom(...kindNames)
  .chain((kind) =>
    fc
      .oneof({ weight: 8, arbitrary: kinds[kind].value.map(jsonOf) }, fc.constantFrom(null, '', 'x', 5, true, [], {}))
      .map((value) => [kind, value] as const),
  );
const id = fc.constantFrom(1, 2, 3, 4, 5, 99);
const reference = fc.oneof(
  { weight: 6, arbitrary: fc.record({ id }) },
  fc.constantFrom<unknown>(null, 5, { id: '1' }, { type: 'maker', id: 1 }, { type: 'tag', id: 1 }, { id: 1, name: 'x' }, {}),
);
const further = fc.oneof(
  { weight: 3, arbitrary: fc.record({ code: fc.constantFrom('c1', 'c2', 'd', 'e', 'f', 'far too long', '') }) },
  fc.record({ maker: reference }),
  fc.record({ notes: kinds.json.value }),
  fc.record({ status: fc.constantFrom('', 'old', null) }),
  fc.constantFrom({}, { nothing: 1 }, { hidden: 'x' }, { id: 1 }, { serial: 1 }, { type: 'item' }),
);
const body = fc
  .tuple(fc.array(columnValue, { maxLength: 4 }), fc.array(further, { maxLength: 2 }))
  .map(([columns, others]) => Object.assign({}, Object.fromEntries(columns), ...others));

interface ListQuery {
  readonly method: 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly payload?: unknown;
}

const request: fc.Arbitrary<ListQuery> = fc.oneof(
  fc.record({
    method: fc.constant('POST' as const),
    url: fc.constant('/item.json'),
    payload: body.map((given) => ({ code: 'g', ...given })),
  }),
  fc.record({
    method: fc.constantFrom('PATCH' as const, 'PATCH' as const, 'PUT' as const),
    url: id.map((key) => `/item/${key}.json`),
    payload: body,
  }),
  fc.record({
    method: fc.constantFrom('POST' as const, 'DELETE' as const),
    url: id.map((key) => `/item/${key}/tags.json`),
    payload: reference,
  }),
  fc.record({
    method: fc.constant('DELETE' as const),
    url: fc.constantFrom('/item/1.json', '/item/2.json', '/item/9.json', '/item/1.json?x=1'),
  }),
);

/** Always tried: writes that are compiled for certain. */
const plainWrites: ListQuery[] = [
  { method: 'POST', url: '/item.json', payload: { code: 'plain' } },
  { method: 'PATCH', url: '/item/1.json', payload: { status: 'old' } },
];

const taken = { answers: 0, compiled: 0, succeeded: 0 };

async function answer({ app, statements }: TestApplication, { method, payload, url }: ListQuery) {
  statements.length = 0;
  const hasBody = payload !== undefined;
  const response = await app.inject({
    method,
    url,
    ...(hasBody && { headers: { 'content-type': 'application/json' }, payload: JSON.stringify(payload) }),
  });
  // two databases are two applications, whose tags differ in all but their kind
  const { date: _, 'x-request-id': __, etag, ...headers } = response.headers;
  return {
    method,
    url,
    payload,
    status: response.statusCode,
    text: response.body,
    headers,
    tag: String(etag).replace(/[0-9a-f]{16}/g, '#'),
  };
}

async function compare(database: DatabaseKind, requests: readonly ListQuery[]): Promise<void> {
  const fresh = [await freshDatabase(database), await freshDatabase(database)] as const;
  const plain = await startApplication(options(fresh[0].url, false) as Any);
  const compiled = await startApplication(options(fresh[1].url, true) as Any);
  try {
    for (const asked of [...requests, { method: 'GET', url: '/item.json' } as unknown as ListQuery]) {
      const expected = await answer(plain, asked);
      const given = await answer(compiled, asked);
      expect(given).toEqual(expected);
      taken.answers++;
      if (expected.status < 300 && asked.payload !== undefined) {
        taken.succeeded++;
        if (compiled.statements.length <= 3 && !compiled.statements.some((sql) => /^begin/i.test(sql))) taken.compiled++;
      }
    }
    const notes = ({ application }: TestApplication) =>
      application.mapper.em.fork().execute('select id, notes from item order by id');
    expect(await notes(compiled)).toEqual(await notes(plain));
  } finally {
    await compiled.close();
    await plain.close();
    await Promise.all(fresh.map((each) => each.drop()));
  }
}

describe.each(databases)('writes on %s', (database) => {
  test('have the same effects and responses, compiled or through entities', { timeout: 600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 5, maxLength: 15 }), (requests) => compare(database, requests)),
      { numRuns: runs, examples: [[plainWrites]], ...casesOn(database) },
    );
  });
});

afterAll(() => {
  // a comparison of the entity path with itself would prove nothing
  expect(taken.compiled).toBeGreaterThan(taken.succeeded > 200 ? taken.succeeded / 4 : 0);
  if (process.env.FC_RUNS) console.log(taken);
});
