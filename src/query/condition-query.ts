import { type EntityMetadata, QueryFlag } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import { keyOf } from '../model/identifier.ts';
import { type AnyQueryBuilder, rootAlias } from './restriction.ts';
import { tableOf } from './row-plan.ts';

/** A query as the mapper wrote it, or a part of it, with `?` for each parameter. */
export interface QueryText {
  readonly sql: string;
  readonly params: readonly unknown[];
}

/** Tells queries that are a condition on the model's own rows, and nothing else, from those that say more. */
export class ConditionReader {
  readonly #keyName: string;
  readonly #start: string;
  /** The key of the model, as it stands in the mapper's texts. */
  readonly key: string;

  constructor(mapper: Mapper, meta: EntityMetadata) {
    const quote = (name: string) => mapper.driver.getPlatform().quoteIdentifier(name).toString();
    const { fieldNames, name } = keyOf(meta);
    this.#keyName = name as string;
    this.key = `${quote(rootAlias)}.${quote(fieldNames[0] as string)}`;
    this.#start = `select ${this.key} from ${tableOf(mapper, meta)} as ${quote(rootAlias)}`;
  }

  /** The condition in the text of a query that selects keys: empty where there is none, null where the query says more. */
  in(sql: string): string | null {
    if (sql === this.#start) return '';
    const isAlone = sql.startsWith(`${this.#start} where `);
    return isAlone ? `(${sql.slice(this.#start.length + ' where '.length)})` : null;
  }

  /** The condition that a query is, or null. The query itself is written out for it, and can only be copied after that. */
  of(query: AnyQueryBuilder): QueryText | null {
    const { state } = query;
    const says = state.orderBy.length > 0 || state.lockMode !== undefined || state.finalized || state.unionQuery;
    if (says || Object.keys(state.joins).length > 0 || query.mainAlias.aliasName !== rootAlias) return null;
    const keys = query.unsetFlag(QueryFlag.DISTINCT).select(this.#keyName as never) as unknown as AnyQueryBuilder;
    const { sql, params } = keys.toQuery();
    const condition = this.in(sql);
    return condition === null ? null : { sql: condition, params };
  }
}
