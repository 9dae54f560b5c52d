import { type EntityMetadata, type EntityProperty, helper, Reference } from '@mikro-orm/core';
import { conflictProblem } from '../change/conflict.ts';
import type { Executor } from '../database/executor.ts';
import type { Mapper } from '../database/mapper.ts';
import { dialectOf } from '../dialect/dialect.ts';
import type { DatabaseError } from '../dialect/error-reader.ts';
import { databaseErrors } from '../dialect/errors.ts';
import { maxViolations, Problem, type Violation, violationsProblem } from '../errors.ts';
import type { ActiveGroups } from '../model/groups.ts';
import { entityKey } from '../model/identifier.ts';
import { statementOf } from '../query/rows/bound-statement.ts';
import { quoted, tableOf } from '../query/rows/table-name.ts';
import { nextTurn } from '../response/turn.ts';

/** Milliseconds of work on a list before other requests get a turn. */
const turnTime = 10;

/** The problem of one item of a list. */
export function ofItem(error: Problem, index: number): Problem {
  const { cause, code, headers, members, message } = error;
  return new Problem(code, message, { headers, members: { ...members, index }, cause });
}

/** Collects the violations of all items of a list. Other problems end the request. */
export class ItemErrors {
  readonly #violations: Violation[] = [];
  #since = performance.now();

  /** Runs work for each item in order. Items that follow enough violations are left out. */
  async each<Item>(items: readonly Item[], work: (item: Item, index: number) => unknown): Promise<void> {
    for (const [index, item] of items.entries()) {
      if (this.#violations.length >= maxViolations) return;
      await this.of(index, () => work(item, index));
      await this.pause();
    }
  }

  /** Runs work for one item. */
  async of(index: number, work: () => unknown): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (error.code !== 'validation_failed') throw ofItem(error, index);
      for (const { propertyPath, ...rest } of error.members.violations as Violation[])
        this.#violations.push({ ...rest, propertyPath: propertyPath === '' ? `[${index}]` : `[${index}].${propertyPath}` });
    }
  }

  throwIfAny(): void {
    if (this.#violations.length > 0) throw violationsProblem(this.#violations);
  }

  /** Lets other requests run, if the work on this list has taken long. */
  async pause(): Promise<void> {
    if (performance.now() - this.#since < turnTime) return;
    await nextTurn();
    this.#since = performance.now();
  }
}

interface Inserted {
  readonly executor: Executor | null;
  readonly mapper: Mapper;
  readonly meta: EntityMetadata;
  readonly count: number;
  /** The value of a column in an item. */
  valueAt(index: number, column: string): unknown;
  /** The groups of an item, or of the whole list: the conflict names only their properties. */
  groupsAt(index: number | null): ActiveGroups;
}

/**
 * The conflict of a new item with another item, or with an existing row; null for other errors, and if the database does not tell
 * the columns.
 */
export async function locateUnique(
  error: unknown,
  { count, executor, groupsAt, mapper, meta, valueAt }: Inserted,
): Promise<Problem | null> {
  const conflict = conflictProblem(error, mapper, groupsAt(null));
  if (conflict?.code !== 'conflict_unique') return conflict;
  const broken = databaseErrors.brokenConstraint(conflict.cause as DatabaseError);
  // a nested row
  if (broken.table !== meta.tableName) return conflict;
  const columns = broken.columns.map((name) => quoted(mapper, name));
  const tupleAt = (index: number) => columns.map((column) => textOf(valueAt(index, column))).join('\n');
  const indexes = Array.from({ length: count }, (_, index) => index).filter((index) =>
    columns.every((column) => valueAt(index, column) !== null && valueAt(index, column) !== undefined),
  );
  if (columns.length === 0 || indexes.length === 0) return conflict;
  const seen = new Set<string>();
  const repeated = indexes.find((index) => seen.size === seen.add(tupleAt(index)).size);
  const located = (index: number) => ofItem(conflictProblem(error, mapper, groupsAt(index)) as Problem, index);
  const [only] = indexes;
  if (indexes.length === 1 && only !== undefined) return located(only);
  if (repeated !== undefined) return located(repeated);
  const { sql, values } = dialectOf(mapper);
  const where = columns.map((column, i) => sql.among([column], sql.parameter(i + 1)).join(''));
  const lists = columns.map((column) => values.list(indexes.map((index) => valueAt(index, column))));
  const statement = statementOf(`select ${columns.join(', ')} from ${tableOf(mapper, meta)} where ${where.join(' and ')}`);
  const taken = executor ? await executor.rows(statement, lists).catch(() => []) : [];
  const existing = new Set(taken.map((row) => row.map(textOf).join('\n')));
  const index = indexes.find((one) => existing.has(tupleAt(one)));
  return index === undefined ? conflict : located(index);
}

function textOf(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}

/** The value of a column in an entity. */
export function columnValue(mapper: Mapper, meta: EntityMetadata, entity: object, column: string): unknown {
  const property = (meta.props as EntityProperty[]).find(({ fieldNames }) =>
    fieldNames?.some((name) => quoted(mapper, name) === column),
  );
  const value = property && (entity as Record<string, unknown>)[property.name as string];
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (!property?.targetMeta || property.fieldNames.length !== 1) return undefined;
  const referred = Reference.unwrapReference(value) as object;
  return helper(referred).hasPrimaryKey() ? entityKey(referred) : undefined;
}
