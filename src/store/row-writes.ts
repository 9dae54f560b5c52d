import type { EntityMetadata } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import type { AssociationReader } from '../change/associations.ts';
import { valueProblem } from '../change/conflict.ts';
import type { ColumnValue, PlainBody } from '../change/plain-body.ts';
import type { Executor } from '../database/executor.ts';
import type { Mapper } from '../database/mapper.ts';
import type { Writer } from '../database/writer.ts';
import { dialectOf } from '../dialect/dialect.ts';
import type { Problem } from '../errors.ts';
import { statementOf } from '../query/rows/bound-statement.ts';
import { RowChanged } from '../query/rows/row-version.ts';
import type { Admission } from './port.ts';
import { stateOf } from './request-state.ts';
import { type Condition, RowChanges } from './row-changes.ts';
import type { FoundRow, RowStore } from './row-store.ts';

/** What writes of rows are made with. */
export interface RowWriteOptions {
  readonly mapper: Mapper;
  readonly meta: EntityMetadata;
  /** Reads rows as the response shows them. */
  readonly rows: RowStore;
  readonly writer: Writer;
  readonly executor: Executor;
  readonly associations: AssociationReader;
}

/** A body that more than statements is needed for: nothing was written. */
export const notPlain = Symbol('not plain');

/** Writes rows of one model by statements, for bodies that no code of the application has to look at. */
export class RowWrites {
  readonly #options: RowWriteOptions;
  readonly changes: RowChanges;

  constructor(options: RowWriteOptions) {
    this.#options = options;
    this.changes = new RowChanges(options.mapper, options.meta, options.rows.read, options.writer);
  }

  async create(request: ApiRequest, plain: PlainBody): Promise<FoundRow | typeof notPlain> {
    const columns = plain.read(request.body, true);
    if (!columns) return notPlain;
    await this.#checkReferences(request, columns);
    const row = await this.#written(this.changes.insert(columns));
    if (row) return this.#options.rows.foundRow(request, row);
    throw (await this.#missingReference(columns)) ?? new RowChanged();
  }

  /** `check` holds the changed row against the rules of the model, if it has any. Null: there is no such row for the caller. */
  async change(
    request: ApiRequest,
    admission: Admission,
    plain: PlainBody,
    check: ((entity: object) => Promise<void>) | null,
  ): Promise<FoundRow | null | typeof notPlain> {
    const columns = plain.read(request.body, false);
    // rules may look into what a body refers to
    if (!columns || (check && columns.some(({ refersTo }) => refersTo))) return notPlain;
    const refusal = await this.#refusedReference(request, columns);
    if (refusal) {
      if (await this.isThere(request, admission)) throw refusal;
      return null;
    }
    const further =
      check && admission.found ? await this.#checkRules(request, admission.found.entity, plain, columns, check) : [];
    const sent = columns.filter(({ column }) => !further.some((other) => other.column === column));
    const all = further.length > 0 ? [...sent, ...further].sort((a, b) => (a.column < b.column ? -1 : 1)) : columns;
    const row = await this.#written(this.changes.update(admission.key, all, this.condition(request, admission)));
    if (row) return this.#options.rows.foundRow(request, row);
    const reference = await this.#missingReference(columns);
    if (!(await this.isThere(request, admission))) return null;
    throw reference ?? new RowChanged();
  }

  /** False: there is no such row for the caller. */
  async remove(request: ApiRequest, admission: Admission): Promise<boolean> {
    if (await this.changes.remove(admission.key, this.condition(request, admission))) return true;
    if (await this.isThere(request, admission)) throw new RowChanged();
    return false;
  }

  condition(request: ApiRequest, { found, restriction }: Admission): Condition {
    const state = stateOf(request, this.#options.mapper);
    return { restriction, version: found?.version ?? null, em: () => state.em };
  }

  /** Whether there is such a row for the caller: one that was found and checked was there then. */
  async isThere(request: ApiRequest, { found, key, restriction }: Admission): Promise<boolean> {
    if (found) return true;
    return (await this.#options.rows.find(request, key, restriction)) !== null;
  }

  /** Sets on the object of the row what the body sets, has its rules checked, and gives what these have changed besides. */
  async #checkRules(
    request: ApiRequest,
    entity: object,
    plain: PlainBody,
    columns: readonly ColumnValue[],
    check: (entity: object) => Promise<void>,
  ): Promise<ColumnValue[]> {
    const instance = entity as Record<string, unknown>;
    const context = { em: () => stateOf(request, this.#options.mapper).em };
    for (const { property } of columns) if (property) instance[property.name] = property.valueFor(context);
    const before = Object.keys(instance).map((name) => [name, contentOf(instance[name])] as const);
    await check(instance);
    const changed = before.filter(([name, content]) => contentOf(instance[name]) !== content).map(([name]) => name);
    return changed.map((name) => {
      const column = plain.columnOf(name, instance[name]);
      if (column) return column;
      throw new Error(`the rules of ${this.#options.meta.className} changed "${name}", which only a hook can change`);
    });
  }

  async #checkReferences(request: ApiRequest, columns: readonly ColumnValue[]): Promise<void> {
    const refusal = await this.#refusedReference(request, columns);
    if (refusal) throw refusal;
  }

  /** Why the caller may not refer to a row that the body refers to; null if they may refer to all. */
  async #refusedReference(request: ApiRequest, columns: readonly ColumnValue[]): Promise<Problem | null> {
    for (const { refersTo } of columns) {
      if (!refersTo || (await refersTo.mayRefer(request, refersTo.id))) continue;
      return this.#options.associations.refusal({ missing: true }, refersTo.field.targets, refersTo.field.name);
    }
    return null;
  }

  async #missingReference(columns: readonly ColumnValue[]): Promise<Problem | null> {
    const { associations, executor, mapper } = this.#options;
    const { sql, values } = dialectOf(mapper);
    for (const { refersTo } of columns) {
      if (!refersTo) continue;
      const text = `select 1 from ${refersTo.table} where ${refersTo.key} = ${sql.parameter(1)}`;
      if ((await executor.rows(statementOf(text), [values.bindable(refersTo.id)])).length > 0) continue;
      return associations.refusal({ missing: true }, refersTo.field.targets, refersTo.field.name);
    }
    return null;
  }

  async #written(change: Promise<unknown[] | undefined>): Promise<unknown[] | undefined> {
    try {
      return await change;
    } catch (error) {
      throw valueProblem(error) ?? error;
    }
  }
}

/** What tells whether a value was changed, be it within. */
function contentOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === Array.prototype ? JSON.stringify(value) : value;
}
