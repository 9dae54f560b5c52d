import { defineEntity, p, UnitOfWork } from '@mikro-orm/core';
import fc from 'fast-check';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { kinds } from '../query/random-model.ts';
import { type DatabaseKind, databases, freshDatabase } from '../support/databases.ts';
import { casesOn } from '../support/random.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

const runs = Number(process.env.FC_RUNS ?? 4);

const kindNames = Object.keys(kinds) as (keyof typeof kinds)[];

/** Version columns of every kind, and none. */
const versions = {
  none: null,
  integer: () => p.integer().version(),
  smallint: () => p.smallint().version(),
  bigint: () => p.bigint('number').version(),
  double: () => p.double().version(),
  'from five': () => p.integer().default(5).version(),
  renamed: () => p.integer().fieldName('counted up').version(),
  time: () => p.datetime().version(),
  seconds: () => p.datetime(0).version(),
  milliseconds: () => p.datetime(3).version(),
  microseconds: () => p.datetime(6).version(),
} satisfies Record<string, (() => Any) | null>;

type VersionKind = keyof typeof versions;

const isTime = (version: VersionKind): boolean => /time|seconds/.test(version);

/** Whether the model has a rule, which is code. */
type IsRuled = boolean;

/**
 * A model with a column of every kind, a required one, a to-one, a many-to-many, and embedded objects with hidden parts. Its rule
 * shows what it gets, and changes some of it.
 */
function models(version: VersionKind, isRuled: IsRuled) {
  const Box = defineEntity({
    name: 'Box',
    embeddable: true,
    properties: {
      label: p.string().length(8).groups('read', 'write'),
      weight: p.decimal().precision(6).scale(2).nullable().groups('read', 'write'),
      sealed: p.datetime(3).nullable().groups('read', 'write'),
      note: p.string().nullable(),
    },
  });
  const Place = defineEntity({
    name: 'Place',
    embeddable: true,
    properties: {
      shelf: p.integer().nullable().groups('read', 'write'),
      row: p.string().nullable().groups('write'),
    },
  });
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
  const Model = defineEntity({
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
      box: () => p.embedded(Box).nullable().groups('read', 'write'),
      place: () => p.embedded(Place).nullable().groups('read', 'write'),
      maker: () => p.manyToOne(Maker).nullable().groups('read', 'write'),
      // MikroORM replaces lists of models with rules
      tags: () => p.manyToMany(Tag).groups('read', ...(isRuled ? [] : ['write'])),
      // two databases write at different times
      ...(versions[version] && { version: isTime(version) ? versions[version]() : versions[version]().groups('read') }),
    },
  } as Any) as Any;
  if (!isRuled) return { Box, Item: Model, Maker, Place, Tag };
  const Ruled = class Item extends Model.class {
    validate(this: Any) {
      const seen = JSON.stringify([this.code, this.status, this.box ?? null, this.place ?? null, this.maker?.id ?? null]);
      if (this.status === 'marked' && this.box) this.box.note = `${this.box.label} ${this.place?.shelf ?? ''}`;
      if (this.status === 'moved') this.place = this.place ? null : { shelf: 7 };
      return this.code === 'seen' || this.box?.label === 'seen' ? [{ propertyPath: 'box.label', title: seen }] : [];
    }
  };
  Model.setClass(Ruled);
  return { Box, Item: Ruled, Maker, Place, Tag };
}

/** Three classes in one table, two of which have fields of their own; one inherits from another. */
function hierarchy(isRuled: IsRuled) {
  const Part = defineEntity({
    name: 'Part',
    abstract: true,
    discriminator: 'kind',
    properties: {
      id: p.integer().primary().groups('read'),
      kind: p.enum(['wheel', 'bolt', 'long']).groups('read'),
      title: p.string().length(10).groups('read', 'write'),
      stock: p.integer().default(3).groups('read', 'write'),
    },
  } as Any) as Any;
  const Wheel = defineEntity({
    name: 'Wheel',
    extends: Part,
    discriminatorValue: 'wheel',
    properties: { spokes: p.integer().groups('read', 'write') },
  } as Any) as Any;
  const Bolt = defineEntity({
    name: 'Bolt',
    extends: Part,
    discriminatorValue: 'bolt',
    properties: { thread: p.string().nullable().groups('read', 'write'), checked: p.string().nullable().groups('read') },
  } as Any) as Any;
  const Long = defineEntity({
    name: 'Long',
    extends: Bolt,
    discriminatorValue: 'long',
    properties: { length: p.integer().nullable().groups('read', 'write') },
  } as Any) as Any;
  if (!isRuled) return { Part, Wheel, Bolt, Long };
  class Ruled extends Wheel.class {
    validate(this: Any) {
      if (this.spokes === 9) this.stock = 90;
      return this.title === 'seen'
        ? [{ propertyPath: 'title', title: JSON.stringify([this.kind, this.spokes, this.stock]) }]
        : [];
    }
  }
  Object.defineProperty(Ruled, 'name', { value: 'Wheel' });
  Wheel.setClass(Ruled);
  return { Part, Wheel: Ruled, Bolt, Long };
}

function options(url: string, compiledReads: boolean, version: VersionKind, isRuled: IsRuled) {
  const { Box, Item, Maker, Place, Tag } = models(version, isRuled);
  const { Part, Wheel, Bolt, Long } = hierarchy(isRuled);
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
        part: {
          class: Part,
          base_path: '/part',
          actions: {
            _index: { methods: { GET: true, POST: true } },
            _entity: { methods: { GET: true, PATCH: true, PUT: true, DELETE: true } },
          },
        },
        bolt: {
          class: Bolt,
          base_path: '/bolt',
          actions: {
            _index: { methods: { GET: true, POST: true } },
            _entity: { methods: { GET: true, PATCH: true, PUT: true, DELETE: true } },
          },
        },
      },
    },
    models: [Box, Item, Maker, Place, Tag, Part, Wheel, Bolt, Long],
    seed: async (em: Any) => {
      for (const id of [1, 2, 3]) {
        em.create(Maker, { id, name: `maker ${id}` });
        em.create(Tag, { id, name: `tag ${id}` });
        const box = id === 1 ? null : { label: `box ${id}`, note: id === 2 ? 'kept' : null };
        em.create([Wheel, Bolt, Long][id - 1], { title: `part ${id}`, spokes: 4 });
        em.create(Item, { code: `c${id}`, box, tags: id === 3 ? [] : [id] });
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
/** Mostly valid, and sometimes with fields that do not exist, that are hidden, or that are missing. */
const box = fc.oneof(
  { weight: 2, arbitrary: fc.record({ label: fc.constantFrom('a', 'b', 'seen') }) },
  {
    weight: 4,
    arbitrary: fc.record(
      {
        label: fc.constantFrom<unknown>('a', 'b', 'seen', 'far too long', null, 5),
        weight: fc.constantFrom<unknown>('1.50', '2', null, 'heavy', 3),
        sealed: fc.constantFrom<unknown>('2026-01-02T03:04:05.678Z', null, 'never'),
      },
      { requiredKeys: [] },
    ),
  },
  fc.constantFrom<unknown>(null, null, {}, { note: 'x' }, { label: 'a', nothing: 1 }, [], 'box'),
);
const place = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ shelf: fc.constantFrom(1, 2, null), row: fc.constantFrom('r', null) }, { requiredKeys: [] }),
  },
  fc.constantFrom<unknown>(null, { shelf: 'x' }, 1),
);
const further = fc.oneof(
  { weight: 4, arbitrary: fc.record({ box }) },
  { weight: 2, arbitrary: fc.record({ place }) },
  { weight: 3, arbitrary: fc.record({ code: fc.constantFrom('c1', 'c2', 'd', 'e', 'f', 'far too long', '', 'seen') }) },
  fc.record({ maker: reference }),
  fc.record({ notes: kinds.json.value }),
  fc.record({ tags: fc.array(reference, { maxLength: 3 }) }),
  { weight: 2, arbitrary: fc.record({ status: fc.constantFrom('', 'old', 'marked', 'moved', null) }) },
  fc.constantFrom({}, { nothing: 1 }, { hidden: 'x' }, { id: 1 }, { serial: 1 }, { type: 'item' }),
);
const body = fc
  .tuple(fc.array(columnValue, { maxLength: 4 }), fc.array(further, { maxLength: 3 }))
  .map(([columns, others]) => Object.assign({}, Object.fromEntries(columns), ...others));

interface ListQuery {
  readonly method: 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly payload?: unknown;
  /** The tag in `If-Match`: of the row as it is, or as it was when the application started. */
  readonly match?: 'current' | 'first' | '*' | null;
  /** Whether the row gets the values that it has. */
  readonly again?: boolean;
}

/**
 * The same JSON with its keys in the order in which PostgreSQL stores them. MikroORM writes a value again if only the order differs,
 * and so makes a new version of the row; statements do not.
 */
function inStoredOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inStoredOrder);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, part]) => [Buffer.from(key), inStoredOrder(part)] as const);
  entries.sort(([a], [b]) => a.length - b.length || a.compare(b));
  return Object.fromEntries(entries.map(([key, part]) => [key.toString(), part]));
}

const plainRequest: fc.Arbitrary<ListQuery> = fc.oneof(
  fc.record({
    method: fc.constant('POST' as const),
    url: fc.constant('/item.json'),
    payload: body.map((given) => ({ code: 'g', ...given })),
  }),
  fc.record({
    method: fc.constant('PATCH' as const),
    url: id.map((key) => `/item/${key}.json`),
    payload: body,
  }),
  fc.tuple(fc.constantFrom(1, 2, 3, 4, 99), body, fc.boolean()).map(([key, given, isWhole]) => ({
    method: 'PUT' as const,
    url: `/item/${key}.json`,
    payload: inStoredOrder({ ...(isWhole && { code: `c${key}` }), ...given }) as object,
  })),
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

const part = fc
  .tuple(
    fc.constantFrom('part', 'part', 'bolt'),
    fc.constantFrom('POST' as const, 'PATCH' as const, 'PUT' as const, 'DELETE' as const),
    fc.constantFrom(1, 2, 3, 4, 5, 9),
    fc.record(
      {
        type: fc.constantFrom('wheel', 'wheel', 'bolt', 'long', 'part', null),
        kind: fc.constantFrom('wheel', 'bolt', 'long'),
        title: fc.constantFrom('a', 'b', 'seen', 'far too long'),
        stock: fc.constantFrom<unknown>(1, 2, null, 'x'),
        spokes: fc.constantFrom(4, 9),
        thread: fc.constantFrom('m4', null),
        length: fc.constantFrom(20, null),
      },
      { requiredKeys: [] },
    ),
    fc.boolean(),
  )
  .map(([api, method, key, given, isValid]): ListQuery => {
    const classes = ['wheel', 'bolt', 'long'] as const;
    const type = classes[key % 3] as 'wheel' | 'bolt' | 'long';
    const own = {
      wheel: { spokes: given.spokes ?? 4 },
      bolt: { thread: given.thread ?? null },
      long: { length: given.length ?? 1 },
    };
    const valid = {
      ...(method === 'POST' && { type }),
      title: given.title ?? 'c',
      ...own[method === 'POST' ? type : (classes[key - 1] ?? type)],
    };
    const payload = isValid ? valid : given;
    if (method === 'POST') return { method, url: `/${api}.json`, payload };
    return { method, url: `/${api}/${key}.json`, ...(method !== 'DELETE' && { payload }) };
  });

const request: fc.Arbitrary<ListQuery> = fc
  .tuple(
    fc.oneof({ weight: 3, arbitrary: plainRequest }, part),
    fc.constantFrom(null, null, null, 'current' as const, 'first' as const, '*' as const),
    fc.boolean(),
  )
  .map(([plain, match, again]) => ({ ...plain, match, again }));

/** Always tried: writes that are compiled for certain. */
const plainWrites: ListQuery[] = [
  { method: 'POST', url: '/item.json', payload: { code: 'plain' } },
  { method: 'PATCH', url: '/item/1.json', payload: { status: 'old' } },
  { method: 'PATCH', url: '/item/1.json', payload: { status: 'old' } },
  { method: 'PATCH', url: '/item/1.json', payload: { status: 'new', tags: [{ id: 3 }] }, match: 'current', again: true },
  { method: 'POST', url: '/item/1/tags.json', payload: { id: 2 }, again: true },
  { method: 'DELETE', url: '/item/1/tags.json', payload: { id: 2 }, again: true },
  { method: 'POST', url: '/item.json', payload: { code: 'boxed', box: { label: 'a', weight: '1.50' }, status: 'marked' } },
  { method: 'PATCH', url: '/item/2.json', payload: { box: { label: 'b' }, place: { shelf: 1 } }, again: true },
  { method: 'PATCH', url: '/item/2.json', payload: { box: null, place: null }, again: true },
  { method: 'PUT', url: '/item/3.json', payload: { code: 'c3', box: { label: 'c' }, maker: { id: 1 } }, again: true },
  {
    method: 'PUT',
    url: '/item/3.json',
    payload: { code: 'c3', integer: 4, tags: [{ id: 1 }, { id: 3 }], maker: { id: 2 } },
    again: true,
  },
  { method: 'DELETE', url: '/item/2.json', match: 'first' },
  { method: 'POST', url: '/part.json', payload: { type: 'wheel', title: 'a', spokes: 9 } },
  { method: 'POST', url: '/part.json', payload: { kind: 'bolt', title: 'a', thread: 'm4' } },
  { method: 'POST', url: '/part.json', payload: { type: 'wheel', title: 'seen', spokes: 1 } },
  { method: 'PATCH', url: '/part/1.json', payload: { spokes: 9 }, match: 'current', again: true },
  { method: 'PATCH', url: '/part/2.json', payload: { spokes: 9 } },
  { method: 'PATCH', url: '/bolt/3.json', payload: { type: 'long', length: 3 } },
  { method: 'PUT', url: '/part/3.json', payload: { title: 'c' } },
  { method: 'DELETE', url: '/bolt/1.json' },
  { method: 'DELETE', url: '/bolt/3.json' },
  { method: 'DELETE', url: '/part/1.json' },
];

const version = fc.constantFrom(...(Object.keys(versions) as VersionKind[]));

const taken = { answers: 0, compiled: 0, succeeded: 0, versioned: 0, ruled: 0 };
/** The successful writes of each form, and how many of them were compiled. */
const forms: Record<string, { succeeded: number; compiled: number }> = {};

function formsOf({ method, payload, url }: ListQuery, isRuled: IsRuled): string[] {
  if (!url.startsWith('/item')) return [`${method} of a hierarchy${isRuled ? ', ruled' : ''}`];
  const embedded = typeof payload === 'object' && payload !== null && ('box' in payload || 'place' in payload);
  return [`${method}${embedded ? ' with embedded objects' : ''}${isRuled ? ', ruled' : ''}`];
}

/** The number of a row in a path. */
const rowIn = (url: string): string | undefined => /^\/(item|part|bolt)\/(\d+)/.exec(url)?.[2];

/** The tags of rows 1 to 3 when an application started. */
const firstTags = new WeakMap<TestApplication, Map<string, string>>();

async function tagOf({ app }: TestApplication, id: string, api = 'item'): Promise<string> {
  return String((await app.inject({ method: 'GET', url: `/${api}/${id}.json` })).headers.etag ?? '"none"');
}

/** Older than all versions that a request can make, so that each change is seen. */
const old = '2001-02-03T04:05:06.000Z';

/** The rows that have a new version, with the digits of a second in which it is stored. Then all rows get an old one. */
async function newVersions({ application }: TestApplication, version: VersionKind): Promise<unknown> {
  if (versions[version] === null) return null;
  const { mapper } = application;
  const em = mapper.em.fork();
  const { properties } = mapper.getMetadata().find('Item' as never) as Any;
  const column = `"${(Object.values(properties) as Any[]).find((property) => property.version).fieldNames[0]}"`;
  const rows = await em.execute(`select id, ${column} as version from item order by id`);
  if (!isTime(version)) return rows.map(({ id: key, version: value }: Any) => [key, typeof value, Number(value)]);
  const isNumber = typeof rows[0]?.version === 'number';
  const times: [number, string, number][] = rows.map(({ id: key, version: value }: Any) => [key, typeof value, +new Date(value)]);
  const changed = times.filter(([, , time]) => time !== Date.parse(old));
  await em.execute(`update item set ${column} = ?`, [isNumber ? Date.parse(old) : old]);
  const isRecent = changed.every(([, , time]) => Math.abs(time - Date.now()) < 600_000);
  // SQLite stores milliseconds whatever the column declares
  const isWhole = version !== 'seconds' || isNumber || changed.every(([, , time]) => time % 1000 === 0);
  return { changed: changed.map(([key, type]) => [key, type]), isRecent, isWhole };
}

async function answer(application: TestApplication, { match = null, method, payload, url }: ListQuery) {
  const { app, statements } = application;
  const row = rowIn(url);
  const tag =
    match === '*'
      ? '*'
      : match === 'first'
        ? firstTags.get(application)?.get(row ?? '')
        : row && (await tagOf(application, row, url.split('/')[1]));
  const precondition = match !== null && tag ? { 'if-match': tag } : {};
  statements.length = 0;
  const hasBody = payload !== undefined;
  const response = await app.inject({
    method,
    url,
    headers: { ...precondition, ...(hasBody && { 'content-type': 'application/json' }) },
    ...(hasBody && { payload: JSON.stringify(payload) }),
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

/** MikroORM's own writes. */
const commits = vi.spyOn(UnitOfWork.prototype, 'commit');

async function compare(
  database: DatabaseKind,
  version: VersionKind,
  isRuled: IsRuled,
  requests: readonly ListQuery[],
): Promise<void> {
  const fresh = [await freshDatabase(database), await freshDatabase(database)] as const;
  const plain = await startApplication(options(fresh[0].url, false, version, isRuled) as Any);
  const compiled = await startApplication(options(fresh[1].url, true, version, isRuled) as Any);
  try {
    for (const side of [plain, compiled]) {
      await newVersions(side, version);
      const tags = new Map<string, string>();
      for (const each of ['1', '2', '3']) tags.set(each, await tagOf(side, each));
      firstTags.set(side, tags);
    }
    const sent = requests.flatMap((asked) => (asked.again ? [asked, asked] : [asked]));
    const lists = ['/item.json', '/part.json'].map((url) => ({ method: 'GET', url }) as unknown as ListQuery);
    for (const asked of [...sent, ...lists]) {
      const expected = await answer(plain, asked);
      commits.mockClear();
      const given = await answer(compiled, asked);
      expect(given).toEqual(expected);
      expect({ version, asked, versions: await newVersions(compiled, version) }).toEqual({
        version,
        asked,
        versions: await newVersions(plain, version),
      });
      taken.answers++;
      if (expected.status < 300 && (asked.payload !== undefined || asked.method === 'DELETE')) {
        taken.succeeded++;
        const isCompiled = commits.mock.calls.length === 0;
        for (const form of formsOf(asked, isRuled)) {
          forms[form] ??= { succeeded: 0, compiled: 0 };
          forms[form].succeeded++;
          if (isCompiled) forms[form].compiled++;
        }
        if (isCompiled) {
          taken.compiled++;
          if (isRuled) taken.ruled++;
          if (version !== 'none') taken.versioned++;
        }
      }
    }
    const hidden = ({ application }: TestApplication) =>
      application.mapper.em.fork().execute('select id, notes, box_note, place_row from item order by id');
    expect(await hidden(compiled)).toEqual(await hidden(plain));
  } finally {
    await compiled.close();
    await plain.close();
    await Promise.all(fresh.map((each) => each.drop()));
  }
}

describe.each(databases)('writes on %s', (database) => {
  test('have the same effects and responses, compiled or through entities', { timeout: 600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(version, fc.boolean(), fc.array(request, { minLength: 5, maxLength: 15 }), (each, isRuled, requests) =>
        compare(database, each, isRuled, requests),
      ),
      {
        numRuns: runs,
        examples: [
          ['none', false, plainWrites],
          ['integer', true, plainWrites],
          ['time', false, plainWrites],
        ],
        ...casesOn(database),
      },
    );
  });
});

afterAll(() => {
  // a comparison of the entity path with itself would prove nothing
  expect(taken.compiled).toBeGreaterThan(taken.succeeded / 4);
  expect(taken.versioned).toBeGreaterThan(taken.compiled / 4);
  expect(taken.ruled).toBeGreaterThan(0);
  if (process.env.FC_RUNS) console.log(taken, forms);
});
