import type { Mapper } from '../../database/mapper.ts';
import { type AggregateFunction, type Period, periods } from '../../declaration/vocabulary.ts';
import { dialectOf } from '../../dialect/dialect.ts';
import { columnKinds } from '../../dialect/value-kind.ts';
import { readableField } from '../../model/readable-field.ts';
import type { ValueKind } from '../../model/value-kind.ts';
import { toJson } from '../../serialization/kind-conversions.ts';
import type { RowField } from '../../serialization/row-writer.ts';
import { type Condition, conditionText } from '../list/condition.ts';
import type { AliasOf, JoinedColumn, PathColumn } from '../list/filter-path.ts';
import { kindName, operatorsFor } from '../list/filter-value.ts';
import { type ListQueryModel, pathOf } from '../list/list-query.ts';
import { NotCompilable } from '../rows/association.ts';
import { columnField } from '../rows/column-field.ts';
import { rootTableAlias } from '../rows/row-plan.ts';

/** A field of a result row that holds one value. */
export type ValueField = Extract<RowField, { kind: 'value' }>;

/** A value of each group: a field that rows are grouped by, or an aggregate. */
export interface AggregateTerm {
  /** As a request names it: `kind`, `bornAt:month`, `amount:sum`. */
  readonly name: string;
  readonly sql: string;
  /** The sort keys. */
  readonly order: readonly string[];
  readonly joins: readonly Condition[];
  /** How its value is written. The position of its column is set when a statement is planned. */
  readonly value: ValueField;
  /** Whether it can be an integer beyond 2^53. */
  readonly isWide: boolean;
}

type Refuse = (message: string) => void;

/** A column that belongs to exactly one row for each row of the list. */
interface TermColumn extends Omit<PathColumn, 'sql'> {
  readonly sql: string;
  readonly joins: readonly Condition[];
}

/** Plans a field to group by; null if that is impossible, which is reported. */
export function groupTerm(model: ListQueryModel, name: string, aliasOf: AliasOf, refuse: Refuse): AggregateTerm | null {
  const { field, period } = splitPeriod(model, name);
  const [, dated, unknown] = /^(.+):([^:]*)$/.exec(field) ?? [];
  if (dated !== undefined && !readableField(model.plan, field) && readableField(model.plan, dated)) {
    refuse(`unknown period "${unknown}" of "${dated}"; known: ${periods.join(', ')}`);
    return null;
  }
  const column = columnAt(model, field, aliasOf, refuse);
  if (!column) return null;
  const { joins, kind, property } = column;
  const { aggregates } = dialectOf(model.mapper).sql;
  if (!operatorsFor(kind, property, dialectOf(model.mapper)).includes('eq')) {
    refuse(`cannot group by "${field}", which is ${kindName(kind)}`);
    return null;
  }
  const type = columnType(column);
  if (!period) {
    const sql = kind.kind === 'datetime' ? aggregates.milliseconds(column.sql, type) : column.sql;
    return termOf(model.mapper, name, { ...column, sql }, refuse);
  }
  if (kind.kind !== 'date' && kind.kind !== 'datetime') {
    refuse(`cannot group by the ${period} of "${field}", which is ${kindName(kind)}`);
    return null;
  }
  const sql = aggregates.period(column.sql, kind.kind, type, period);
  const value: ValueField = { kind: 'value', name, column: 0, value: { kind: 'string', length: null } };
  return { name, sql, order: [sql], joins, value, isWide: false };
}

/** Plans an aggregate of a field; null if the function does not suit the field, which is reported. */
export function functionTerm(
  model: ListQueryModel,
  field: string,
  of: AggregateFunction,
  aliasOf: AliasOf,
  refuse: Refuse,
): AggregateTerm | null {
  const column = columnAt(model, field, aliasOf, refuse);
  if (!column) return null;
  const { kind, property } = column;
  const allowed = functionsFor(kind, operatorsFor(kind, property, dialectOf(model.mapper)).includes('lt'));
  if (!allowed.includes(of)) {
    const suited = allowed.length > 0 ? `; allowed: ${allowed.join(', ')}` : '';
    refuse(`the function "${of}" does not work on "${field}", which is ${kindName(kind)}${suited}`);
    return null;
  }
  const name = `${field}:${of}`;
  const { aggregates } = dialectOf(model.mapper).sql;
  const { joins, sql } = column;
  if (of === 'min' || of === 'max') return termOf(model.mapper, name, { ...column, sql: `${of}(${sql})` }, refuse, of);
  if (of === 'avg') {
    const value: ValueField = { kind: 'value', name: of, column: 0, value: { kind: 'float' } };
    const average = aggregates.average(sql, kind);
    return { name, sql: average, order: [average], joins, value, isWide: false };
  }
  const sum = aggregates.sum(sql, kind);
  // a sum can exceed the type of its column
  const sumKind: ValueKind = kind.kind === 'integer' ? { kind: 'bigint', as: 'string' } : kind;
  const write = toJson(sumKind);
  const value: ValueField = { kind: 'value', name: of, column: 0, value: sumKind, convert: (given) => write(sum.read(given)) };
  return { name, sql: sum.sql, order: sum.order, joins, value, isWide: sumKind.kind === 'bigint' };
}

/** `bornAt:month`, unless that is the whole name of a field. */
function splitPeriod({ plan }: ListQueryModel, name: string): { readonly field: string; readonly period: Period | null } {
  const period = periods.find((one) => name.endsWith(`:${one}`));
  if (!period || readableField(plan, name)) return { field: name, period: null };
  return { field: name.slice(0, -period.length - 1), period };
}

function columnAt(model: ListQueryModel, field: string, aliasOf: AliasOf, refuse: Refuse): TermColumn | null {
  const path = pathOf(model, field, refuse, aliasOf);
  if (!path) return null;
  const { column, joined } = path;
  if (!column) refuse(`"${field}" is an association; name one of its fields, such as "${field}.id"`);
  else if (path.isMany) refuse(`cannot aggregate "${field}": it can have several values`);
  else if (!joined) refuse(`cannot aggregate "${field}": it can be in one of several tables`);
  else return { ...column, sql: textOf(joined.sql), joins: joined.joins };
  return null;
}

function textOf(sql: JoinedColumn['sql']): string {
  return conditionText(sql, rootTableAlias, () => '?').sql;
}

/** A term with values of the column itself, which are written as in lists. */
function termOf(
  mapper: Mapper,
  name: string,
  { joins, kind, property, sql }: TermColumn,
  refuse: Refuse,
  key = name,
): AggregateTerm | null {
  let selected = sql;
  const add = (expression: string) => {
    selected = expression;
    return 0;
  };
  try {
    const value = columnField({ mapper, add }, { name: key, value: kind }, property, sql) as ValueField;
    return { name, sql: selected, order: [sql], joins, value, isWide: kind.kind === 'bigint' };
  } catch (error) {
    if (!(error instanceof NotCompilable)) throw error;
    refuse(`"${name}" cannot be aggregated: ${error.message}; remove it, or name another field`);
    return null;
  }
}

function functionsFor({ kind }: ValueKind, isOrdered: boolean): readonly AggregateFunction[] {
  const { comparison, filtering } = columnKinds[kind];
  const isNumber = comparison !== null && ['integer', 'bigint', 'decimal', 'number'].includes(comparison);
  if (!isOrdered || filtering === 'none') return [];
  return isNumber ? ['sum', 'avg', 'min', 'max'] : ['min', 'max'];
}

function columnType({ property }: Pick<TermColumn, 'property'>): string {
  return String(property.columnTypes?.[0] ?? '').toLowerCase();
}
