import type { EntityMetadata } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import type { AssociationReader } from '../change/associations.ts';
import { valueProblem } from '../change/conflict.ts';
import type { PlainBody } from '../change/plain-body.ts';
import type { ColumnValue, Referred } from '../change/stored-columns.ts';
import type { Executor } from '../database/executor.ts';
import type { Mapper } from '../database/mapper.ts';
import type { Writer } from '../database/writer.ts';
import { dialectOf } from '../dialect/dialect.ts';
import type { Problem } from '../errors.ts';
import { isTurnLong, nextTurn } from '../event-loop.ts';
import { statementOf } from '../query/rows/bound-statement.ts';
import { RowChanged } from '../query/rows/row-version.ts';
import type { SeenRows } from '../query/visibility/visibility-columns.ts';
import type { Admission } from './port.ts';
import { stateOf } from './request-state.ts';
import { type Condition, RowChanges, type SeenReferences } from './row-changes.ts';
import type { Check, RowCode } from './row-code.ts';
import type { RowLists } from './row-lists.ts';
import type { FoundRow, RowStore } from './row-store.ts';

/** The dependencies of {@link RowWrites}. */
export interface RowWriteOptions {
  readonly mapper: Mapper;
  readonly meta: EntityMetadata;
  /** Reads rows as the response shows them. */
  readonly rows: RowStore;
  readonly writer: Writer;
  readonly executor: Executor;
  readonly associations: AssociationReader;
  /** The code of the model that takes part; null if there is none. */
  readonly code: RowCode | null;
  /** Writes the lists of a body; null if MikroORM does. */
  readonly lists?: RowLists | null;
}

export const noReferences: SeenReferences = new Map();

/** How a body changes a row. */
export interface RowEdit {
  /** Validates a row that was already changed against the rules. */
  readonly check: Check;
  readonly mode: 'patch' | 'replace';
}

/** The references of a body after their check. */
interface CheckedReferences {
  /** Why the caller may not refer to one of the rows; null if they may. */
  readonly refusal: Problem | null;
  /** The rows for code, by column; null if no code takes part. */
  readonly referred: ReadonlyMap<string, object> | null;
  /** The references that the statement itself has to check. */
  readonly seen: SeenReferences;
}

/** Statements alone cannot write the body: nothing was written. */
export const notPlain = Symbol('not plain');

/** Writes rows of one model by statements, for bodies that no code of the application has to read. */
export class RowWrites {
  readonly options: RowWriteOptions;
  readonly changes: RowChanges;

  constructor(options: RowWriteOptions) {
    this.options = options;
    this.changes = new RowChanges(options.mapper, options.meta, options.rows, options.writer);
  }

  /** `check` validates the new row against the rules of the model; it is not called if no code takes part. */
  async create(request: ApiRequest, plain: PlainBody, check: Check): Promise<FoundRow | typeof notPlain> {
    const { code, rows } = this.options;
    const columns = plain.read(request.body, 'create', { withDefaults: code === null });
    if (isTurnLong()) await nextTurn();
    if (!columns) return notPlain;
    const checked = await this.#checkedReferences(request, columns);
    if (!checked) return notPlain;
    const { referred, refusal, seen } = checked;
    if (refusal) throw refusal;
    const all = code && referred ? await code.created(request, columns, referred, check) : columns;
    const reading = await rows.readingWithin(request, [this.changes.table]);
    const row = await this.#written(this.changes.insert(all, reading, seen));
    if (row) return rows.foundRow(request, row, reading);
    throw (await this.missingReference(request, columns)) ?? new RowChanged();
  }

  /** Returns null if the row does not exist for the caller. */
  async change(
    request: ApiRequest,
    admission: Admission,
    plain: PlainBody,
    { check, mode }: RowEdit,
  ): Promise<FoundRow | null | typeof notPlain> {
    const { code, lists, rows } = this.options;
    const columns = plain.read(request.body, mode);
    if (isTurnLong()) await nextTurn();
    if (!columns) {
      const { changes } = this;
      const seenReferences = this.seenReferences.bind(this);
      const options = { changes, mode, rows, seenReferences };
      return (await lists?.change(request, admission, plain, this.condition(request, admission), options)) ?? notPlain;
    }
    const entity = admission.found?.entity as Record<string, unknown> | undefined;
    if (columns.some(({ property }) => property?.isPartial && !entity?.[property.name])) return notPlain;
    const checked = await this.#checkedReferences(request, columns);
    if (!checked) return notPlain;
    const { referred, refusal, seen } = checked;
    if (refusal) {
      if (!(await this.isThere(request, admission))) return null;
      await this.#checkUnchanged(admission);
      throw refusal;
    }
    const all = code && referred && entity ? await code.changed(request, entity, columns, referred, check) : columns;
    const reading = await rows.readingWithin(request, [this.changes.table]);
    const condition = this.condition(request, admission);
    const row = await this.#written(this.changes.update(admission.key, all, condition, reading, seen));
    if (row) return rows.foundRow(request, row, reading);
    const reference = await this.missingReference(request, columns);
    if (!(await this.isThere(request, admission))) return null;
    if (reference) await this.#checkUnchanged(admission);
    throw reference ?? new RowChanged();
  }

  /** Returns false if the row does not exist for the caller. */
  async remove(request: ApiRequest, admission: Admission): Promise<boolean> {
    if (await this.changes.remove(admission.key, this.condition(request, admission))) return true;
    if (await this.isThere(request, admission)) throw new RowChanged();
    return false;
  }

  condition(request: ApiRequest, { found, restriction }: Admission): Condition {
    const state = stateOf(request, this.options.mapper);
    return { restriction, version: found?.version ?? null, em: () => state.em };
  }

  /** Throws if the row that was checked has changed: another request may have removed it together with a row that the body refers to. */
  async #checkUnchanged({ found, key }: Admission): Promise<void> {
    if (found?.version && !(await this.changes.isStill(key, found.version, this.options.executor))) throw new RowChanged();
  }

  /** Whether the row exists for the caller. A row that was found and checked existed then. */
  async isThere(request: ApiRequest, { found, key, restriction }: Admission): Promise<boolean> {
    if (found) return true;
    return (await this.options.rows.find(request, key, restriction)) !== null;
  }

  /**
   * Checks the references of a body. Without code, the statement that writes them does so; code gets the referenced rows, which
   * one statement for each selects if the caller sees them. Null: only MikroORM can make objects of them.
   */
  async #checkedReferences(request: ApiRequest, columns: readonly ColumnValue[]): Promise<CheckedReferences | null> {
    const { code } = this.options;
    const seen = await this.seenReferences(request, columns);
    const refusal = seen ? null : await this.refusedReference(request, columns);
    if (refusal || !code) return { refusal, referred: null, seen: seen ?? noReferences };
    const referred = await code.referred(request, columns, seen ?? noReferences);
    return referred && { refusal: this.goneReference(columns, referred), referred, seen: noReferences };
  }

  /** The rows that the caller may refer to; null if a condition cannot say that for each reference. */
  async seenReferences(request: ApiRequest, columns: readonly ColumnValue[]): Promise<SeenReferences | null> {
    const seen = new Map<string, readonly SeenRows[]>();
    for (const { column, refersTo } of columns) {
      const rows = refersTo ? await refersTo.references.rows(request) : 'all';
      if (rows === null) return null;
      if (rows !== 'all') seen.set(column, rows);
    }
    return seen;
  }

  /** Why the caller may not refer to a row that the body refers to; null if they may refer to all. */
  async refusedReference(request: ApiRequest, columns: readonly ColumnValue[]): Promise<Problem | null> {
    for (const { refersTo } of columns) {
      if (!refersTo || (await refersTo.references.may(request, refersTo.id))) continue;
      return this.options.associations.refusal({ missing: true }, refersTo.field.targets, refersTo.field.name);
    }
    return null;
  }

  /** Why a reference of the body has no row. Code needs the referenced rows, so this is checked before it runs. */
  goneReference(columns: readonly ColumnValue[], referred: ReadonlyMap<string, object>): Problem | null {
    const gone = columns.find(({ column, refersTo }) => refersTo && !referred.has(column))?.refersTo;
    return gone ? this.options.associations.refusal({ missing: true }, gone.field.targets, gone.field.name) : null;
  }

  /** Those of many references whose rows exist, as far as their keys equal the stored ones. */
  async existing(all: readonly Referred[]): Promise<ReadonlySet<Referred>> {
    const { executor, mapper } = this.options;
    const { sql, values } = dialectOf(mapper);
    const there = new Set<Referred>();
    for (const some of Map.groupBy(all, ({ key, table }) => `${table} ${key}`).values()) {
      const { key, table } = some[0] as Referred;
      const text = `select ${key} from ${table} where ${sql.among([key], sql.parameter(1)).join('')}`;
      const rows = await executor.rows(statementOf(text), [values.list(new Set(some.map(({ id }) => id)))]);
      const keys = new Set(rows.map(([found]) => String(found)));
      for (const each of some) if (keys.has(String(each.id))) there.add(each);
    }
    return there;
  }

  /** Why a statement found no row for a reference; null if it found all. */
  async missingReference(
    request: ApiRequest,
    columns: readonly ColumnValue[],
    existing: ReadonlySet<Referred> = new Set(),
  ): Promise<Problem | null> {
    const refusal = await this.refusedReference(request, columns);
    if (refusal) return refusal;
    const { associations, executor, mapper } = this.options;
    const { sql, values } = dialectOf(mapper);
    for (const { refersTo } of columns) {
      if (!refersTo || existing.has(refersTo)) continue;
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
