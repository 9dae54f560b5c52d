import type { RequestEntityManager } from '../../../database/mapper.ts';
import { listIn } from '../../../database/schema/check-list.ts';
import {
  type DefaultValue,
  enumMapping,
  type Inventory,
  type InventoryColumn,
  type InventoryForeignKey,
  type InventoryIndex,
  type InventoryTable,
  ownTables,
  type SkippedObject,
  viewKey,
} from '../../../database/schema/inventory.ts';
import { type CreatedTable, readCreateTable } from './create-table.ts';
import { mappingOf, needsSample, type Sample } from './property-types.ts';

interface StoredTable {
  readonly name: string;
  readonly type: string;
  readonly sql: string;
  /** Whether it is `without rowid`. */
  readonly wr: number;
}

interface StoredColumn {
  readonly tbl: string;
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly dflt_value: string | null;
  /** The position in the primary key, from 1. */
  readonly pk: number;
  /** 1: of a virtual table; 2: generated and virtual; 3: generated and stored. */
  readonly hidden: number;
}

interface StoredKeyColumn {
  readonly tbl: string;
  readonly id: number;
  readonly target: string;
  readonly from: string;
  readonly to: string | null;
  readonly on_update: string;
  readonly on_delete: string;
}

interface StoredIndexColumn {
  readonly tbl: string;
  readonly name: string;
  readonly unique: number;
  readonly origin: 'c' | 'u' | 'pk';
  readonly partial: number;
  /** Null for an expression. */
  readonly column: string | null;
  readonly desc: number;
  readonly coll: string;
  readonly sql: string | null;
}

/** Reads every table with its columns, keys, indexes and checks. */
export async function sqliteInventory(em: RequestEntityManager): Promise<Inventory> {
  const all: StoredTable[] = await em.execute(
    `select t.name, t.type, t.wr, coalesce(m.sql, '') as sql from pragma_table_list t left join sqlite_master m on m.name = t.name and m.type in ('table', 'view') where t.schema = 'main' and t.name not like 'sqlite\\_%' escape '\\' order by t.name`,
  );
  const stored = {
    columns: await grouped<StoredColumn>(
      em,
      `select t.name as tbl, x.* from pragma_table_list t join pragma_table_xinfo(t.name) x where t.schema = 'main' and t.type = 'table' order by x.cid`,
    ),
    keys: await grouped<StoredKeyColumn>(
      em,
      `select t.name as tbl, x.id, x."table" as target, x."from", x."to", x.on_update, x.on_delete from pragma_table_list t join pragma_foreign_key_list(t.name) x where t.schema = 'main' and t.type = 'table' order by x.id, x.seq`,
    ),
    indexes: await grouped<StoredIndexColumn>(
      em,
      `select t.name as tbl, x.name, x."unique", x.origin, x.partial, c.name as "column", c."desc", c.coll, m.sql from pragma_table_list t join pragma_index_list(t.name) x join pragma_index_xinfo(x.name) c left join sqlite_master m on m.type = 'index' and m.name = x.name where t.schema = 'main' and t.type = 'table' and x.origin <> 'pk' and c."key" = 1 order by x.name, c.seqno`,
    ),
  };
  const faults = new Map<string, string>();
  for (const { name, type } of all) {
    if (type !== 'view') continue;
    try {
      const columns = await em.execute<StoredColumn[]>(`select ? as tbl, x.* from pragma_table_xinfo(?) x order by x.cid`, [
        name,
        name,
      ]);
      const key = viewKey(columns.map((column) => column.name));
      stored.columns.set(
        name,
        columns.map((column) => ({ ...column, pk: key.includes(column.name) ? 1 : 0 })),
      );
    } catch (error) {
      faults.set(name, `its query is invalid: ${(error as Error).message}`);
    }
  }
  const used = all.filter((table) => (faults.get(table.name) ?? reasonToSkip(table)) === null);
  const samples = new Map<string, ReadonlyMap<string, Sample>>();
  for (const { name } of used) samples.set(name, await samplesOf(em, name, stored.columns.get(name) ?? []));
  // a column without values is taken for what other columns of the database are
  const hasTextTimes = [...samples.values()].some((some) =>
    [...some.values()].some(({ text, type }) => type === 'text' && /^\d{4}-\d\d-\d\d[ T]/.test(text ?? '')),
  );
  const tables = used.map((table) => {
    const columns = stored.columns.get(table.name) ?? [];
    const created = readCreateTable(table.type === 'view' ? '' : table.sql);
    const parts = {
      table,
      columns,
      created,
      samples: samples.get(table.name) ?? new Map(),
      hasTextTimes,
      tables: stored.columns,
    };
    return tableOf(parts, stored.keys.get(table.name) ?? [], stored.indexes.get(table.name) ?? []);
  });
  const skipped = all.flatMap((table): SkippedObject[] => {
    const reason = faults.get(table.name) ?? reasonToSkip(table);
    return reason === null ? [] : [{ schema: null, name: table.name, reason }];
  });
  return { tables, skipped };
}

async function grouped<Row extends { readonly tbl: string }>(em: RequestEntityManager, sql: string): Promise<Map<string, Row[]>> {
  return Map.groupBy(await em.execute<Row[]>(sql), ({ tbl }) => tbl);
}

function reasonToSkip({ name, sql, type }: StoredTable): string | null {
  if (ownTables.test(name)) return 'it belongs to Declarest';
  if (type === 'view' && viewQuery(sql) === null) return 'its query cannot be read; declare a model for it by hand';
  if (type === 'virtual') return 'it is a virtual table';
  return type === 'shadow' ? 'it belongs to a virtual table' : null;
}

/** The query in the statement that created a view; null if it has a list of columns, or cannot be read. */
function viewQuery(sql: string): string | null {
  const name = '(?:"(?:[^"]|"")*"|`(?:[^`]|``)*`|\\[[^\\]]*\\]|\'(?:[^\']|\'\')*\'|[\\w$\\u0080-\\uffff]+)';
  const created = new RegExp(
    `^create\\s+view\\s+(?:if\\s+not\\s+exists\\s+)?${name}(?:\\s*\\.\\s*${name})?\\s+as\\s+([^]+)$`,
    'i',
  );
  return created.exec(sql)?.[1]?.trim() ?? null;
}

/** The first value of each column whose declared type leaves open how values are stored. */
async function samplesOf(
  em: RequestEntityManager,
  table: string,
  columns: readonly StoredColumn[],
): Promise<ReadonlyMap<string, Sample>> {
  const samples = new Map<string, Sample>();
  for (const { dflt_value, name, type } of columns) {
    if (!needsSample.test(type)) continue;
    const column = quoted(name);
    const [row] = await em.execute<{ type: string; text: string }[]>(
      `select typeof(${column}) as type, cast(${column} as text) as text from ${quoted(table)} where ${column} is not null limit 1`,
    );
    const hasTextDefault = /^(?:current_|'|\(?\s*(?:strftime|datetime|date|time)\b)/i.test(dflt_value ?? '');
    samples.set(name, { type: row?.type ?? null, text: row?.text ?? null, hasTextDefault });
  }
  return samples;
}

interface Parts {
  readonly table: StoredTable;
  readonly columns: readonly StoredColumn[];
  readonly created: CreatedTable;
  readonly samples: ReadonlyMap<string, Sample>;
  /** Whether times in this database are texts. */
  readonly hasTextTimes: boolean;
  /** The columns of all tables. */
  readonly tables: ReadonlyMap<string, readonly StoredColumn[]>;
}

function tableOf(parts: Parts, keys: readonly StoredKeyColumn[], indexes: readonly StoredIndexColumn[]): InventoryTable {
  const { columns, created, table, tables } = parts;
  const primaryKey = keyOf(columns);
  const found = columns.map((column) => columnOf(column, parts, primaryKey));
  const isEnum = new Set(
    found.filter(({ mapping }) => 'items' in mapping && mapping.items).map(({ name }) => name.toLowerCase()),
  );
  return {
    schema: null,
    name: table.name,
    comment: null,
    columns: found,
    primaryKey,
    foreignKeys: Array.from(Map.groupBy(keys, ({ id }) => id).values(), (key) => foreignKeyOf(key, tables)),
    indexes: Array.from(Map.groupBy(indexes, ({ name }) => name).values(), indexOf),
    checks: created.checks.filter(({ expression }) => !(listIn(expression) && isEnum.has(firstName(expression)))),
    view: table.type === 'view' ? viewQuery(table.sql) : null,
  };
}

function keyOf(columns: readonly StoredColumn[]): readonly string[] {
  return columns
    .filter(({ pk }) => pk > 0)
    .sort((a, b) => a.pk - b.pk)
    .map(({ name }) => name);
}

function columnOf(
  column: StoredColumn,
  { created, hasTextTimes, samples, table }: Parts,
  primaryKey: readonly string[],
): InventoryColumn {
  const { dflt_value, hidden, name, notnull, pk, type } = column;
  const expression = created.generated.get(name.toLowerCase());
  const isGenerated = hidden > 1;
  const found = samples.get(name) ?? { type: null, text: null, hasTextDefault: false };
  const sample = { ...found, hasTextDefault: found.hasTextDefault || (hasTextTimes && /^(?:datetime|timestamp)/i.test(type)) };
  const mapping =
    isGenerated && expression === undefined ? { unsupported: 'its expression cannot be read' } : mappingOf(type, sample);
  return {
    name,
    type: type.toLowerCase() || 'without a type',
    base: type,
    mapping: withItems(mapping, name, created),
    isRequired: notnull === 1 || pk > 0,
    // such a column is the rowid itself
    isNumbered:
      table.type === 'table' && primaryKey.length === 1 && pk === 1 && type.toLowerCase() === 'integer' && table.wr === 0,
    default: dflt_value === null ? null : defaultOf(dflt_value),
    generated: isGenerated ? `(${expression}) ${hidden === 2 ? 'virtual' : 'stored'}` : null,
    comment: null,
  };
}

function withItems(mapping: InventoryColumn['mapping'], name: string, { checks }: CreatedTable): InventoryColumn['mapping'] {
  if (!('builder' in mapping) || !/^(?:text|string)\(/.test(mapping.builder)) return mapping;
  const own = checks.filter(({ expression }) => firstName(expression) === name.toLowerCase());
  const items = own.length === 1 ? listIn(own[0]?.expression as string)?.[0] : undefined;
  const options = /\.columnType\(.*\)/.exec(mapping.options)?.[0] ?? '';
  return items && items.length > 0 ? enumMapping(items, options) : mapping;
}

/** The column that a check begins with. */
function firstName(expression: string): string {
  const [, quotedName, plain] = /^\s*(?:["`[]([^"`\]]+)["`\]]|(\w+))/.exec(expression) ?? [];
  return (quotedName ?? plain ?? '').toLowerCase();
}

function defaultOf(sql: string): DefaultValue | null {
  if (/^null$/i.test(sql)) return null;
  const text = /^'((?:[^']|'')*)'$/.exec(sql)?.[1];
  if (text !== undefined) return { sql, value: text.replaceAll("''", "'") };
  if (/^(?:-?\d+(?:\.\d+)?|true|false)$/i.test(sql)) return { sql, value: sql.toLowerCase() };
  // the catalogue leaves out the parentheses that expressions need
  return { sql: /^(?:current_(?:timestamp|date|time)|\(.*\)|[-+]?[\d.]+\S*|x'.*'|".*")$/i.test(sql) ? sql : `(${sql})` };
}

function foreignKeyOf(columns: readonly StoredKeyColumn[], tables: Parts['tables']): InventoryForeignKey {
  const [{ on_delete, on_update, target }] = columns as [StoredKeyColumn];
  // names are case-insensitive
  const name = [...tables.keys()].find((one) => one.toLowerCase() === target.toLowerCase()) ?? target;
  const targetColumns = tables.get(name) ?? [];
  const key = keyOf(targetColumns);
  return {
    name: null,
    columns: columns.map(({ from }) => from),
    target: { schema: null, name },
    targetColumns: columns.map(({ to }, position) => {
      const wanted = to ?? key[position] ?? '';
      return targetColumns.find((one) => one.name.toLowerCase() === wanted.toLowerCase())?.name ?? wanted;
    }),
    onDelete: on_delete.toLowerCase(),
    onUpdate: on_update.toLowerCase(),
    deferred: null,
  };
}

function indexOf(columns: readonly StoredIndexColumn[]): InventoryIndex {
  const [{ name, origin, partial, sql, unique }] = columns as [StoredIndexColumn];
  const isPlain = partial === 0 && columns.every(({ coll, column, desc }) => column !== null && desc === 0 && coll === 'BINARY');
  return {
    // SQLite names the indexes of unique constraints itself
    name: origin === 'c' ? name : null,
    isUnique: unique === 1,
    columns: columns.flatMap(({ column }) => column ?? []),
    definition: isPlain || sql === null ? null : sql,
  };
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
