import type { EntityMetadata } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import type { Executor } from '../database/executor.ts';
import type { Mapper } from '../database/mapper.ts';
import type { SortKey } from '../declaration/types.ts';
import { dialectOf } from '../dialect/dialect.ts';
import { asRow } from '../model/key-condition.ts';
import type { AggregatePlan } from '../query/aggregate/aggregate-plan.ts';
import { StatementWriter } from '../query/aggregate/statement-writer.ts';
import { conditionOf } from '../query/entities/condition-query.ts';
import { hidingAssociation } from '../query/entities/filters.ts';
import { keysSelected } from '../query/entities/keys.ts';
import { type AnyQueryBuilder, unrestrictedQuery } from '../query/entities/restriction.ts';
import { type Condition, hiddenIn, type VisibleRows } from '../query/list/condition.ts';
import { classConditions, keyColumns } from '../query/rows/association.ts';
import type { BoundStatement, QueryText } from '../query/rows/bound-statement.ts';
import type { RootFilter } from '../query/rows/root-filter.ts';
import { rootTableAlias } from '../query/rows/row-plan.ts';
import { tableOf } from '../query/rows/table-name.ts';
import { visibleRowsOf } from '../query/visibility/list-visibility.ts';
import type { Restriction } from './port.ts';
import { stateOf, withState } from './request-state.ts';
import type { VisibilityOf } from './row-store.ts';

/** The groups of a request: which rows, how they are aggregated, and which part of the results. */
export interface AggregateRequest {
  readonly plan: AggregatePlan;
  /** The filters and the search of the request. */
  readonly condition: Condition | null;
  /** Decides which rows pass a restriction to a number of rows, as in the list of the caller. */
  readonly sort: readonly SortKey[];
  readonly limit: number;
  readonly offset: number;
}

/** Results as JSON objects, separated by commas, and the number of all groups. */
interface AggregatePage {
  readonly results: string;
  readonly count: number;
}

interface AggregateStoreOptions {
  readonly executor: Executor;
  readonly filter: RootFilter;
  readonly visibilityOf: VisibilityOf;
}

/** Aggregates the rows of one model in the database. A row counts once, however often a restriction selects it. */
export class AggregateStore {
  readonly #mapper: Mapper;
  readonly #meta: EntityMetadata;
  readonly #options: AggregateStoreOptions;
  readonly #keys: readonly string[];
  readonly #table: string;
  /** The conditions that are the same for every request. */
  readonly #own: readonly string[];
  /** Whether filters of models have to be applied to each request. */
  readonly #isFiltered: boolean;

  constructor(mapper: Mapper, meta: EntityMetadata, options: AggregateStoreOptions) {
    const { filter } = options;
    this.#mapper = mapper;
    this.#meta = meta;
    this.#options = options;
    this.#keys = keyColumns(mapper, meta).map((column) => `${rootTableAlias}.${column}`);
    this.#table = `${tableOf(mapper, meta)} as ${rootTableAlias}`;
    this.#isFiltered = filter.kind !== 'fixed' || hidingAssociation(meta) !== undefined;
    const filters = filter.kind === 'fixed' ? filter.conditions : [];
    this.#own = [...classConditions(mapper, meta, rootTableAlias), ...filters];
  }

  async page(request: ApiRequest, restriction: Restriction, asked: AggregateRequest): Promise<AggregatePage> {
    const { limit, offset, plan } = asked;
    const visibleRows = await this.#visibleRows(request, asked);
    const restricted = await this.#restricted(request, restriction, asked);
    const from = (columns: string) => {
      const writer = new StatementWriter(dialectOf(this.#mapper), this.#mapper.driver.getPlatform(), visibleRows);
      writer.text(`select ${columns} from ${this.#table}`);
      for (const join of plan.joins) writer.condition(join);
      let word = ' where ';
      for (const condition of [
        ...this.#own,
        ...(restricted ? [restricted] : []),
        ...(asked.condition ? [asked.condition] : []),
      ]) {
        writer.text(word);
        if (typeof condition === 'string') writer.text(condition);
        else if ('sql' in condition) writer.query(condition);
        else writer.condition(condition);
        word = ' and ';
      }
      return writer.text(plan.groupBy);
    };
    const page = from(plan.columns)
      .text(`${plan.orderBy} limit `)
      .value(limit + 1)
      .text(' offset ')
      .value(offset);
    const rows = await this.#send(page.statement(plan.isWide));
    const write = plan.writer(this.#options.executor.format);
    const results = rows.slice(0, limit).map((row) => write(row, [], []));
    const isLast = rows.length <= limit && (rows.length > 0 || offset === 0);
    const count = isLast ? offset + rows.length : await this.#countOf(plan, from);
    return { results: results.join(), count };
  }

  async #countOf({ groups }: AggregatePlan, from: (columns: string) => StatementWriter): Promise<number> {
    if (groups === '') return 1;
    const { statement, parameters } = from(groups).statement(false);
    const text = `select count(*) from (${statement.text}) as grouped`;
    const [row] = await this.#send({ statement: { ...statement, name: `${statement.name}n`, text }, parameters });
    return Number(row?.[0]);
  }

  #send({ parameters, statement }: BoundStatement): Promise<unknown[][]> {
    return this.#options.executor.rows(statement, parameters);
  }

  /** The visibility of the classes in the request; null if the caller can see everything. */
  async #visibleRows(request: ApiRequest, { condition, plan }: AggregateRequest): Promise<VisibleRows | null> {
    const hidden = [...new Set([...plan.hidden, ...(condition ? hiddenIn(condition) : [])])];
    if (hidden.length === 0) return null;
    const state = stateOf(request, this.#mapper);
    const visibility = this.#options.visibilityOf(request);
    return withState(state, () => visibleRowsOf(hidden, { mapper: this.#mapper, visibility, em: () => state.em }));
  }

  /** The condition for the rows that a restriction and the filters of models select; null if they select all. */
  async #restricted(request: ApiRequest, restriction: Restriction, { plan, sort }: AggregateRequest): Promise<QueryText | null> {
    if (!restriction && !this.#isFiltered) return null;
    const { em } = stateOf(request, this.#mapper);
    const query: AnyQueryBuilder = restriction ?? (await unrestrictedQuery(em, this.#meta));
    const condition = conditionOf(query, this.#meta);
    if (!condition) {
      const { params, sql } = keysSelected(em, this.#meta, query, sort);
      return { sql: `${asRow(this.#keys)} in (${sql})`, params };
    }
    if (condition.sql === '') return null;
    if (condition.isOfRowAlone || plan.joins.length === 0) return condition;
    // SQL of the application may name columns without their table, and joined tables can have columns of the same name
    const { params, sql } = condition;
    return { sql: `${asRow(this.#keys)} in (select ${this.#keys.join(', ')} from ${this.#table} where ${sql})`, params };
  }
}
