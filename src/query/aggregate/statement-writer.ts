import type { Platform } from '@mikro-orm/core';
import type { Dialect } from '../../dialect/dialect.ts';
import type { Condition, VisibleRows } from '../list/condition.ts';
import { type BoundStatement, type QueryText, statementOf } from '../rows/bound-statement.ts';
import { parametrized } from '../rows/parametrized.ts';
import { rootTableAlias } from '../rows/row-plan.ts';

/** Writes a statement from texts, values, conditions and queries of MikroORM, and numbers its parameters. */
export class StatementWriter {
  readonly #dialect: Dialect;
  readonly #platform: Platform;
  readonly #visibleRows: VisibleRows | null;
  readonly #parameters: unknown[] = [];
  #text = '';

  constructor(dialect: Dialect, platform: Platform, visibleRows: VisibleRows | null) {
    this.#dialect = dialect;
    this.#platform = platform;
    this.#visibleRows = visibleRows;
  }

  text(sql: string): this {
    this.#text += sql;
    return this;
  }

  value(value: unknown): this {
    this.#text += this.#dialect.sql.parameter(this.#parameters.push(value));
    return this;
  }

  /** SQL that has `?` for each parameter. */
  query(query: QueryText): this {
    const before = this.#parameters.length;
    const written =
      parametrized(query, this.#dialect, before) ??
      ({ sql: this.#platform.formatQuery(query.sql, query.params), params: [] } satisfies QueryText);
    this.#text += written.sql;
    this.#parameters.push(...written.params);
    return this;
  }

  condition(condition: Condition): this {
    for (const part of condition) {
      if (typeof part === 'string') this.text(part);
      else if (part.kind === 'root') this.text(rootTableAlias);
      else if (part.kind === 'value') this.value(part.value);
      else this.query(this.#visibleRows?.(part.meta, part.alias) ?? { sql: '1 = 0', params: [] });
    }
    return this;
  }

  statement(isWide: boolean): BoundStatement {
    return { statement: statementOf(this.#text, isWide), parameters: this.#parameters };
  }
}
