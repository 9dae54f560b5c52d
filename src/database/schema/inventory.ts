import type { TableName } from './catalogue.ts';

/** Everything in a database that could become a model. */
export interface Inventory {
  readonly tables: readonly InventoryTable[];
  /** Objects that cannot become a model. */
  readonly skipped: readonly SkippedObject[];
}

export interface SkippedObject extends TableName {
  readonly reason: string;
}

export interface InventoryTable extends TableName {
  readonly comment: string | null;
  readonly columns: readonly InventoryColumn[];
  /** In the order of the key. */
  readonly primaryKey: readonly string[];
  readonly foreignKeys: readonly InventoryForeignKey[];
  readonly indexes: readonly InventoryIndex[];
  readonly checks: readonly InventoryCheck[];
  /** The query of a view; null for a table. */
  readonly view: string | null;
}

export interface InventoryColumn {
  readonly name: string;
  /** As the database writes it. */
  readonly type: string;
  /** The type behind a domain. */
  readonly base: string;
  /** The property that holds its values; or the reason why no property can. */
  readonly mapping: PropertyMapping | { readonly unsupported: string };
  readonly isRequired: boolean;
  /** Whether new rows are numbered by it. */
  readonly isNumbered: boolean;
  readonly default: DefaultValue | null;
  /** The expression of a generated column, followed by `stored` or `virtual`. */
  readonly generated: string | null;
  readonly comment: string | null;
}

export interface PropertyMapping {
  /** The name of a property builder and its arguments: `enum(['a', 'b'])`. */
  readonly builder: string;
  /** Further calls: `.length(50)`. */
  readonly options: string;
  /** Why this builder, if the reader would expect another. */
  readonly note?: string | undefined;
  /** How a default of this column is written. */
  readonly literal: 'text' | 'number' | 'boolean' | null;
  /** Whether a URL path can contain it. */
  readonly isAddressable: boolean;
  /** Columns of one family can refer to each other. */
  readonly family: string;
  /** The allowed values of an enum. */
  readonly items?: readonly string[] | undefined;
}

export interface DefaultValue {
  readonly sql: string;
  /** The value, if the expression is a literal. */
  readonly value?: string | undefined;
}

export interface InventoryForeignKey {
  /** Null if the database does not name it. */
  readonly name: string | null;
  readonly columns: readonly string[];
  readonly target: TableName;
  readonly targetColumns: readonly string[];
  readonly onDelete: string;
  readonly onUpdate: string;
  readonly deferred: 'immediate' | 'deferred' | null;
}

export interface InventoryIndex {
  readonly name: string | null;
  readonly isUnique: boolean;
  readonly columns: readonly string[];
  /** The statement that creates it, if columns alone do not describe it. */
  readonly definition: string | null;
}

export interface InventoryCheck {
  readonly name: string | null;
  readonly expression: string;
}

/** The column that identifies the rows of a view, which has no primary key: `id`, or a first column such as `film_id`. */
export function viewKey(names: readonly string[]): string[] {
  const id = names.find((name) => name.toLowerCase() === 'id');
  return id === undefined ? names.slice(0, 1).filter((name) => /_id$/i.test(name)) : [id];
}

/** A text as a JavaScript literal in single quotes, as the formatter writes it. */
export function literalOf(text: string): string {
  const escaped = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"');
  if (!escaped.includes("'")) return `'${escaped}'`;
  return escaped.includes('"') ? `'${escaped.replaceAll("'", "\\'")}'` : `"${escaped}"`;
}

/** The builder of a list of values. */
export function enumMapping(items: readonly string[], options: string): PropertyMapping {
  return {
    builder: `enum([${items.map(literalOf).join(', ')}])`,
    options,
    literal: 'text',
    isAddressable: true,
    family: 'enum',
    items,
  };
}

/** Tables that Declarest creates itself, on either database. */
export const ownTables = /^(?:declarest_\w+|mikro_orm_migrations)$/;
