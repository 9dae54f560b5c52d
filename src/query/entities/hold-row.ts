import { type EntityMetadata, helper } from '@mikro-orm/core';
import type { RequestEntityManager } from '../../database/mapper.ts';
import { dialectOn } from '../../dialect/dialect.ts';
import { keyOf } from '../../model/identifier.ts';
import { versionOf, versionText } from '../../model/version.ts';
import { versionReader } from '../rows/version-reader.ts';

/** A row that is held. */
export interface HeldRow {
  /** Whether it still has the version that the entity was read with. */
  readonly isAsRead: boolean;
}

/**
 * Holds an entity's row until the transaction ends, against those who would change or remove it, and not against those who
 * only refer to it. Null: it is gone.
 */
export async function holdRow(em: RequestEntityManager, entity: object): Promise<HeldRow | null> {
  const platform = em.getPlatform();
  const { root } = helper(entity).__meta;
  const version = versionOf(root as EntityMetadata);
  const quote = (name: string) => platform.quoteIdentifier(name).toString();
  const table = [root.schema, root.tableName]
    .filter((part) => part !== undefined)
    .map((part) => quote(part as string))
    .join('.');
  const column = quote(keyOf(root as EntityMetadata).fieldNames[0] as string);
  const selected = version ? `${quote(version.fieldNames[0] as string)} as version` : '1';
  const sql = `select ${selected} from ${table} where ${column} = ?${dialectOn(platform).sql.rowLock()}`;
  const [row] = await em.execute(sql, [helper(entity).getPrimaryKey(true)]);
  if (!row || !version) return row ? { isAsRead: true } : null;
  const read = versionText((entity as Record<string, unknown>)[version.name as string]);
  const held = versionReader(root as EntityMetadata, platform)((row as { version: unknown }).version);
  return { isAsRead: read === null || read === held };
}

/**
 * Takes entities as they are for what is in the database. The mapper can think a row that it has just read to be changed:
 * PostgreSQL gives back the keys of a JSON object in an order of its own.
 */
export function takeAsRead(em: RequestEntityManager, entities: Iterable<object>): void {
  for (const entity of entities) {
    const wrapped = helper(entity);
    if (wrapped.isInitialized()) wrapped.__originalEntityData = em.getComparator().prepareEntity(entity as never) as never;
  }
}
