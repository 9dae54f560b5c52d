import { dialectOf } from '../../dialect/dialect.ts';
import type { MigrationTools } from '../../dialect/migration-tools.ts';
import type { Mapper } from '../mapper.ts';
import { type Ask, askForRename, refuseDrop, removedNames } from './decisions.ts';
import { changesIn, compareSchemas, plainName, statementsFor } from './difference.ts';
import { type Rename, readRenames, renameAll } from './renames.ts';
import { type Fill, neutralValue, readFills, relaxed, requiredIn } from './required-columns.ts';
import { modelSchema, type SchemaData, type SchemaSource, type Snapshot, schemaOf } from './snapshot.ts';

/** A statement of a migration. */
export interface Step {
  readonly sql: string;
}

export interface MigrationPlan {
  readonly up: readonly Step[];
  readonly down: readonly Step[];
  /** Losses that `down` cannot revert, one line each. */
  readonly losses: readonly string[];
  /** Points that a person should review before the migration is applied. */
  readonly notes: readonly string[];
}

/** The decisions of a person. */
export interface PlanOptions {
  readonly renames: readonly string[];
  readonly fills: readonly string[];
  readonly allowDrop: boolean;
  readonly ask?: Ask | undefined;
}

/** The differences between the models and the last migration, one line each. */
export async function differences(mapper: Mapper, snapshot: Snapshot, extensions: readonly string[]): Promise<string[]> {
  const difference = compareSchemas(mapper, schemaOf(mapper, snapshot.schema), modelSchema(mapper));
  const tools = await dialectOf(mapper).migrations();
  const missing = extensions.filter((name) => !snapshot.extensions.includes(name)).map((name) => `the extension ${name} is new`);
  const changes = changesIn(difference);
  // some differences need no statement
  return statementsFor(mapper, tools, difference).length > 0 ? [...changes, ...missing] : missing;
}

/** Plans the migration from the last state to the models; null if there is nothing to do. */
export async function planMigration(
  mapper: Mapper,
  snapshot: Snapshot,
  extensions: readonly string[],
  options: PlanOptions,
): Promise<MigrationPlan | null> {
  const tools = await dialectOf(mapper).migrations();
  const { schema: last } = snapshot;
  const renames = await decideRenames(mapper, last, options);
  const base = renameAll(last, renames);
  const before = () => schemaOf(mapper, base);
  const after = () => modelSchema(mapper);
  const difference = compareSchemas(mapper, before(), after());
  const gone = removedNames(difference);
  if (gone.length > 0 && !options.allowDrop) throw refuseDrop(gone);
  const fills = await readFills(requiredIn(difference), options.fills, options.ask);
  const added = extensions.filter((name) => !snapshot.extensions.includes(name));
  const up = [
    ...added.map((name) => ({ sql: `create extension if not exists ${name};` })),
    ...renames.flatMap((rename) => renaming(mapper, tools, rename)),
    ...stepsBetween(mapper, tools, before, after, fills),
  ];
  if (up.length === 0) return null;
  const lost = neutralFills(mapper, tools, after, before);
  const backwards = renames.toReversed().map((rename) => reversed(rename));
  const down = [
    ...stepsBetween(mapper, tools, after, before, lost),
    ...backwards.flatMap((rename) => renaming(mapper, tools, rename)),
  ];
  const losses = [...lostFills(lost), ...gone.map(({ label }) => `the data of ${label} stays lost`)];
  return { up, down, losses, notes: typeChanges(difference) };
}

async function decideRenames(
  mapper: Mapper,
  last: SchemaData,
  { allowDrop, ask, renames: given }: PlanOptions,
): Promise<Rename[]> {
  const chosen = [...given];
  const renames = () => readRenames(chosen, last, modelSchema(mapper));
  const decided = new Set<string>();
  for (;;) {
    const known = renames();
    if (allowDrop || !ask) return known;
    // compared again after each answer, because a renamed table can have renamed columns
    const difference = compareSchemas(mapper, schemaOf(mapper, renameAll(last, known)), modelSchema(mapper));
    const next = removedNames(difference).find(({ candidates, label }) => candidates.length > 0 && !decided.has(label));
    if (!next) return known;
    decided.add(next.label);
    const name = await askForRename(next, ask);
    if (name !== null) chosen.push(`${next.label}=${name}`);
  }
}

/** The statements from one schema to another. Columns that become required may be null until they are filled. */
function stepsBetween(
  mapper: Mapper,
  tools: MigrationTools,
  from: SchemaSource,
  to: SchemaSource,
  fills: readonly Fill[],
): Step[] {
  const valuesOf = (table: string) =>
    new Map(fills.flatMap(({ required, value }) => (required.table === table ? [[required.column.name, value] as const] : [])));
  const between = (one: SchemaSource, other: SchemaSource): Step[] =>
    statementsFor(mapper, tools, compareSchemas(mapper, one(), other()), valuesOf).map((sql) => ({ sql }));
  if (fills.length === 0 || tools.alterTable) return between(from, to);
  const middle = () => relaxed(to(), from(), fills);
  const quote = (name: string) => mapper.driver.getPlatform().quoteIdentifier(name).toString();
  const values = fills.map(({ required: { column, table }, value }) => ({
    sql: `update ${quote(plainName(table))} set ${quote(column.name)} = ${value} where ${quote(column.name)} is null;`,
  }));
  return [...between(from, middle), ...values, ...between(middle, to)];
}

/** The values of required columns after `down`, which cannot restore dropped values. */
function neutralFills(mapper: Mapper, { neutralTime }: MigrationTools, from: SchemaSource, to: SchemaSource): Fill[] {
  return requiredIn(compareSchemas(mapper, from(), to())).flatMap((required) => {
    const value = neutralValue(required, neutralTime);
    return value === null ? [] : [{ required, value }];
  });
}

function lostFills(fills: readonly Fill[]): string[] {
  return fills.map(({ required: { label }, value }) => `rows without a value in ${label} get ${value}`);
}

function renaming(mapper: Mapper, tools: MigrationTools, { column, from, schema, table, to }: Rename): Step[] {
  const quote = (name: string) => mapper.driver.getPlatform().quoteIdentifier(name).toString();
  const named = (name: string) => quote(plainName(schema ? `${schema}.${name}` : name));
  if (column !== null) return [{ sql: `alter table ${named(table)} rename column ${quote(from)} to ${quote(to)};` }];
  const keys = tools.renameKey(mapper, from, to).map((sql) => ({ sql }));
  return [{ sql: `alter table ${named(from)} rename to ${quote(to)};` }, ...keys];
}

function reversed({ column, from, to, ...rest }: Rename): Rename {
  return { ...rest, column: column === null ? null : to, from: to, to: from };
}

function typeChanges({ changedTables }: ReturnType<typeof compareSchemas>): string[] {
  return Object.values(changedTables).flatMap(({ changedColumns, name }) =>
    Object.values(changedColumns)
      .filter(({ changedProperties }) => changedProperties.has('type'))
      .map(
        ({ column, fromColumn }) =>
          `${plainName(name)}.${column.name} changes its type from ${fromColumn.type} to ${column.type}: make sure that existing values can be converted`,
      ),
  );
}
