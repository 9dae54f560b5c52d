import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type, t, UnknownType } from '@mikro-orm/core';
import { type AbstractSqlPlatform, type Column, DatabaseSchema, DatabaseTable, type SqlSchemaGenerator } from '@mikro-orm/sql';
import { dialectOf } from '../../dialect/dialect.ts';
import type { Mapper } from '../mapper.ts';
import { type MigrationFolder, systems } from './folder.ts';
import { MigrationError } from './migration-error.ts';

/** A table as MikroORM writes it into JSON. */
export interface TableData {
  readonly name: string;
  readonly schema?: string;
  readonly columns: Readonly<Record<string, ColumnData>>;
  readonly indexes?: readonly IndexData[];
  readonly checks?: readonly { readonly name: string; readonly columnName?: string }[];
  readonly foreignKeys?: Readonly<Record<string, ForeignKeyData>>;
  readonly nativeEnums?: object;
  readonly triggers?: readonly unknown[];
  readonly policies?: readonly { readonly roles?: readonly string[] }[];
  readonly rlsEnabled?: boolean;
  readonly rlsForced?: boolean;
  readonly comment?: string;
}

export interface ColumnData {
  readonly name: string;
  readonly type: string;
  readonly mappedType?: string;
}

export interface IndexData {
  readonly keyName: string;
  readonly primary?: boolean;
  readonly columnNames: readonly string[];
  readonly columns?: readonly { readonly name: string }[];
}

export interface ForeignKeyData {
  readonly columnNames: readonly string[];
  readonly localTableName: string;
  readonly referencedTableName: string;
  readonly referencedColumnNames: readonly string[];
}

/** A schema as MikroORM writes it into JSON. */
export interface SchemaData {
  readonly tables: readonly TableData[];
  readonly namespaces: readonly string[];
  readonly views?: readonly unknown[];
  readonly nativeEnums?: object;
}

/** The state after the last migration, with which the models are compared for the next one. */
export interface Snapshot {
  /** The migrations that led to it. */
  readonly migrations: readonly string[];
  readonly extensions: readonly string[];
  readonly schema: SchemaData;
}

/** Makes a new schema with each call, because MikroORM changes a schema while it writes its statements. */
export type SchemaSource = () => DatabaseSchema;

export const snapshotFile = (system: string) => `.snapshot-${system}.json`;

const empty: Snapshot = { migrations: [], extensions: [], schema: { tables: [], namespaces: [] } };

/** Refuses migrations that were written for another database system. */
export function checkSystem({ path, shown }: MigrationFolder, system: string): void {
  if (existsSync(join(path, snapshotFile(system)))) return;
  const other = Object.entries(systems).find(([name]) => name !== system && existsSync(join(path, snapshotFile(name))));
  if (other) throw new MigrationError(otherSystem(shown, system, other[1]));
}

/** Reads the snapshot beside the migrations, and checks that the two belong together. */
export function readSnapshot(folder: MigrationFolder, system: string): Snapshot {
  checkSystem(folder, system);
  const { files, path, shown } = folder;
  const file = join(path, snapshotFile(system));
  const label = `${shown}${snapshotFile(system)}`;
  if (!existsSync(file)) {
    if (files.length === 0) return empty;
    throw new MigrationError(`${shown} has migrations, but ${label} is missing; restore it from version control`);
  }
  const snapshot = parsed(readFileSync(file, 'utf8'), label);
  const missing = snapshot.migrations.filter((name) => !files.some((found) => found.name === name));
  if (missing.length > 0) {
    throw new MigrationError(
      `${label} includes ${missing.join(', ')}, and ${shown} does not have it; restore the migration, or an earlier ${snapshotFile(system)}, from version control`,
    );
  }
  return snapshot;
}

function otherSystem(shown: string, system: string, other: string): string {
  const own = systems[system as keyof typeof systems] ?? system;
  return (
    `the migrations in ${shown} are for ${other}, and app_main.database.url is for ${own}. ` +
    `Set the url to the ${other} database, or keep migrations for each system in a folder of its own: migrations/${system}/, migrations/${Object.keys(systems).find((name) => systems[name as keyof typeof systems] === other)}/`
  );
}

function parsed(text: string, label: string): Snapshot {
  try {
    const { migrations, extensions = [], database: _, ...schema } = JSON.parse(text);
    if (Array.isArray(schema.tables) && Array.isArray(migrations)) return { migrations, extensions, schema };
  } catch {
    // the same fix as for wrong content
  }
  throw new MigrationError(`${label} cannot be read; restore it from version control, and resolve conflicts of a merge in it`);
}

/** Writes the snapshot atomically. */
export function writeSnapshot({ path }: MigrationFolder, system: string, { extensions, migrations, schema }: Snapshot): void {
  mkdirSync(path, { recursive: true });
  const { namespaces, ...rest } = schema;
  const text = JSON.stringify({ database: system, migrations, extensions, namespaces, ...rest }, withoutDefaults, 2);
  const file = join(path, snapshotFile(system));
  writeFileSync(`${file}.new`, `${text}\n`);
  renameSync(`${file}.new`, file);
}

/** Keeps the file short, and its changes easy to read. */
function withoutDefaults(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('mappedType' in value)) return value;
  const isDefault = (item: unknown) => item === null || item === false || (Array.isArray(item) && item.length === 0);
  return Object.fromEntries(Object.entries(value).filter(([, item]) => !isDefault(item)));
}

/** The schema that the models need. */
export function modelSchema(mapper: Mapper): DatabaseSchema {
  const schema = (mapper.schema as unknown as SqlSchemaGenerator).getTargetSchema();
  schema.prune(undefined, []);
  return schema;
}

export function dataOf(schema: DatabaseSchema): SchemaData {
  return JSON.parse(JSON.stringify(schema));
}

/** The schema of a snapshot. */
export function schemaOf(mapper: Mapper, { tables, namespaces, nativeEnums = {}, views }: SchemaData): DatabaseSchema {
  const platform = mapper.driver.getPlatform() as AbstractSqlPlatform;
  const schema = new DatabaseSchema(platform, mapper.config.get('schema') as string);
  const copied = structuredClone(tables) as TableData[];
  schema.setTables(copied.map((data) => tableOf(platform, data, nativeEnums)));
  schema.setNamespaces(new Set(namespaces));
  schema.setNativeEnums(nativeEnums as never);
  if (views) schema.setViews(views as never);
  return schema;
}

function tableOf(platform: AbstractSqlPlatform, data: TableData, nativeEnums: object): DatabaseTable {
  const table = new DatabaseTable(platform, data.name, data.schema);
  table.nativeEnums = nativeEnums as never;
  if (data.comment) table.comment = data.comment;
  if (data.indexes) table.setIndexes(data.indexes as never);
  if (data.checks) table.setChecks(data.checks as never);
  if (data.foreignKeys) table.setForeignKeys(data.foreignKeys as never);
  if (data.triggers) table.setTriggers(data.triggers as never);
  if (data.policies) table.setPolicies(data.policies.map((policy) => ({ ...policy, roles: policy.roles ?? [] })) as never);
  table.rlsEnabled = data.rlsEnabled === true;
  table.rlsForced = data.rlsForced === true;
  // as in the models, a composite key belongs to the table and not to its columns
  const isComposite = data.indexes?.some(({ columnNames, primary }) => primary && columnNames.length > 1) === true;
  for (const column of Object.values(data.columns)) {
    const kind = t[column.mappedType as keyof typeof t] ?? UnknownType;
    table.addColumn({
      ...column,
      ...(isComposite && { primary: false }),
      mappedType: Type.getType(kind as never),
    } as unknown as Column);
  }
  return table;
}

export function systemOf(mapper: Mapper): string {
  return dialectOf(mapper).name;
}
