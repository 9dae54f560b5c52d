import type { EntityMetadata } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import { stillReferenced } from '../change/conflict.ts';
import type { PlainBody } from '../change/plain-body.ts';
import type { Mapper } from '../database/mapper.ts';
import type { Identifier } from '../model/identifier.ts';
import type { EntityStore } from './entity-store.ts';
import type { Admission, Found, Restriction } from './port.ts';
import { groupsOf, stateOf } from './request-state.ts';
import type { Check } from './row-code.ts';
import type { FoundRow, RowStore } from './row-store.ts';
import { notPlain, type RowEdit, type RowWrites } from './row-writes.ts';

/** The parts that write a model's rows by statements alone, determined at startup. */
export interface RowWriting {
  readonly writes: RowWrites;
  /** Reads bodies that consist of columns only. */
  readonly plain: PlainBody;
  /** Reads the row that access is checked for. */
  readonly checked: RowStore;
  /** Whether the model has rules that a changed row is validated against. */
  readonly hasRules: boolean;
}

/** Application code that takes part in a change. */
export interface Edit extends RowEdit {
  /** Changes the entity, and throws if that breaks a rule. */
  apply(entity: object): Promise<void>;
}

/** Application code that takes part in creating a row. */
export interface Making {
  /** Makes the entity from a body that has more than columns, and throws if it breaks a rule. */
  make(): Promise<object>;
  /** Validates a row that was already made against the rules. */
  readonly check: Check;
}

/** The written row: as a statement returned it, or as an entity. */
export type Written = FoundRow | object;

/**
 * Writes rows of one model. Statements write changes in which application code takes no part; MikroORM writes all others. Both
 * use the same admission, so nothing is checked twice.
 */
export class WriteStore {
  readonly #mapper: Mapper;
  readonly #meta: EntityMetadata;
  readonly #entities: EntityStore;
  readonly #rows: RowWriting | null;

  constructor(mapper: Mapper, meta: EntityMetadata, entities: EntityStore, rows: RowWriting | null) {
    this.#mapper = mapper;
    this.#meta = meta;
    this.#entities = entities;
    this.#rows = rows;
  }

  /** Whether a statement can write a row that was not read before. */
  get isByStatements(): boolean {
    return this.#rows !== null && !this.#rows.hasRules;
  }

  /** Reads the row that is to be written. */
  find(request: ApiRequest, key: Identifier, restriction: Restriction): Promise<Found | null> {
    const rows = this.rowsFor(request);
    return rows ? rows.checked.find(request, key, restriction) : this.#entities.find(request, key, restriction, true);
  }

  async create(request: ApiRequest, { check, make }: Making): Promise<Written> {
    const rows = this.rowsFor(request);
    const created = rows ? await rows.writes.create(request, rows.plain, check) : notPlain;
    return created === notPlain ? this.#entities.create(request, make) : created;
  }

  /** Returns null if the row no longer exists. */
  async change(request: ApiRequest, admission: Admission, edit: Edit): Promise<Written | null> {
    const rows = this.rowsFor(request);
    const changed = rows ? await rows.writes.change(request, admission, rows.plain, edit) : notPlain;
    if (changed !== notPlain) return changed;
    return (await this.#entities.change(request, await this.#read(request, admission), edit.apply))?.entity ?? null;
  }

  /** Returns the removed entity, or an empty object if a statement removed the row; null if the row no longer exists. */
  async remove(request: ApiRequest, admission: Admission): Promise<object | null> {
    const rows = this.rowsFor(request);
    if (!rows) return this.#entities.remove(request, admission);
    try {
      return (await rows.writes.remove(request, admission)) ? removedRow : null;
    } catch (error) {
      const { em } = stateOf(request, this.#mapper);
      throw await stillReferenced(error, this.#meta, admission.key, em, this.#mapper, groupsOf(request, this.#mapper));
    }
  }

  /** Statements have connections of their own, and do not see the changes of a transaction around the request. */
  rowsFor(request: ApiRequest): RowWriting | null {
    return this.#rows && !stateOf(request, this.#mapper).isInTransaction ? this.#rows : null;
  }

  /** Reads the row through the restriction before it is changed as an entity, unless it was already read. */
  async #read(request: ApiRequest, admission: Admission): Promise<Admission> {
    if (admission.found) return admission;
    const found = await this.#entities.find(request, admission.key, admission.restriction, true);
    return found ? { ...admission, found } : admission;
  }
}

const removedRow = Object.freeze({});
