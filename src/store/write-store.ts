import type { EntityMetadata } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import { isObject } from '../change/body-reader.ts';
import { stillReferenced } from '../change/conflict.ts';
import type { PlainBody } from '../change/plain-body.ts';
import type { Mapper } from '../database/mapper.ts';
import { metaOfEntity, typeOf } from '../model/hierarchy.ts';
import type { Identifier } from '../model/identifier.ts';
import type { EntityStore } from './entity-store.ts';
import type { Admission, Found, Restriction } from './port.ts';
import { groupsOf, stateOf } from './request-state.ts';
import type { Check } from './row-code.ts';
import type { FoundRow, RowStore } from './row-store.ts';
import { notPlain, type RowEdit, type RowWrites } from './row-writes.ts';

/** Writes rows of one class by statements. */
export interface ClassWriting {
  readonly writes: RowWrites;
  /** Reads bodies that consist of columns only. */
  readonly plain: PlainBody;
}

/** The parts that write a model's rows by statements alone, determined at startup. */
export interface RowWriting extends ClassWriting {
  /** If rows can have several classes, what writes the rows of each; the other parts only remove rows. */
  readonly hierarchy?: { readonly typeKey: string; readonly classes: ReadonlyMap<EntityMetadata, ClassWriting> } | null;
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
  isByStatements(method: string): boolean {
    if (!this.#rows) return false;
    // the class of the row decides which fields a body can set
    return !this.#rows.hasRules && (method === 'DELETE' || !this.#rows.hierarchy);
  }

  /** Reads the row that is to be written. */
  find(request: ApiRequest, key: Identifier, restriction: Restriction): Promise<Found | null> {
    const rows = this.#rowsIn(request);
    return rows ? rows.checked.find(request, key, restriction) : this.#entities.find(request, key, restriction, true);
  }

  async create(request: ApiRequest, { check, make }: Making): Promise<Written> {
    const rows = this.#rowsIn(request);
    const writing = rows?.hierarchy ? this.#ofBody(rows.hierarchy, request.body) : rows;
    const created = writing ? await writing.writes.create(request, writing.plain, check) : notPlain;
    return created === notPlain ? this.#entities.create(request, make) : created;
  }

  /** Returns null if the row no longer exists. */
  async change(request: ApiRequest, admission: Admission, edit: Edit): Promise<Written | null> {
    const rows = this.#rowsIn(request);
    const entity = rows?.hierarchy && admission.found?.entity;
    const writing = rows?.hierarchy ? entity && rows.hierarchy.classes.get(metaOfEntity(this.#mapper, entity)) : rows;
    const changed = writing ? await writing.writes.change(request, admission, writing.plain, edit) : notPlain;
    if (changed !== notPlain) return changed;
    return (await this.#entities.change(request, await this.#read(request, admission), edit.apply))?.entity ?? null;
  }

  /** Returns the removed entity, or an empty object if a statement removed the row; null if the row no longer exists. */
  async remove(request: ApiRequest, admission: Admission): Promise<object | null> {
    const rows = this.#rowsIn(request);
    if (!rows) return this.#entities.remove(request, admission);
    try {
      return (await rows.writes.remove(request, admission)) ? removedRow : null;
    } catch (error) {
      const { em } = stateOf(request, this.#mapper);
      throw await stillReferenced(error, this.#meta, admission.key, em, this.#mapper, groupsOf(request, this.#mapper));
    }
  }

  /** Writes rows of one class; null if MikroORM does, or if rows can have several classes. */
  rowsFor(request: ApiRequest): RowWriting | null {
    return this.#rows?.hierarchy ? null : this.#rowsIn(request);
  }

  /** Writes rows of the class that a body names; null if it names none. */
  #ofBody({ classes, typeKey }: NonNullable<RowWriting['hierarchy']>, body: unknown): ClassWriting | null {
    if (!isObject(body)) return null;
    const type = body[Object.hasOwn(body, typeKey) ? typeKey : 'type'];
    const all = [...classes];
    if (all.length === 1 && type === undefined) return all[0]?.[1] ?? null;
    return all.find(([meta]) => typeOf(meta) === type)?.[1] ?? null;
  }

  /** Statements have connections of their own, and do not see the changes of a transaction around the request. */
  #rowsIn(request: ApiRequest): RowWriting | null {
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
