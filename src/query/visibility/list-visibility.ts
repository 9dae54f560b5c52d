import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../../database/mapper.ts';
import { concreteClasses, hasDiscriminator } from '../../model/hierarchy.ts';
import { keyOf } from '../../model/identifier.ts';
import { keysSelected } from '../entities/keys.ts';
import { type Condition, hiddenIn } from '../list/condition.ts';
import type { ListQuery } from '../list/list-query.ts';
import type { QueryText } from '../rows/bound-statement.ts';
import type { RequestVisibility } from './visibility.ts';

/**
 * Adds to what was asked what the caller sees of the classes that its condition leads through. A row that only a voter who looks
 * at it would show counts as hidden here: a database cannot ask a voter.
 */
export async function withVisibility<Request>(
  asked: ListQuery,
  { em, mapper, visibility }: { mapper: Mapper; visibility: RequestVisibility<Request>; em: () => RequestEntityManager },
): Promise<ListQuery> {
  const hidden = asked.condition ? hiddenIn(asked.condition) : [];
  if (hidden.length === 0) return asked;
  const sights = new Map<EntityMetadata, readonly ClassVisibility[]>();
  for (const meta of hidden) {
    const classes = concreteClasses(mapper, meta);
    const seen: ClassVisibility[] = [];
    for (const own of classes) {
      const type = classes.length > 1 || hasDiscriminator(own) ? own : null;
      seen.push({ type, keys: await keysSeen(em(), visibility, own) });
    }
    sights.set(meta, seen);
  }
  const quote = (name: string) => mapper.driver.getPlatform().quoteIdentifier(name).toString();
  return { ...asked, sight: (meta, alias) => visibilityText(meta, alias, sights.get(meta) ?? [], quote) };
}

/** What is seen of one class: the keys that any of the queries selects, or all of them (null). */
interface ClassVisibility {
  /** The class, where its rows share their table with others. */
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
  const key = `${alias}.${quote(keyOf(meta).fieldNames[0] as string)}`;
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

/** Whether a condition can be written without knowing who asks. */
export function isSameForAll(condition: Condition): boolean {
  return hiddenIn(condition).length === 0;
}
