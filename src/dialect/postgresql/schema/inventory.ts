import type { RequestEntityManager } from '../../../database/mapper.ts';
import { listIn } from '../../../database/schema/check-list.ts';
import {
  type DefaultValue,
  enumMapping,
  type Inventory,
  type InventoryColumn,
  type InventoryTable,
  ownTables,
  type PropertyMapping,
  type SkippedObject,
  viewKey,
} from '../../../database/schema/inventory.ts';
import { type StoredColumn, type StoredTable, selectInventory } from './inventory-query.ts';
import { mappingOf } from './property-types.ts';

/** The schema that statements use if they name none. */
const defaultSchema = 'public';

/** Reads every table with its columns, keys, indexes and checks. */
export async function postgresInventory(em: RequestEntityManager): Promise<Inventory> {
  const [row] = await em.execute<{ inventory: string }[]>(selectInventory);
  const tables: InventoryTable[] = [];
  const skipped: SkippedObject[] = [];
  for (const stored of JSON.parse((row as { inventory: string }).inventory) as readonly StoredTable[]) {
    const reason = reasonToSkip(stored);
    if (reason === null) tables.push(tableOf(stored));
    else skipped.push({ schema: schemaOf(stored), name: stored.name, reason });
  }
  return { tables, skipped };
}

function schemaOf({ isVisible, schema }: Pick<StoredTable, 'isVisible' | 'schema'>): string | null {
  return schema === defaultSchema && isVisible ? null : schema;
}

function reasonToSkip({ extension, isReadable, name, partitionOf }: StoredTable): string | null {
  if (extension !== null) return `it belongs to the extension ${extension}`;
  if (ownTables.test(name)) return 'it belongs to Declarest';
  if (partitionOf !== null) return `it is a partition of ${partitionOf}`;
  return isReadable ? null : 'this user has no right to read it';
}

function tableOf(stored: StoredTable): InventoryTable {
  const { checks, comment, foreignKeys, indexes, name, view } = stored;
  const schema = schemaOf(stored);
  const primaryKey = view === null ? stored.primaryKey : viewKey(stored.columns.map((column) => column.name));
  const columns = stored.columns
    .map((column) => columnOf(column, stored))
    .map((column) => (primaryKey.includes(column.name) ? { ...column, isRequired: true } : column));
  const isEnum = new Set(columns.filter((column) => 'items' in column.mapping && column.mapping.items).map((one) => one.name));
  return {
    schema,
    name,
    comment,
    columns,
    primaryKey,
    view,
    foreignKeys: foreignKeys.map(({ deferrable, deferred, targetName, targetSchema, targetVisible, ...key }) => ({
      ...key,
      target: { schema: schemaOf({ isVisible: targetVisible, schema: targetSchema }), name: targetName },
      deferred: deferrable ? (deferred ? 'deferred' : 'immediate') : null,
    })),
    // a model of a materialized view declares no indexes
    indexes: (view === null ? indexes : []).map(({ columns, definition, isConstraint, isUnique, name, quoted }) => ({
      name,
      isUnique,
      columns,
      definition: isConstraint || isPlain(definition, quoted) ? null : definition,
    })),
    // the check of an enum is part of its property
    checks: checks.filter(
      ({ columns, expression }) => !(columns?.length === 1 && isEnum.has(columns[0] as string) && listIn(expression)),
    ),
  };
}

/** Whether an index has columns and nothing else: no expressions, conditions, orders or operator classes. */
function isPlain(definition: string, quoted: readonly string[]): boolean {
  return (
    /^CREATE (?:UNIQUE )?INDEX .*? USING btree /.test(definition) && definition.endsWith(` USING btree (${quoted.join(', ')})`)
  );
}

function columnOf(stored: StoredColumn, { checks, schema }: StoredTable): InventoryColumn {
  const { base, comment, defaultSql, generated, identity, isRequired, name, type } = stored;
  const isSerial = /^nextval\(/.test(defaultSql ?? '');
  return {
    name,
    type,
    base,
    mapping: withItems(mappingOf(stored, schema), stored, checks),
    isRequired,
    isNumbered: identity !== '' || isSerial,
    default: defaultSql === null || generated !== '' ? null : defaultOf(defaultSql),
    generated: generated === '' ? null : `(${defaultSql}) ${generated === 's' ? 'stored' : 'virtual'}`,
    comment,
  };
}

/** A text with a check that lists its values is an enum. */
function withItems(
  mapping: InventoryColumn['mapping'],
  { base, name, typeName }: StoredColumn,
  checks: StoredTable['checks'],
): InventoryColumn['mapping'] {
  if (typeName !== 'text' && typeName !== 'varchar') return mapping;
  const own = checks.filter(({ columns }) => columns?.length === 1 && columns[0] === name);
  const items = own.length === 1 ? listIn(own[0]?.expression as string)?.[0] : undefined;
  if (!items || items.length === 0) return mapping;
  return enumMapping(
    items,
    typeName === 'text' ? '' : `.columnType('${base.replace('character varying', 'varchar')}')`,
  ) satisfies PropertyMapping;
}

function defaultOf(sql: string): DefaultValue | null {
  if (/^null(?:::|$)/i.test(sql)) return null;
  const text = /^'((?:[^']|'')*)'::[\w ."[\](),]+$/.exec(sql)?.[1];
  if (text !== undefined) return { sql, value: text.replaceAll("''", "'") };
  const plain = /^\(?(-?\d+(?:\.\d+)?|true|false)\)?(?:::[\w ]+(?:\(\d+(?:,\d+)?\))?)?$/.exec(sql)?.[1];
  return plain === undefined ? { sql } : { sql, value: plain };
}
