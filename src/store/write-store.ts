import type { EntityMetadata } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import { stillReferenced } from '../change/conflict.ts';
import type { PlainBody } from '../change/plain-body.ts';
import type { Mapper } from '../database/mapper.ts';
import type { Identifier } from '../model/identifier.ts';
import type { EntityStore } from './entity-store.ts';
import type { Admission, Found, Restriction } from './port.ts';
import { stateOf } from './request-state.ts';
import type { Check } from './row-code.ts';
import type { FoundRow, RowStore } from './row-store.ts';
import { notPlain, type RowWrites } from './row-writes.ts';

/** What statements alone can write of a model, found out at startup. */
export interface RowWriting {
  readonly writes: RowWrites;
  /** Reads bodies that are nothing but columns. */
  readonly plain: PlainBody;
  /** Reads the row that access is checked for. */
  readonly checked: RowStore;
  /** Whether the model has rules that a changed row is held against. */
  readonly hasRules: boolean;
}

/** What code of the application has to say about a change. */
export interface Edit {
  /** Changes the entity, and throws if that breaks a rule. */
  apply(entity: object): Promise<void>;
  /** Holds a row that was changed already against the rules. */
  readonly check: Check;
}

/** The same about a new row. */
export interface Making {
  /** Makes the entity of a body that is more than columns, and throws if it breaks a rule. */
  make(): Promise<object>;
  /** Holds a row that was made already against the rules. */
  readonly check: Check;
}

/** What was written: a row that a statement returned, or an entity. */
export type Written = FoundRow | object;

/**
 * Writes rows of one model. Statements write what no code of the application takes part in; everything else is written by MikroORM, from
 * the same admission. Nothing is checked twice.
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

  /** Whether a statement can write a row that nothing has read before. */
  get isByStatements(): boolean {
    return this.#rows !== null && !this.#rows.hasRules;
  }

  /** Reads the row that is to be written. */
  find(request: ApiRequest, key: Identifier, restriction: Restriction): Promise<Found | null> {
    const rows = this.#rowsFor(request);
    return rows ? rows.checked.find(request, key, restriction) : this.#entities.find(request, key, restriction, true);
  }

  async create(request: ApiRequest, { check, make }: Making): Promise<Written> {
    const rows = this.#rowsFor(request);
    const created = rows ? await rows.writes.create(request, rows.plain, check) : notPlain;
    return created === notPlain ? this.#entities.create(request, make) : created;
  }

  /** Null: there is no such row any more. */
  async change(request: ApiRequest, admission: Admission, { apply, check }: Edit): Promise<Written | null> {
    const rows = this.#rowsFor(request);
    const changed = rows ? await rows.writes.change(request, admission, rows.plain, check) : notPlain;
    if (changed !== notPlain) return changed;
    return (await this.#entities.change(request, await this.#read(request, admission), apply))?.entity ?? null;
  }

  /** What was removed, as an entity if there is one; null: there is no such row any more. */
  async remove(request: ApiRequest, admission: Admission): Promise<object | null> {
    const rows = this.#rowsFor(request);
    if (!rows) return this.#entities.remove(request, admission);
    try {
      return (await rows.writes.remove(request, admission)) ? removedRow : null;
    } catch (error) {
      const { em } = stateOf(request, this.#mapper);
      throw await stillReferenced(error, this.#meta, admission.key, em, this.#mapper);
    }
  }

  /** Statements have connections of their own, and see nothing of a transaction around the request. */
  #rowsFor(request: ApiRequest): RowWriting | null {
    return this.#rows && !stateOf(request, this.#mapper).isInTransaction ? this.#rows : null;
  }

  /** A row that nothing has read yet is read, through the restriction, before it is changed as an entity. */
  async #read(request: ApiRequest, admission: Admission): Promise<Admission> {
    if (admission.found) return admission;
    const found = await this.#entities.find(request, admission.key, admission.restriction, true);
    return found ? { ...admission, found } : admission;
  }
}

const removedRow = Object.freeze({});
