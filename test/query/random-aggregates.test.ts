import { defineEntity, p } from '@mikro-orm/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, type ModelQuery } from '../../src/index.ts';
import { databases, freshDatabase } from '../support/databases.ts';
import { casesOn } from '../support/random.ts';
import { startApplication } from '../support/testing.ts';

type Any = any;

const runs = Number(process.env.FC_RUNS ?? 20);

interface Sale {
  readonly type: 'sale' | 'loan';
  readonly kind: string | null;
  readonly isPaid: boolean | null;
  readonly soldOn: string | null;
  /** Cents. */
  readonly amount: number | null;
  readonly views: bigint | null;
  readonly rate: number | null;
  readonly center: number | null;
  readonly tags: readonly number[];
}

const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null, freq: 3 });
const sale: fc.Arbitrary<Sale> = fc.record({
  type: fc.constantFrom('sale', 'loan'),
  kind: maybe(fc.constantFrom('', 'a', 'A', 'é', '😀', "'", '?', 'null')),
  isPaid: maybe(fc.boolean()),
  soldOn: maybe(fc.constantFrom('2025-12-31', '2026-01-01', '2026-01-31', '2026-02-01')),
  amount: maybe(fc.integer({ min: -(10 ** 12), max: 10 ** 12 })),
  views: maybe(fc.bigInt({ min: -(2n ** 63n) + 1n, max: 2n ** 63n - 1n })),
  rate: maybe(fc.integer({ min: -5, max: 5 })),
  center: maybe(fc.constantFrom(1, 2, 3)),
  tags: fc.subarray([1, 2, 3]),
});

interface Asked {
  readonly by: readonly (keyof typeof groupOf)[];
  readonly of: readonly (keyof typeof aggregateOf)[];
  readonly kind: string | null;
  readonly form: 'none' | 'where' | 'join' | 'limit';
  readonly sees: readonly number[];
}

/** The value of a row in a group, as the list would show it to a caller who sees some centers. */
const groupOf = {
  type: ({ type }: Sale) => type,
  kind: ({ kind }: Sale) => kind,
  isPaid: ({ isPaid }: Sale) => isPaid,
  soldOn: ({ soldOn }: Sale) => soldOn,
  'soldOn:month': ({ soldOn }: Sale) => soldOn?.slice(0, 7) ?? null,
  'center.id': ({ center }: Sale, sees: readonly number[]) => (center !== null && sees.includes(center) ? center : null),
  'place.city': ({ isPaid }: Sale) => (isPaid ? 'city' : null),
  rate: ({ rate, type }: Sale) => (type === 'loan' ? rate : null),
};

const jsonOf = (value: bigint) => (Number.isSafeInteger(Number(value)) ? Number(value) : String(value));
const centsOf = (value: bigint) => {
  const digits = String(value < 0n ? -value : value).padStart(3, '0');
  return `${value < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
};
const sumOf = (values: readonly (bigint | null)[]) => {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0n);
};
const cents = ({ amount }: Sale) => (amount === null ? null : BigInt(amount));
const least = (values: readonly (bigint | null)[]) =>
  values
    .filter((value) => value !== null)
    .reduce<bigint | null>((min, value) => (min === null || value < min ? value : min), null);
const written = (value: bigint | null, write: (value: bigint) => unknown) => (value === null ? null : write(value));

const aggregateOf = {
  'amount:sum': (rows: readonly Sale[]) => written(sumOf(rows.map(cents)), centsOf),
  'amount:min': (rows: readonly Sale[]) => written(least(rows.map(cents)), centsOf),
  'views:sum': (rows: readonly Sale[]) => written(sumOf(rows.map(({ views }) => views)), jsonOf),
  'views:min': (rows: readonly Sale[]) => written(least(rows.map(({ views }) => views)), jsonOf),
};

const asked: fc.Arbitrary<Asked> = fc.record({
  by: fc.shuffledSubarray(Object.keys(groupOf) as Asked['by'][number][], { maxLength: 3 }),
  of: fc.shuffledSubarray(Object.keys(aggregateOf) as Asked['of'][number][]),
  kind: maybe(fc.constantFrom('a', 'é', '?', '')),
  form: fc.constantFrom('none', 'where', 'join', 'limit'),
  sees: fc.subarray([1, 2, 3]),
});

class SaleController extends ApiController {
  override customizeQuery(_action: string, { headers }: ApiRequest, query: ModelQuery<Any>): void {
    if (headers['x-form'] === 'where') query.andWhere({ isPaid: true });
    if (headers['x-form'] === 'join') query.leftJoin('e.tags', 't').andWhere({ 't.id': { $lt: 3 } });
    if (headers['x-form'] === 'limit') query.orderBy({ id: 'desc' }).limit(4);
  }
}

class CenterController extends ApiController {
  override customizeQuery(_action: string, { headers }: ApiRequest, query: ModelQuery<Any>): void {
    query.andWhere({ id: { $in: String(headers['x-sees']).split(',').map(Number) } });
  }
}

/** Computes the response in memory. */
function expectedOf(rows: readonly Sale[], { by, form, kind, of, sees }: Asked): unknown[] {
  const restricted = {
    none: rows,
    where: rows.filter(({ isPaid }) => isPaid === true),
    join: rows.filter(({ tags }) => tags.some((tag) => tag < 3)),
    limit: rows.slice(-4),
  }[form];
  const found = restricted.filter((row) => kind === null || row.kind === kind);
  const groups = Map.groupBy(found, (row) => JSON.stringify(by.map((name) => groupOf[name](row, sees))));
  if (by.length === 0 && found.length === 0) groups.set('[]', []);
  return [...groups].map(([key, members]) => {
    const values: unknown[] = JSON.parse(key);
    const result: Record<string, Any> = { count: members.length };
    for (const [i, name] of by.entries()) result[name] = values[i];
    for (const name of of) {
      const [field = '', called = ''] = name.split(':');
      result[field] = { ...result[field], [called]: aggregateOf[name](members) };
    }
    return result;
  });
}

function optionsOf(url: string) {
  const Center = defineEntity({ name: 'Center', properties: { id: p.integer().primary().groups('read') } });
  const Tag = defineEntity({ name: 'Tag', properties: { id: p.integer().primary().groups('read') } });
  const Place = defineEntity({ name: 'Place', embeddable: true, properties: { city: p.string().groups('read') } } as Any);
  const Sale: Any = defineEntity({
    name: 'Sale',
    discriminatorColumn: 'type',
    discriminatorValue: 'sale',
    properties: {
      id: p.integer().primary().groups('read'),
      type: p.enum(['sale', 'loan']).groups('read'),
      kind: p.string().nullable().groups('read'),
      isPaid: p.boolean().nullable().groups('read'),
      soldOn: p.date().nullable().groups('read'),
      amount: (p.decimal() as Any).precision(15).scale(2).nullable().groups('read'),
      views: p.bigint('bigint').nullable().groups('read'),
      center: () => (p.manyToOne(Center) as Any).nullable().groups('read'),
      tags: () => (p.manyToMany(Tag) as Any).groups('read'),
      place: () => (p.embedded(Place as Any) as Any).nullable().groups('read'),
    },
  });
  const Loan: Any = defineEntity({
    name: 'Loan',
    extends: Sale,
    discriminatorValue: 'loan',
    properties: { rate: p.integer().nullable().groups('read') },
  });
  return {
    app_main: {
      apis: {
        sale: {
          class: Sale,
          base_path: '/sale',
          controller: SaleController,
          filters: { kind: ['eq'] },
          aggregate: { by: Object.keys(groupOf), of: { amount: ['sum', 'min'], views: ['sum', 'min'] } },
          actions: { _index: null },
        },
        center: { class: Center, base_path: '/center', controller: CenterController, actions: { _entity: null } },
      },
      database: { url, schema: 'update' },
    },
    models: [Sale, Loan, Center, Tag, Place],
    controllers: [SaleController, CenterController],
  } as Any;
}

const inOrder = (results: readonly unknown[]) => results.map((result) => JSON.stringify(sorted(result))).sort();
const sorted = (value: unknown): unknown =>
  typeof value === 'object' && value !== null
    ? Object.fromEntries(
        Object.entries(value)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([key, item]) => [key, sorted(item)]),
      )
    : value;

describe.each(databases)('random aggregates on %s', (kind) => {
  test('equal those of an oracle in memory', async () => {
    const fresh = await freshDatabase(kind);
    const app = await startApplication(optionsOf(fresh.url));
    try {
      const em = app.application.mapper.em.fork() as Any;
      for (const id of [1, 2, 3]) em.create('Center', { id });
      for (const id of [1, 2, 3]) em.create('Tag', { id });
      await em.flush();
      const property = fc.asyncProperty(
        fc.array(sale, { maxLength: 12 }),
        fc.array(asked, { minLength: 8, maxLength: 8 }),
        async (rows, requests) => {
          const own = app.application.mapper.em.fork() as Any;
          for (const old of await own.find('Sale', {})) own.remove(old);
          await own.flush();
          for (const [i, { amount, center, rate, tags, type, ...row }] of rows.entries())
            own.create(type === 'loan' ? 'Loan' : 'Sale', {
              ...row,
              id: i + 1,
              amount: amount === null ? null : centsOf(BigInt(amount)),
              center,
              tags: [...tags],
              ...(type === 'loan' && { rate }),
              ...(row.isPaid && { place: { city: 'city' } }),
            });
          await own.flush();
          for (const request of requests) {
            const query = new URLSearchParams();
            if (request.by.length > 0) query.set('by', request.by.join());
            for (const name of request.of) query.append('of', name);
            if (request.kind !== null) query.set('kind', request.kind);
            const headers = { 'x-form': request.form, 'x-sees': request.sees.join() || '0' };
            const { json, status, text } = await app.request('GET', `/sale/aggregate.json?${query}`, { headers });
            expect(status, text).toBe(200);
            const expected = expectedOf(rows, request);
            expect(inOrder(json.results)).toEqual(inOrder(expected));
            expect(json.count).toBe(expected.length);
          }
        },
      );
      await fc.assert(property, { numRuns: runs / 4, ...casesOn(kind) });
    } finally {
      await app.close();
      await fresh.drop();
    }
  }, 120_000);
});
