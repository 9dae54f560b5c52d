import { defineEntity, type EntityMetadata, p, raw, Type } from '@mikro-orm/core';
import { QueryBuilder } from '@mikro-orm/sql';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { createMapper } from '../../src/database/create-mapper.ts';
import type { RequestEntityManager } from '../../src/database/mapper.ts';
import { isPromiseLike } from '../../src/database/promise-like.ts';
import type { DatabaseDeclaration } from '../../src/declaration/types.ts';
import { clausesOf, conditionOf, conditionUnder } from '../../src/query/entities/condition-query.ts';
import { builtQuery, deferredQuery } from '../../src/query/entities/deferred-query.ts';
import type { AnyQueryBuilder } from '../../src/query/entities/restriction.ts';

const Center = defineEntity({ name: 'Center', properties: { id: p.integer().primary(), name: p.string() } });
/** Stores numbers that are not those of the model, but for 0. */
class Doubled extends Type<number, number> {
  override convertToDatabaseValue(value: number) {
    return value * 2;
  }
  override getColumnType() {
    return 'integer';
  }
}

const Person = defineEntity({
  name: 'Person',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    age: p.integer().nullable(),
    active: p.boolean(),
    born: p.datetime(),
    rank: p.enum(['low', 'high']),
    big: p.bigint().nullable(),
    code: p.type(Doubled),
    length: p.integer().formula((columns) => `length(${columns.name})`),
    data: p.json<{ level: number }>(),
    center: () => p.manyToOne(Center),
  },
});

const database = {
  url: 'sqlite::memory:',
  schema: 'keep',
  statementTimeout: 0,
  readOnly: false,
} as unknown as DatabaseDeclaration;
const mapper = await createMapper(database, { entities: [Center, Person], directory: '.' });
afterAll(() => mapper.close());
const meta = mapper.getMetadata().get(Person) as unknown as EntityMetadata;

const text = fc.constantFrom('a', 'b', '?', "it's", '');
const number = fc.integer({ min: 0, max: 3 });
const leaf = fc.oneof(
  text.map((name) => ({ name })),
  number.map((age) => ({ age })),
  number.map((age) => ({ age: { $gt: age } })),
  fc.constantFrom({ age: null }, { age: { $ne: null } }, { active: true }, { active: false }),
  fc.array(number, { maxLength: 3 }).map((ids) => ({ center: { $in: ids } })),
  fc.array(text, { maxLength: 3 }).map((names) => ({ name: { $nin: names } })),
  text.map((like) => ({ name: { $like: `%${like}%` } })),
  number.map((center) => ({ center })),
  number.map((id) => ({ center: { id } })),
  text.map((name) => ({ center: { name } })),
  number.map((level) => ({ data: { level } })),
  number.map((ms) => ({ born: { $lt: new Date(ms) } })),
  number.map((age) => ({ [raw('age + ?', [age])]: 3 })),
  number.map((code) => ({ code })),
  number.map((length) => ({ length })),
  number.map((ms) => ({ born: ms })),
  fc.constantFrom<object>(
    { age: { $in: [] } },
    { age: { $in: {} } },
    { age: { $nin: [] } },
    { age: { $nin: {} } },
    { age: {} },
    { age: [] },
  ),
  fc.constantFrom<object>(
    { age: Number.NaN },
    { age: -0 },
    { age: undefined },
    { age: { $in: [1, null] } },
    { age: { $in: [[1]] } },
  ),
  fc.constantFrom<object>({ $and: [] }, { $or: [] }, { $not: {} }, { $not: [] }, {}, []),
  fc.constantFrom({ rank: 'low' }, { rank: { $ne: 'high' } }, { big: 7n }, { big: '8' }, { big: null }, { center: null }),
  fc.record({ age: fc.record({ $gte: number, $lte: number }), name: text }),
);
const { condition } = fc.letrec<{ condition: object }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.array(tie('condition'), { minLength: 1, maxLength: 3 }).map((parts) => ({ $and: parts })),
    fc.array(tie('condition'), { minLength: 1, maxLength: 3 }).map((parts) => ({ $or: parts })),
    tie('condition').map((part) => ({ $not: part })),
  ),
}));

/** What MikroORM itself writes for a query that is a condition. */
function asWritten(query: AnyQueryBuilder) {
  const { joins, where } = clausesOf(query.select('id' as never) as unknown as AnyQueryBuilder);
  if ((joins?.length ?? 0) > 0) return null;
  return where && where.sql !== '' ? { sql: `(${where.sql})`, params: [...where.params] } : { sql: '', params: [] };
}

/** What a caller may do first to a query, and what comes then. */
const calls = fc.array(fc.record({ method: fc.constantFrom('where' as const, 'andWhere' as const), condition }), {
  maxLength: 3,
});

test('a condition of a known shape equals the one that MikroORM builds', () => {
  const em = mapper.em.fork() as RequestEntityManager;
  const built = () => em.createQueryBuilder(meta.class, 'e') as AnyQueryBuilder;
  fc.assert(
    fc.property(calls, fc.boolean(), (steps, isDeferred) => {
      const given = isDeferred ? deferredQuery(meta, built) : built();
      const expected = built();
      for (const { method, condition: each } of steps) {
        expect(given[method](each as never)).toBe(given);
        expected[method](each as never);
      }
      const found = conditionOf(given, meta);
      expect(found && { sql: found.sql, params: [...found.params] }).toEqual(asWritten(expected));
    }),
    { numRuns: 1000 },
  );
});

test('a condition under another alias is the one that MikroORM builds with that alias, with the same parameters', () => {
  const em = mapper.em.fork() as RequestEntityManager;
  const built = (alias: string) => em.createQueryBuilder(meta.class, alias) as AnyQueryBuilder;
  let found = 0;
  fc.assert(
    fc.property(calls, calls, fc.constantFrom('t1', 'other'), (first, then, alias) => {
      const given = deferredQuery(meta, built);
      for (const steps of [first, then]) {
        for (const { method, condition: each } of steps) given[method](each as never);
        const under = conditionUnder(given, meta, alias);
        if (!under) continue;
        found++;
        const expected = built(alias);
        const all = steps === first ? first : [...first, ...then];
        for (const { method, condition: each } of all) expected[method](each as never);
        expect({ sql: under.sql, params: [...under.params] }).toEqual(asWritten(expected));
        expect(under.params).toEqual(conditionOf(given, meta)?.params);
      }
    }),
    { numRuns: 1000 },
  );
  expect(found).toBeGreaterThan(0);
});

test('a deferred query equals the one that is built immediately', () => {
  const em = mapper.em.fork() as RequestEntityManager;
  let builds = 0;
  const built = () => {
    builds++;
    return em.createQueryBuilder(meta.class, 'e') as AnyQueryBuilder;
  };
  const query = deferredQuery(meta, built);
  const condition = { name: 'a', age: { $in: [1, 2] } };
  query.where({ age: 3 } as never).andWhere(condition as never);
  // what a caller does to a condition afterwards concerns nobody
  condition.age.$in.push(3);
  expect(query).toBeInstanceOf(QueryBuilder);
  expect(builds).toBe(0);
  expect(query.orderBy({ name: 'asc' } as never).andWhere({ active: true } as never)).toBe(query);
  expect(builds).toBe(1);
  const expected = built()
    .where({ age: 3 } as never)
    .andWhere({ name: 'a', age: { $in: [1, 2] } } as never)
    .orderBy({ name: 'asc' } as never)
    .andWhere({ active: true } as never);
  expect(query.getFormattedQuery()).toBe(expected.getFormattedQuery());
  expect(query.clone()).not.toBe(query);
  expect('state' in query).toBe(true);
  expect(Reflect.set(query, 'loggerContext', { label: 'x' })).toBe(true);
  expect(Reflect.get(builtQuery(query), 'loggerContext')).toEqual({ label: 'x' });
});

test('awaiting a deferred query does not build it', async () => {
  const query = deferredQuery(meta, () => {
    throw new Error('it was built');
  });
  expect(await Promise.resolve(query.where({ age: 1 } as never))).toBe(query);
  // asked of every result of `customizeQuery`
  expect(isPromiseLike(query)).toBe(false);
});
