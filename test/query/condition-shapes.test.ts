import { defineEntity, type EntityMetadata, p, raw } from '@mikro-orm/core';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { createMapper } from '../../src/database/create-mapper.ts';
import type { RequestEntityManager } from '../../src/database/mapper.ts';
import type { DatabaseDeclaration } from '../../src/declaration/types.ts';
import { clausesOf, conditionOf } from '../../src/query/entities/condition-query.ts';
import type { AnyQueryBuilder } from '../../src/query/entities/restriction.ts';

const Center = defineEntity({ name: 'Center', properties: { id: p.integer().primary(), name: p.string() } });
const Person = defineEntity({
  name: 'Person',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    age: p.integer().nullable(),
    active: p.boolean(),
    born: p.datetime(),
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

test('a condition whose shape is known is what MikroORM would have written', () => {
  const em = mapper.em.fork() as RequestEntityManager;
  const queryOf = (conditions: readonly object[]) => {
    const query = em.createQueryBuilder(meta.class, 'e') as AnyQueryBuilder;
    for (const each of conditions) query.andWhere(each as never);
    return query;
  };
  fc.assert(
    fc.property(fc.array(condition, { maxLength: 3 }), (conditions) => {
      const found = conditionOf(queryOf(conditions), meta);
      expect(found && { sql: found.sql, params: [...found.params] }).toEqual(asWritten(queryOf(conditions)));
    }),
    { numRuns: 500 },
  );
});
