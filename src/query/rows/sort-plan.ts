import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import type { Mapper } from '../../database/mapper.ts';
import type { SortKey } from '../../declaration/types.ts';
import { keyOf } from '../../model/identifier.ts';
import { isFiltered } from '../entities/filters.ts';
import { NeedsEntity, rootTableAlias } from './row-plan.ts';
import { tableOf } from './table-name.ts';

/** One column that a list is ordered by. */
export interface SortColumn {
  readonly direction: 'asc' | 'desc';
  readonly property: EntityProperty;
  /** The models that stand between the list's own and the column's, in order. */
  readonly through: readonly EntityProperty[];
  /** As it stands in SQL beside the joins of the plan. */
  readonly sql: string;
  /** The same value without any join, for a row of the model that goes by `root`. */
  valueOf(root: string): string;
}

/** What a list is ordered by, the key last, and what has to be joined for it. */
export interface SortPlan {
  readonly columns: readonly SortColumn[];
  readonly joins: readonly string[];
}

/** Finds the columns of an order, or throws {@link NeedsEntity} where only the mapper knows them. */
export function planSort(mapper: Mapper, meta: EntityMetadata, sort: readonly SortKey[]): SortPlan {
  const joins: string[] = [];
  const key: SortKey = { property: keyOf(meta).name as string, direction: 'asc' };
  const columns = [...sort, key].map((sortKey) => planColumn(mapper, meta, sortKey, joins));
  return { columns, joins };
}

interface Hop {
  readonly property: EntityProperty;
  readonly table: string;
  readonly key: string;
  readonly foreignKey: string;
}

function planColumn(mapper: Mapper, meta: EntityMetadata, { property: path, direction }: SortKey, joins: string[]): SortColumn {
  const quote = (name: string) => mapper.driver.getPlatform().quoteIdentifier(name).toString();
  const refusal = new NeedsEntity(`the order by ${path} is made by the mapper`);
  const hops: Hop[] = [];
  let properties = meta.properties as Readonly<Record<string, EntityProperty | undefined>>;
  let sql = rootTableAlias;
  const names = path.split('.');
  const last = names.pop() as string;
  for (const name of names) {
    const property = properties[name];
    if (property?.kind === ReferenceKind.EMBEDDED && !property.object && !property.array) {
      properties = property.embeddedProps as typeof properties;
      continue;
    }
    const target = property?.targetMeta;
    const ownsColumn = property?.owner || property?.kind === ReferenceKind.MANY_TO_ONE;
    if (!target || target.embeddable || !ownsColumn || property.fieldNames?.length !== 1) throw refusal;
    if (property.polymorphic || isFiltered(target)) throw refusal;
    const hop = {
      property,
      table: tableOf(mapper, target),
      key: quote(keyOf(target).fieldNames[0] as string),
      foreignKey: quote(property.fieldNames[0] as string),
    };
    hops.push(hop);
    const alias = `s${joins.length}`;
    joins.push(joinOf(hop, alias, sql));
    properties = target.properties as typeof properties;
    sql = alias;
  }
  const property = properties[last];
  if (property?.fieldNames?.length !== 1 || property.formula || property.customOrder || property.object) throw refusal;
  const column = quote(property.fieldNames[0] as string);
  return {
    direction,
    property,
    through: hops.map((hop) => hop.property),
    sql: `${sql}.${column}`,
    valueOf: (root) => (hops.length === 0 ? `${root}.${column}` : `(${lookup(hops, root, column)})`),
  };
}

function joinOf({ foreignKey, key, table }: Hop, alias: string, from: string): string {
  return `left join ${table} as ${alias} on ${alias}.${key} = ${from}.${foreignKey}`;
}

function lookup([first, ...rest]: readonly Hop[], root: string, column: string): string {
  const { foreignKey, key, table } = first as Hop;
  const joins = rest.map((hop, index) => ` ${joinOf(hop, `sought${index + 1}`, `sought${index}`)}`);
  return `select sought${rest.length}.${column} from ${table} as sought0${joins.join('')} where sought0.${key} = ${root}.${foreignKey}`;
}
