import type { EntityMetadata } from '@mikro-orm/core';
import type { Executor } from '../database/executor.ts';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import { type Dialect, dialectOf } from '../dialect/dialect.ts';
import { keyOf } from '../model/identifier.ts';
import { valueKindOf } from '../model/value-kind.ts';
import type { SeenKeys } from '../serialization/row-writer.ts';
import { statementOf } from './bound-statement.ts';
import { ConditionReader } from './condition-query.ts';
import { type Door, type Doors, queryThrough } from './doors.ts';
import { keysAmong } from './keys.ts';
import { parametrized } from './parametrized.ts';
import { type AnyQueryBuilder, isPlain, rootAlias } from './restriction.ts';
import { NeedsEntity, tableOf } from './row-plan.ts';

/** Finds out for compiled reads which embedded rows a caller sees: a statement for each class and door. */
export class RowSight<Request> {
  readonly #mapper: Mapper;
  readonly #dialect: Dialect;
  readonly #doors: Doors<Request>;
  readonly #executor: Executor;
  readonly #conditions = new Map<EntityMetadata, ConditionReader>();

  constructor(mapper: Mapper, doors: Doors<Request>, executor: Executor) {
    this.#mapper = mapper;
    this.#dialect = dialectOf(mapper);
    this.#doors = doors;
    this.#executor = executor;
  }

  /** The keys that the caller sees, of those that are given by their texts. Throws {@link NeedsEntity} where somebody has to judge a row. */
  async seen(
    em: RequestEntityManager,
    request: Request,
    own: EntityMetadata,
    keys: ReadonlyMap<string, unknown>,
  ): Promise<SeenKeys> {
    if (await this.#doors.isOpenTo(request, own)) return new Set(keys.keys());
    const limits = this.#doors.limitsOf(own);
    const shown = await Promise.all(limits.map((door) => this.#through(em, request, door, keys)));
    const seen = new Set(shown.flat());
    if (seen.size < keys.size && limits.some(({ readsSubject, restrict }) => restrict === null && readsSubject))
      throw new NeedsEntity(`${own.className} has an API that shows a row to those who may see it`);
    return seen;
  }

  async #through(
    em: RequestEntityManager,
    request: Request,
    door: Door<Request>,
    keys: ReadonlyMap<string, unknown>,
  ): Promise<string[]> {
    const query = await queryThrough(em, request, door);
    if (!query) return [];
    const rows = isPlain(query) ? this.#rows(query, door.meta, keys) : null;
    if (rows) return (await rows).map(([key]) => String(key));
    return (await keysAmong(em, door.meta, query, [...keys.values()], door.sort)).map(String);
  }

  /** The rows of a query that is a condition and nothing else; null where it is more. */
  #rows(query: AnyQueryBuilder, meta: EntityMetadata, keys: ReadonlyMap<string, unknown>): Promise<unknown[][]> | null {
    const reader = this.#conditions.get(meta) ?? new ConditionReader(this.#mapper, meta);
    this.#conditions.set(meta, reader);
    const condition = reader.of(query);
    const bound = condition && parametrized(condition.sql, condition.params, this.#dialect);
    if (!bound) return null;
    const platform = this.#mapper.driver.getPlatform();
    const { sql, values } = this.#dialect;
    const among = sql.among([reader.key], sql.parameter(bound.params.length + 1)).join('');
    const from = `${tableOf(this.#mapper, meta)} as ${platform.quoteIdentifier(rootAlias)}`;
    const text = `select ${reader.key} from ${from} where ${bound.sql === '' ? '' : `${bound.sql} and `}${among}`;
    const isWide = valueKindOf(keyOf(meta), platform).kind === 'bigint';
    return this.#executor.rows(statementOf(text, isWide), [...bound.params, values.list(keys.values())]);
  }
}
