import { defineEntity, type EntityManager, p } from '@mikro-orm/core';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, type ModelQuery } from '../../src/index.ts';
import { type DatabaseKind, databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { casesOn } from '../support/random.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';
import { type ColumnKind, kinds } from './random-model.ts';

const runs = Number(process.env.FC_RUNS ?? 1);

type Any = any;

const sortable = [
  'integer',
  'smallint',
  'bigint',
  'bigintText',
  'bigintNumber',
  'decimal',
  'wideDecimal',
  'decimalNumber',
  'float',
  'double',
  'boolean',
  'string',
  'text',
  'character',
  'uuid',
  'date',
  'time',
  'datetime',
  'datetime3',
  'datetime6',
  'localDatetime',
  'enum',
  'numberEnum',
] as const satisfies readonly ColumnKind[];

interface Column {
  readonly kind: (typeof sortable)[number];
  readonly nullable: boolean;
  /** So few values that rows share them. */
  readonly values: readonly unknown[];
}

interface Shelf {
  readonly key: 'integer' | 'bigint' | 'uuid' | 'string';
  readonly columns: readonly Column[];
  readonly sort: readonly string[];
  /** Of each row: which value of each column, which of the three boxes it is in, and whether the restricted list shows it. */
  readonly rows: readonly { readonly picks: readonly number[]; readonly box: number; readonly shown: boolean }[];
  readonly size: number;
  readonly seed: number;
}

const column: fc.Arbitrary<Column> = fc.constantFrom(...sortable).chain((kind) =>
  fc.record({
    kind: fc.constant(kind),
    nullable: fc.boolean(),
    values: fc.array(kinds[kind].value as fc.Arbitrary<unknown>, { minLength: 3, maxLength: 3 }),
  }),
);

/** The places that a column can be sorted at: in the row, in an embeddable of it, in the box that it is in, in that one's embeddable. */
const places = ['', 'lid.', 'box.', 'box.lid.'];

const shelf: fc.Arbitrary<Shelf> = fc.record({
  key: fc.constantFrom('integer', 'bigint', 'uuid', 'string'),
  columns: fc.array(column, { minLength: 2, maxLength: 3 }),
  sort: fc.uniqueArray(
    fc
      .tuple(fc.boolean(), fc.constantFrom(...places), fc.nat(1))
      .map(([down, place, index]) => `${down ? '-' : ''}${place}field${index}`),
    { maxLength: 3, selector: (path) => path.replace('-', '') },
  ),
  rows: fc.array(
    fc.record({ picks: fc.array(fc.nat(3), { minLength: 12, maxLength: 12 }), box: fc.nat(3), shown: fc.boolean() }),
    { maxLength: 14 },
  ),
  size: fc.integer({ min: 1, max: 5 }),
  seed: fc.nat(),
});

/** Always tried: its lists have several pages, which not every few of the random ones have. */
const known = fc.sample(
  shelf.filter(({ rows, size }) => rows.filter(({ shown }) => shown).length > 2 * size),
  { seed: 4, numRuns: 1 },
);

function modelsOf({ columns, key }: Shelf): Any[] {
  const fields = () =>
    Object.fromEntries(
      columns.map(({ kind, nullable }, i) => {
        const property = (kinds[kind] as Any).make();
        return [`field${i}`, (nullable ? property.nullable() : property).groups('read')];
      }),
    );
  const keys: Record<Shelf['key'], () => Any> = {
    integer: () => p.integer().autoincrement(false),
    bigint: () => p.bigint().autoincrement(false),
    uuid: () => p.uuid(),
    string: () => p.string(),
  };
  const Lid = defineEntity({ name: 'Lid', embeddable: true, properties: fields() } as Any) as Any;
  const lid = () => (p.embedded(Lid) as Any).groups('read');
  const Box = defineEntity({ name: 'Box', properties: { id: p.integer().primary().groups('read'), ...fields(), lid } } as Any);
  const Thing = defineEntity({
    name: 'Thing',
    properties: {
      id: keys[key]().primary().groups('read'),
      ...fields(),
      lid,
      shown: p.boolean(),
      box: () => (p.manyToOne(Box as Any) as Any).nullable().groups('read'),
    },
  } as Any);
  return [Thing, Box, Lid];
}

class ShownController extends ApiController {
  override customizeQuery(_action: string, _request: ApiRequest, query: ModelQuery<object>): void {
    query.andWhere({ shown: true } as never);
  }
}

function applicationOf(made: Shelf, url: string, compiledReads: boolean) {
  const models = modelsOf(made);
  const shared = { class: models[0], actions: { _index: null }, default_sort: [...made.sort] };
  return {
    app_main: {
      apis: {
        all: { ...shared, base_path: '/all' },
        shown: { ...shared, base_path: '/shown', controller: ShownController },
      },
      database: { url, schema: compiledReads ? ('none' as const) : ('update' as const) },
    },
    models,
    controllers: [ShownController],
    compiledReads,
  };
}

function fill(em: EntityManager, { columns, key, rows }: Shelf): Promise<void> {
  const fieldsOf = (picks: readonly number[]) =>
    Object.fromEntries(
      columns.map(({ nullable, values }, i) => {
        const pick = picks[i] as number;
        return [`field${i}`, pick === 3 ? (nullable ? null : values[0]) : values[pick]];
      }),
    );
  const boxes = [0, 1, 2].map((id) => {
    const picks = rows[id]?.picks ?? Array.from({ length: 12 }, (_, i) => (i + id) % 3);
    return em.create('Box' as Any, { id: id + 1, ...fieldsOf(picks.slice(3)), lid: fieldsOf(picks.slice(6)) } as Any);
  });
  const keys = {
    integer: (i: number) => (i * 7) % 15,
    bigint: (i: number) => BigInt((i * 7) % 15) + (i % 2 === 0 ? 2n ** 60n : 0n),
    uuid: (i: number) => `${String((i * 7) % 15).padStart(8, '0')}-0000-4000-8000-00000000000a`,
    string: (i: number) => `${'zéA a_'[(i * 7) % 6]}${i}`,
  };
  for (const [i, { box, picks, shown }] of rows.entries()) {
    const values = { ...fieldsOf(picks), lid: fieldsOf(picks.slice(9)), shown, box: boxes[box] ?? null };
    em.create('Thing' as Any, { id: keys[key](i), ...values } as Any);
  }
  return em.flush();
}

/** What PostgreSQL keeps and JavaScript does not: some rows differ in nothing else. */
async function addMicroseconds(em: Any, { columns }: Shelf): Promise<void> {
  for (const [i, { kind }] of columns.entries()) {
    if (kind !== 'datetime6') continue;
    const shifted = `field${i} + (random() * 900)::int * interval '0.000001 seconds'`;
    await em.execute(`update thing set field${i} = ${shifted} where field${i} < '9999-01-01'`);
  }
}

async function textOf(application: TestApplication, path: string): Promise<string> {
  const { body, statusCode } = await application.app.inject(path);
  expect([path, statusCode]).toEqual([path, 200]);
  return body;
}

/** The pages from one on, by its links, as they came. */
async function follow(application: TestApplication, path: string, link: 'next' | 'previous'): Promise<string[]> {
  const pages: string[] = [];
  for (let at: string | null = path; at !== null; ) {
    const text = await textOf(application, at);
    pages.push(text);
    at = JSON.parse(text).pagination[link];
    if (at !== null) expect(at).toMatch(link === 'next' ? /&after=/ : /&before=/);
    expect(pages.length).toBeLessThan(100);
  }
  return pages;
}

describe.each(databases)('pages on %s', (database) => {
  test('are the same by next and previous links as by page number', { timeout: 300_000 + runs * 30_000 }, async () => {
    let sought = 0;
    await fc.assert(
      fc.asyncProperty(shelf, async (made) => {
        const fresh = await freshDatabase(database);
        const plain = await startApplication(applicationOf(made, fresh.url, false));
        const compiled = await startApplication(applicationOf(made, fresh.url, true));
        try {
          const em = plain.application.mapper.em.fork() as Any;
          await fill(em, made);
          if (database === 'postgresql') await addMicroseconds(em, made);
          for (const list of ['/all', '/shown']) {
            const whole = JSON.parse(await textOf(compiled, `${list}.json?items_per_page=200`)).results;
            const pages = await follow(compiled, `${list}.json?items_per_page=${made.size}`, 'next');
            expect(pages.flatMap((text) => JSON.parse(text).results)).toEqual(whole);
            expect(await follow(plain, `${list}.json?items_per_page=${made.size}`, 'next')).toEqual(pages);
            for (const [i, text] of pages.entries())
              expect(await textOf(compiled, `${list}.json?items_per_page=${made.size}&page=${i + 1}`)).toBe(text);
            const last = `${list}.json?items_per_page=${made.size}&page=${pages.length}`;
            expect(await follow(compiled, last, 'previous')).toEqual(pages.toReversed());
            expect(await follow(plain, last, 'previous')).toEqual(pages.toReversed());
            sought += pages.length - 1;
          }
        } finally {
          await plain.close();
          await compiled.close();
          await fresh.drop();
        }
      }),
      {
        numRuns: runs,
        examples: known.map((made) => [made]),
        ...casesOn(database),
        endOnFailure: process.env.FC_SHRINK === undefined,
      },
    );
    expect(sought).toBeGreaterThan(0);
  });
});

const Row = defineEntity({
  name: 'Row',
  properties: {
    id: p.integer().primary().autoincrement(false).groups('read'),
    rank: p.integer().nullable().groups('read'),
    name: p.string().groups('read'),
    stays: p.boolean().groups('read'),
  },
});

type Change = { readonly what: 'insert'; readonly id: number; readonly rank: number | null } | { readonly what: 'delete' };

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    what: fc.constant('insert' as const),
    id: fc.integer({ min: 0, max: 200 }),
    rank: fc.option(fc.nat(3)),
  }),
  fc.record({ what: fc.constant('delete' as const) }),
);

describe.each(databases)('pages during concurrent writes on %s', (database: DatabaseKind) => {
  let fresh: FreshDatabase;
  let apps: Record<'compiled' | 'plain', TestApplication>;
  beforeAll(async () => {
    fresh = await freshDatabase(database);
    const lists = [[], ['rank'], ['-rank', 'name'], ['name', '-rank']];
    const apis = Object.fromEntries(
      lists.map((sort, i) => [
        `list${i}`,
        { class: Row, base_path: `/list${i}`, default_sort: sort, actions: { _index: null } } as const,
      ]),
    );
    const start = (compiledReads: boolean) =>
      startApplication({
        app_main: { apis, database: { url: fresh.url, schema: compiledReads ? 'none' : 'update' } },
        models: [Row],
        compiledReads,
      });
    apps = { plain: await start(false), compiled: await start(true) };
  });
  afterAll(async () => {
    await apps?.plain.close();
    await apps?.compiled.close();
    await fresh?.drop();
  });

  test('return each row that exists throughout once and in order, in both directions', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('compiled', 'plain'),
        fc.nat(3),
        fc.integer({ min: 1, max: 4 }),
        fc.uniqueArray(fc.record({ id: fc.integer({ min: 0, max: 200 }), rank: fc.option(fc.nat(3)), stays: fc.boolean() }), {
          selector: ({ id }) => id,
          maxLength: 20,
        }),
        fc.array(change, { maxLength: 40 }),
        async (path, list, size, rows, changes) => {
          const app = apps[path as 'compiled'];
          const em = apps.plain.application.mapper.em.fork() as EntityManager;
          await em.nativeDelete(Row, {});
          await em.insertMany(
            Row,
            rows.map((row) => ({ ...row, name: `n${row.id % 3}` })),
          );
          const pending = [...changes];
          const passing = new Set(rows.filter(({ stays }) => !stays).map(({ id }) => id));
          const taken = new Set(rows.map(({ id }) => id));
          const alter = async () => {
            for (const made of pending.splice(0, 2)) {
              const [id] = passing;
              if (made.what === 'insert' && !taken.has(made.id)) {
                taken.add(made.id);
                passing.add(made.id);
                await em.insert(Row, { id: made.id, rank: made.rank, name: `n${made.id % 3}`, stays: false });
              } else if (made.what === 'delete' && id !== undefined) {
                passing.delete(id);
                await em.nativeDelete(Row, { id });
              }
            }
          };
          const walk = async (from: string | null, link: 'next' | 'previous') => {
            const found: { id: number; stays: boolean }[][] = [];
            let last = { results: [], pagination: { next: null, previous: null } };
            for (let at = from; at !== null; at = last.pagination[link]) {
              last = JSON.parse(await textOf(app, at));
              found.push(last.results);
              expect(found.length).toBeLessThan(200);
              await alter();
            }
            return { pages: found, last };
          };
          const staying = (found: { id: number; stays: boolean }[]) => found.flatMap(({ id, stays }) => (stays ? [id] : []));
          const whole = JSON.parse(await textOf(app, `/list${list}.json?items_per_page=200`)).results;
          const forwards = await walk(`/list${list}.json?items_per_page=${size}`, 'next');
          expect(staying(forwards.pages.flat())).toEqual(staying(whole));
          const { results, pagination } = forwards.last;
          const backwards = await walk(pagination.previous, 'previous');
          expect(staying([...backwards.pages.toReversed().flat(), ...results])).toEqual(staying(whole));
        },
      ),
      { numRuns: runs * 3, ...casesOn(database) },
    );
  });
});
