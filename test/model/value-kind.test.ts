import { defineEntity, type EntityProperty, p, Type } from '@mikro-orm/core';
import { afterAll, expect, test } from 'vitest';
import { createMapper } from '../../src/database/create-mapper.ts';
import type { DatabaseDeclaration } from '../../src/declaration/types.ts';
import { columnKinds } from '../../src/dialect/value-kind.ts';
import { valueKindOf } from '../../src/model/value-kind.ts';
import { kinds } from '../query/random-model.ts';

class OwnType extends Type<string, string> {}

const properties = Object.fromEntries(Object.entries(kinds).map(([name, { make }]) => [name, make()]));
const Everything = defineEntity({
  name: 'Everything',
  properties: {
    id: p.integer().primary(),
    ...(properties as Record<string, ReturnType<typeof p.string>>),
    own: p.type(OwnType),
    other: p.string().type('inet' as never),
  },
});
const database = {
  url: 'sqlite::memory:',
  schema: 'keep',
  statementTimeout: 0,
  readOnly: false,
} as unknown as DatabaseDeclaration;
const mapper = await createMapper(database, { entities: [Everything], directory: '.' });
afterAll(() => mapper.close());

test('every kind of column belongs to a type of MikroORM', () => {
  const meta = mapper.getMetadata().get(Everything as never);
  const scalars = Object.values(meta.properties) as unknown as EntityProperty[];
  const found = scalars.map((property) => valueKindOf(property, mapper.driver.getPlatform()).kind);
  expect([...new Set(found)].sort()).toEqual(Object.keys(columnKinds).sort());
});
