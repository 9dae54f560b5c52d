import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../../database/mapper.ts';
import { concreteClasses, hasDiscriminator } from '../../model/hierarchy.ts';
import { keyParts } from '../../model/identifier.ts';
import { asRow } from '../../model/key-condition.ts';
import { keysSelected } from '../entities/keys.ts';
import { type Condition, hiddenIn, type VisibleRows } from '../list/condition.ts';
import type { ListQuery } from '../list/list-query.ts';
import type { QueryText } from '../rows/bound-statement.ts';
import type { RequestVisibility } from './visibility.ts';

/**
 * Adds to a list query which rows the caller sees of the classes in its condition. If only a voter that reads a row could show
 * it, the row counts as hidden here: a database cannot call a voter.
 */
export async function withVisibility<Request>(listQuery: ListQuery, caller: VisibilityContext<Request>): Promise<ListQuery> {
  const hidden = listQuery.condition ? hiddenIn(listQuery.condition) : [];
  return hidden.length === 0 ? listQuery : { ...listQuery, visibleRows: await visibleRowsOf(hidden, caller) };
}

interface VisibilityContext<Request> {
  readonly mapper: Mapper;
  readonly visibility: RequestVisibility<Request>;
  readonly em: () => RequestEntityManager;
}

/** Which rows of classes a caller sees, as conditions of a statement. */
export async function visibleRowsOf<Request>(
  hidden: readonly EntityMetadata[],
  { em, mapper, visibility }: VisibilityContext<Request>,
): Promise<VisibleRows> {
  const seenByClass = new Map<EntityMetadata, readonly ClassVisibility[]>();
  for (const meta of hidden) {
    const classes = concreteClasses(mapper, meta);
    const seen: ClassVisibility[] = [];
    for (const own of classes) {
      const type = classes.length > 1 || hasDiscriminator(own) ? own : null;
      seen.push({ type, keys: await keysSeen(em(), visibility, own) });
    }
    seenByClass.set(meta, seen);
  }
  const quote = (name: string) => mapper.driver.getPlatform().quoteIdentifier(name).toString();
  return (meta, alias) => visibilityText(meta, alias, seenByClass.get(meta) ?? [], quote);
}

/** The visible rows of one class: the keys that any of the queries selects, or all of them (null). */
interface ClassVisibility {
  /** The class, if its rows share a table with those of other classes. */
  readonly type: EntityMetadata | null;
  readonly keys: readonly QueryText[] | null;
}

async function keysSeen<Request>(
  em: RequestEntityManager,
  visibility: RequestVisibility<Request>,
  own: EntityMetadata,
): Promise<ClassVisibility['keys']> {
  if (await visibility.isOpen(own)) return null;
  return (await visibility.queriesOf(own)).map(({ query, rule }) => keysSelected(em, rule.meta, query, rule.sort));
}

function visibilityText(
  meta: EntityMetadata,
  alias: string,
  classes: readonly ClassVisibility[],
  quote: (name: string) => string,
): QueryText {
  const params: unknown[] = [];
  const key = asRow(keyParts(meta).map(({ column }) => `${alias}.${quote(column)}`));
  const branches = classes.flatMap(({ keys, type }) => {
    const isOfClass = type ? [typeCondition(type, alias, quote)] : [];
    if (keys === null) return [isOfClass[0] ?? '1 = 1'];
    if (keys.length === 0) return [];
    const among = keys.map((text) => {
      params.push(...text.params);
      return `${key} in (${text.sql})`;
    });
    return [`(${[...isOfClass, `(${among.join(' or ')})`].join(' and ')})`];
  });
  return branches.length === 0 ? { sql: '1 = 0', params: [] } : { sql: `(${branches.join(' or ')})`, params };
}

function typeCondition(meta: EntityMetadata, alias: string, quote: (name: string) => string): string {
  const property = meta.root.properties[meta.root.discriminatorColumn as never] as EntityProperty;
  const value = String(meta.discriminatorValue).replaceAll("'", "''");
  return `${alias}.${quote(property.fieldNames[0] as string)} = '${value}'`;
}

/** Whether the SQL of a condition is the same for all callers. */
export function isSameForAll(condition: Condition): boolean {
  return hiddenIn(condition).length === 0;
}
