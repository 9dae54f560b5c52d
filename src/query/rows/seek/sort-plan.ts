import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import type { Mapper } from '../../../database/mapper.ts';
import type { SortKey } from '../../../declaration/types.ts';
import { type KeyPart, keyParts } from '../../../model/identifier.ts';
import { isFiltered } from '../../entities/filters.ts';
import { type AssociatedRows, associatedRows, belongsTo, foreignKey, NotCompilable } from '../association.ts';
import { rootTableAlias } from '../row-plan.ts';
import { columnOf, quoted } from '../table-name.ts';

/** One column that a list is ordered by. */
export interface SortColumn {
  readonly direction: 'asc' | 'desc';
  readonly property: EntityProperty;
  /** The associations that lead from the list's model to that of the column, in order. */
  readonly through: readonly EntityProperty[];
  /** The column in SQL, for a statement with the joins of the plan. */
  readonly sql: string;
  /** The same value without these joins, for a row of the model under the alias `root`. */
  valueOf(root: string): string;
}

/** The columns that a list is ordered by, the key last, and the joins that they need. */
export interface SortPlan {
  readonly columns: readonly SortColumn[];
  readonly joins: readonly string[];
}

/** Finds the columns of an order, or throws {@link NotCompilable} if only MikroORM knows them. */
export function planSort(mapper: Mapper, meta: EntityMetadata, sort: readonly SortKey[]): SortPlan {
  const joins: string[] = [];
  const columns = sort.map((sortKey) => planColumn(mapper, meta, sortKey, joins));
  return { columns: [...columns, ...keyParts(meta).map((part) => keyColumn(mapper, part))], joins };
}

function keyColumn(mapper: Mapper, { column, leaf }: KeyPart): SortColumn {
  const name = quoted(mapper, column);
  const sql = `${rootTableAlias}.${name}`;
  return { direction: 'asc', property: leaf, through: [], sql, valueOf: (root) => `${root}.${name}` };
}

interface Hop {
  readonly property: EntityProperty;
  /** The associated rows, under an alias. */
  rows(alias: string): AssociatedRows;
}

function planColumn(mapper: Mapper, meta: EntityMetadata, { property: path, direction }: SortKey, joins: string[]): SortColumn {
  const refusal = new NotCompilable(`the order by ${path} is made by the mapper`);
  const hops: Hop[] = [];
  let owner = meta;
  let properties = meta.properties as Readonly<Record<string, EntityProperty | undefined>>;
  let from = rootTableAlias;
  const names = path.split('.');
  const last = names.pop() as string;
  for (const name of names) {
    const property = properties[name];
    if (property?.kind === ReferenceKind.EMBEDDED && !property.object && !property.array) {
      properties = property.embeddedProps as typeof properties;
      continue;
    }
    const target = property?.targetMeta;
    if (!target || target.embeddable || foreignKey(mapper, property) === null || isFiltered(target)) throw refusal;
    const ends = { owner, target };
    const hop: Hop = { property, rows: (alias) => associatedRows(mapper, property, ends, alias, '') };
    hops.push(hop);
    const alias = `s${joins.length}`;
    joins.push(joinOf(hop, alias, from));
    owner = target;
    properties = target.properties as typeof properties;
    from = alias;
  }
  const property = properties[last];
  if (property?.fieldNames?.length !== 1 || property.formula || property.customOrder || property.object) throw refusal;
  const column = columnOf(mapper, property);
  return {
    direction,
    property,
    through: hops.map((hop) => hop.property),
    sql: `${from}.${column}`,
    valueOf: (root) => (hops.length === 0 ? `${root}.${column}` : `(${lookup(hops, root, column)})`),
  };
}

function joinOf(hop: Hop, alias: string, from: string): string {
  const rows = hop.rows(alias);
  return `left join ${rows.from} on ${belongsTo(rows, [from]).join('')}`;
}

function lookup([first, ...rest]: readonly Hop[], root: string, column: string): string {
  const rows = (first as Hop).rows('sought0');
  const joins = rest.map((hop, index) => ` ${joinOf(hop, `sought${index + 1}`, `sought${index}`)}`);
  return `select sought${rest.length}.${column} from ${rows.from}${joins.join('')} where ${belongsTo(rows, [root]).join('')}`;
}
