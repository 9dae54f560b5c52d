import { defineEntity, type EntityManager, p } from '@mikro-orm/core';
import type { HttpMethod } from '../../src/declaration/types.ts';
import type { ApplicationOptions } from '../../src/index.ts';

/** An API whose methods are a random subset of those that exist. */
export interface GeneratedApi {
  readonly name: string;
  /** Null if the action is not declared. */
  readonly list: ReadonlySet<HttpMethod> | null;
  readonly entity: ReadonlySet<HttpMethod> | null;
  /** The position of the API whose rows it references; null if none. */
  readonly parent: number | null;
  readonly hasVersion: boolean;
  readonly fields: readonly FieldName[];
}

export const rowsOfEach = 12;
export const pageSize = 5;

const fields = {
  amount: p.integer().groups('read', 'write'),
  day: p.date().nullable().groups('read', 'write'),
  isOpen: p.boolean().default(false).groups('read', 'write'),
  kind: p.enum(['small', 'large']).groups('read', 'write'),
  note: p.text().nullable().groups('read', 'write'),
  price: p.decimal().precision(8).scale(2).nullable().groups('read', 'write'),
  settings: p.json<object>().nullable().groups('read', 'write'),
  moment: p.datetime().nullable().groups('read', 'write'),
} as const;
type FieldName = keyof typeof fields;

/** A small generator of random numbers (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function generateApis(seed: number, count: number): readonly GeneratedApi[] {
  const random = randomNumbers(seed);
  const some = <Item>(items: readonly Item[], chance = 0.6) => items.filter(() => random() < chance);
  return Array.from({ length: count }, (_, index): GeneratedApi => {
    const list = new Set(some<HttpMethod>(['GET', 'HEAD', 'POST'], 0.75));
    const entity = new Set(some<HttpMethod>(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']));
    if (list.size + entity.size === 0) list.add('GET');
    return {
      name: `thing${index}`,
      list: list.size > 0 ? list : null,
      entity: entity.size > 0 ? entity : null,
      parent: index > 0 && random() < 0.5 ? Math.floor(random() * index) : null,
      hasVersion: random() < 0.5,
      fields: some(Object.keys(fields) as FieldName[], 0.4),
    };
  });
}

/** An application with these APIs, on a database with a few rows of each. */
export function applicationOf(apis: readonly GeneratedApi[], databaseUrl: string): ApplicationOptions {
  const models = apis.map(({ fields: names, hasVersion, name }, index) => {
    const { parent } = apis[index] as GeneratedApi;
    return defineEntity({
      name: name.replace('t', 'T'),
      properties: {
        id: p.integer().primary().groups('read'),
        name: p.string().length(80).groups('read', 'write'),
        ...Object.fromEntries(names.map((field) => [field, fields[field]])),
        ...(parent !== null && { parent: () => p.manyToOne(models[parent] as never).groups('read', 'write') }),
        ...(hasVersion && { version: p.integer().version() }),
      },
    });
  });
  const methodsOf = (methods: ReadonlySet<HttpMethod>) => Object.fromEntries([...methods].map((method) => [method, true]));
  const declared = apis.map(({ entity, list, name }, index) => [
    name,
    {
      class: models[index],
      base_path: `/api/${name}`,
      pagination: { items_per_page: pageSize },
      filters: { name: ['contains'] },
      sort: ['name'],
      search: ['name'],
      actions: {
        ...(list && { _index: { methods: methodsOf(list) } }),
        ...(entity && { _entity: { methods: methodsOf(entity) } }),
      },
    },
  ]);
  const seed = (em: EntityManager) => {
    const made = apis.map(() => [] as object[]);
    for (const [index, { fields: names, name, parent }] of apis.entries()) {
      for (let row = 1; row <= rowsOfEach; row++) {
        const all = { amount: row, isOpen: row % 2 === 0, kind: 'small', settings: { row } };
        const own = Object.fromEntries(Object.entries(all).filter(([field]) => names.includes(field as FieldName)));
        // the last rows are not referenced, so they can be deleted
        const reference = parent !== null && { parent: made[parent]?.[row % 3] };
        const data = { name: `${name} ${String(row).padStart(2, '0')}`, ...own, ...reference };
        made[index]?.push(em.create(models[index] as never, data as never));
      }
    }
  };
  return {
    app_main: { database: { url: databaseUrl, schema: 'update' }, apis: Object.fromEntries(declared) },
    models,
    seed,
    env: { ...process.env, NODE_ENV: 'development' },
  } as unknown as ApplicationOptions;
}
