import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, describe, expect } from 'vitest';
import type { Mapper } from '../../../src/database/mapper.ts';
import { applyMigrations, revertMigration } from '../../../src/database/migrations/apply.ts';
import { changesSince, createMigration } from '../../../src/database/migrations/create-migration.ts';
import { databases, freshDatabase } from '../../support/databases.ts';
import { test } from '../../support/halves.ts';
import { seed as first } from '../../support/random.ts';
import { makeTemporary } from '../../support/temporary.ts';
import { createdSchema, declared, foundSchema, withMapper } from './migrated.ts';

const temporary = makeTemporary('migrations');
afterAll(temporary.remove);

interface ColumnModel {
  readonly kind: 'string' | 'integer' | 'reference';
  /** Whether it was an integer before. */
  readonly isWidened?: boolean;
  readonly nullable: boolean;
  readonly standard?: string | number;
  readonly indexed?: boolean;
  readonly target?: string;
}

/** Columns by table. */
type Models = Readonly<Record<string, Readonly<Record<string, ColumnModel>>>>;

/** Texts are numbers, so that the way back from a text to a number exists. */
type Rows = Record<string, Record<string, unknown>[]>;

interface Change {
  readonly models: Models;
  readonly renames?: string[];
  readonly fills?: string[];
  /** What becomes of the rows. */
  readonly rows: (rows: Rows) => Rows;
}

/** A repeatable source of choices. */
function choices(seed: number) {
  let state = seed;
  const next = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  let names = 0;
  return {
    next,
    of: <Item>(items: readonly Item[]): Item | undefined => items[next(items.length)],
    name: (prefix: string) => `${prefix}${++names}`,
  };
}
type Choices = ReturnType<typeof choices>;

const changesOf: Readonly<Record<string, (models: Models, pick: Choices) => Change | null>> = {
  addTable: (models, pick) => ({
    models: { ...models, [pick.name('table')]: { name: { kind: 'string', nullable: false } } },
    rows: (rows) => rows,
  }),
  dropTable(models, pick) {
    const name = pick.of(Object.keys(models));
    if (name === undefined || Object.keys(models).length < 2) return null;
    const { [name]: _, ...rest } = models;
    const isLost = (column: ColumnModel) => column.target === name;
    return {
      models: Object.fromEntries(
        Object.entries(rest).map(([table, columns]) => [
          table,
          Object.fromEntries(Object.entries(columns).filter(([, column]) => !isLost(column))),
        ]),
      ),
      rows: (rows) =>
        Object.fromEntries(
          Object.entries(rows)
            .filter(([table]) => table !== name)
            .map(([table, list]) => [
              table,
              list.map((row) =>
                Object.fromEntries(
                  Object.entries(row).filter(([column]) => column === 'id' || !isLost(models[table]?.[column] as ColumnModel)),
                ),
              ),
            ]),
        ),
    };
  },
  renameTable(models, pick) {
    const from = pick.of(Object.keys(models));
    if (from === undefined) return null;
    const to = pick.name('renamed');
    const retarget = (columns: Models[string]) =>
      Object.fromEntries(
        Object.entries(columns).map(([name, column]) => [name, column.target === from ? { ...column, target: to } : column]),
      );
    const named = (table: string) => (table === from ? to : table);
    return {
      models: Object.fromEntries(Object.entries(models).map(([table, columns]) => [named(table), retarget(columns)])),
      renames: [`${from}=${to}`],
      rows: (rows) => Object.fromEntries(Object.entries(rows).map(([table, list]) => [named(table), list])),
    };
  },
  addColumn(models, pick) {
    const kind = pick.of(['string', 'integer'] as const) as 'string' | 'integer';
    const value = kind === 'string' ? '71' : 7;
    const shape = pick.next(3);
    const column: ColumnModel = {
      kind,
      nullable: shape === 0,
      indexed: pick.next(3) === 0,
      ...(shape === 1 && { standard: value }),
    };
    const name = pick.name('column');
    const table = pick.of(Object.keys(models)) as string;
    const written = kind === 'string' ? "'71'" : '7';
    return {
      models: { ...models, [table]: { ...models[table], [name]: column } },
      ...(shape === 2 && { fills: [`${table}.${name}=${written}`] }),
      rows: (rows) => withValues(rows, table, (row) => ({ ...row, [name]: shape === 0 ? null : value })),
    };
  },
  addReference(models, pick) {
    const table = pick.of(Object.keys(models)) as string;
    const target = pick.of(Object.keys(models)) as string;
    const name = `${pick.name('other')}_id`;
    return {
      models: { ...models, [table]: { ...models[table], [name]: { kind: 'reference', nullable: true, target } } },
      rows: (rows) => withValues(rows, table, (row) => ({ ...row, [name]: null })),
    };
  },
  dropColumn(models, pick) {
    // a required column comes back with empty texts, which cannot become integers again
    const [table, name] = anyColumn(models, pick, ({ isWidened }) => !isWidened) ?? [];
    if (table === undefined || name === undefined) return null;
    const { [name]: _, ...columns } = models[table] as Models[string];
    if (Object.keys(columns).length === 0) return null;
    return {
      models: { ...models, [table]: columns },
      rows: (rows) => withValues(rows, table, ({ [name]: __, ...row }) => row),
    };
  },
  renameColumn(models, pick) {
    const [table, name] = anyColumn(models, pick, () => true) ?? [];
    if (table === undefined || name === undefined) return null;
    const to = `${pick.name('named')}${models[table]?.[name]?.kind === 'reference' ? '_id' : ''}`;
    const columns = Object.entries(models[table] as Models[string]).map(([each, column]) => [each === name ? to : each, column]);
    return {
      models: { ...models, [table]: Object.fromEntries(columns) },
      renames: [`${table}.${name}=${to}`],
      rows: (rows) => withValues(rows, table, ({ [name]: value, ...row }) => ({ ...row, [to]: value })),
    };
  },
  changeNull(models, pick) {
    const isPlain = ({ isWidened, kind, standard }: ColumnModel) => kind !== 'reference' && standard === undefined && !isWidened;
    const [table, name] = anyColumn(models, pick, isPlain) ?? [];
    if (table === undefined || name === undefined) return null;
    const column = models[table]?.[name] as ColumnModel;
    const value = column.kind === 'string' ? '33' : 3;
    return {
      models: { ...models, [table]: { ...models[table], [name]: { ...column, nullable: !column.nullable } } },
      ...(column.nullable && { fills: [`${table}.${name}=${column.kind === 'string' ? "'33'" : '3'}`] }),
      rows: (rows) => withValues(rows, table, (row) => ({ ...row, [name]: column.nullable ? (row[name] ?? value) : row[name] })),
    };
  },
  changeIndex(models, pick) {
    const [table, name] = anyColumn(models, pick, ({ kind }) => kind !== 'reference') ?? [];
    if (table === undefined || name === undefined) return null;
    const column = models[table]?.[name] as ColumnModel;
    return {
      models: { ...models, [table]: { ...models[table], [name]: { ...column, indexed: !column.indexed } } },
      rows: (rows) => rows,
    };
  },
  changeType(models, pick) {
    const isPlain = ({ kind, standard }: ColumnModel) => kind === 'integer' && standard === undefined;
    const [table, name] = anyColumn(models, pick, isPlain) ?? [];
    if (table === undefined || name === undefined) return null;
    const column = models[table]?.[name] as ColumnModel;
    return {
      models: { ...models, [table]: { ...models[table], [name]: { ...column, kind: 'string', isWidened: true } } },
      rows: (rows) => withValues(rows, table, (row) => ({ ...row, [name]: row[name] === null ? null : String(row[name]) })),
    };
  },
};

function withValues(rows: Rows, table: string, change: (row: Record<string, unknown>) => Record<string, unknown>): Rows {
  return { ...rows, [table]: (rows[table] ?? []).map(change) };
}

function anyColumn(models: Models, pick: Choices, fits: (column: ColumnModel) => boolean): [string, string] | undefined {
  const all = Object.entries(models).flatMap(([table, columns]) =>
    Object.entries(columns)
      .filter(([, column]) => fits(column))
      .map(([name]) => [table, name] as [string, string]),
  );
  return pick.of(all);
}

/** The entities of the models. */
function entitiesOf(models: Models) {
  const entities = new Map<string, ReturnType<typeof defineEntity>>();
  for (const [table, columns] of Object.entries(models)) {
    const properties = Object.entries(columns).map(([name, { indexed, kind, nullable, standard, target }]) => {
      if (kind === 'reference') {
        return [
          name,
          () =>
            p
              .manyToOne(entities.get(target as string) as never)
              .fieldNames(name)
              .nullable(),
        ];
      }
      let property: any = kind === 'string' ? p.string() : p.integer();
      property = property.fieldNames(name);
      if (nullable) property = property.nullable();
      if (standard !== undefined) property = property.default(standard);
      if (indexed) property = property.index();
      return [name, property];
    });
    const entity = defineEntity({
      name: `Entity_${table}`,
      tableName: table,
      properties: { id: p.integer().primary(), ...Object.fromEntries(properties) },
    });
    entities.set(table, entity as never);
  }
  return [...entities.values()];
}

async function insertRow(mapper: Mapper, models: Models, rows: Rows, pick: Choices): Promise<void> {
  const table = pick.of(Object.keys(models)) as string;
  const values = Object.fromEntries(
    Object.entries(models[table] as Models[string]).map(([name, { kind, nullable, target }]) => {
      if (kind === 'reference') return [name, pick.of(rows[target as string] ?? [])?.id ?? null];
      if (nullable && pick.next(2) === 0) return [name, null];
      return [name, kind === 'string' ? String(pick.next(100_000)) : pick.next(1000)];
    }),
  );
  const quote = (name: string) => mapper.driver.getPlatform().quoteIdentifier(name).toString();
  const names = Object.keys(values).map(quote);
  const sql = `insert into ${quote(table)} (${names.join(', ')}) values (${names.map(() => '?').join(', ')}) returning id`;
  const [{ id }] = (await mapper.em.fork().execute(sql, Object.values(values))) as { id: number }[] as [{ id: number }];
  rows[table] = [...(rows[table] ?? []), { id, ...values }];
}

async function foundRows(mapper: Mapper, models: Models): Promise<Rows> {
  const quote = (name: string) => mapper.driver.getPlatform().quoteIdentifier(name).toString();
  const found: Rows = {};
  for (const table of Object.keys(models)) {
    found[table] = await mapper.em.fork().execute(`select * from ${quote(table)} order by id`);
  }
  return found;
}

describe.each(databases)('migrations after random model changes on %s', (kind) => {
  const seeds = Array.from({ length: kind === 'sqlite' ? 4 : 1 }, (_, index) => first + index);

  test.each(seeds)(
    'create the schema of a new database, keep the data and can be reverted (seed %i)',
    async (seed) => {
      const pick = choices(seed);
      const fresh = await freshDatabase(kind);
      const directory = `${temporary.directory}/${kind}-${seed}`;
      const states: { models: Models; schema: unknown }[] = [];
      let models: Models = { first: { name: { kind: 'string', nullable: false } } };
      let rows: Rows = {};
      const applied: string[] = [];
      for (let step = 0; step < 12; step++) {
        let change: Change | null = null;
        let how = 'start';
        while (step > 0 && change === null) {
          how = pick.of(Object.keys(changesOf)) as string;
          change = (changesOf[how] as (typeof changesOf)[string])(models, pick);
        }
        applied.push(how);
        models = change?.models ?? models;
        rows = change?.rows(rows) ?? rows;
        const schema = await withMapper(fresh.url, entitiesOf(models), async (mapper) => {
          const migrated = { mapper, directory, extensions: [] };
          const created = await createMigration(migrated, {
            renames: change?.renames ?? [],
            fills: change?.fills ?? [],
            allowDrop: true,
            empty: false,
          });
          expect(created, applied.join()).not.toBeNull();
          expect(await changesSince(migrated)).toEqual([]);
          await applyMigrations({ mapper, directory, database: declared(fresh.url), seed: null });
          for (const table of Object.keys(models)) rows[table] ??= [];
          expect(await foundRows(mapper, models), applied.join()).toEqual(rows);
          for (let count = 0; count < 3; count++) await insertRow(mapper, models, rows, pick);
          return foundSchema(mapper);
        });
        expect(schema, applied.join()).toEqual(await createdSchema(kind, entitiesOf(models)));
        states.push({ models, schema });
      }
      while (states.length > 0) {
        const state = states.at(-1) as (typeof states)[number];
        await withMapper(fresh.url, entitiesOf(state.models), async (mapper) => {
          expect(await foundSchema(mapper), `back from ${states.length} of ${applied.join()}`).toEqual(state.schema);
          await revertMigration({ mapper, directory, database: declared(fresh.url), seed: null });
        });
        states.pop();
      }
      await withMapper(fresh.url, [], async (mapper) => {
        expect(await foundSchema(mapper)).toMatchObject({ tables: [] });
      });
      await fresh.drop();
    },
    60_000,
  );
});
