import type { EntityMetadata } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import type { AssociationReader } from '../change/associations.ts';
import { type MayRefer, readReference } from '../change/plain-body.ts';
import type { Mapper } from '../database/mapper.ts';
import type { Identifier, IdentifierParser } from '../model/identifier.ts';
import { RowChanged } from '../query/rows/row-version.ts';
import type { EntityStore } from './entity-store.ts';
import type { Admission, Found, Restriction } from './port.ts';
import { stateOf } from './request-state.ts';
import type { RowLinks } from './row-links.ts';
import type { RowStore } from './row-store.ts';
import type { RowWrites } from './row-writes.ts';

/** What statements alone can do to an association, found out at startup. */
export interface RowLinking {
  readonly target: EntityMetadata;
  readonly parseId: IdentifierParser;
  readonly mayRefer: MayRefer;
  readonly links: RowLinks;
  readonly items: RowStore;
  readonly writes: RowWrites;
  /** Reads the row that access is checked for. */
  readonly checked: RowStore;
}

/** What came of adding or removing: the owner, if it was made an entity, and what goes out. */
export interface Linked {
  readonly entity: object | null;
  readonly result: unknown;
}

/** Adds to and removes from one association: by statements, or through entities if code of the application takes part. */
export class LinkStore {
  readonly #mapper: Mapper;
  readonly #entities: EntityStore;
  readonly #associations: AssociationReader;
  readonly #rows: RowLinking | null;

  constructor(mapper: Mapper, entities: EntityStore, associations: AssociationReader, rows: RowLinking | null) {
    this.#mapper = mapper;
    this.#entities = entities;
    this.#associations = associations;
    this.#rows = rows;
  }

  /** Whether statements write what they can. */
  get isByStatements(): boolean {
    return this.#rows !== null;
  }

  find(request: ApiRequest, key: Identifier, restriction: Restriction): Promise<Found | null> {
    const rows = this.#rowsFor(request);
    return rows ? rows.checked.find(request, key, restriction) : this.#entities.find(request, key, restriction, true);
  }

  /** `edit` adds or removes through the entity, and gives what goes out. Null: there is no such owner any more. */
  async change(
    request: ApiRequest,
    admission: Admission,
    what: 'add' | 'remove',
    edit: (entity: object) => Promise<object>,
  ): Promise<Linked | null> {
    const rows = this.#rowsFor(request);
    const item = rows && readReference(request.body, rows.target, rows.parseId);
    if (rows && item !== undefined && item !== null) return this.#changeRows(request, admission, rows, what, item);
    const found = admission.found ?? (await this.#entities.find(request, admission.key, admission.restriction, true));
    return found ? this.#entities.change(request, { ...admission, found }, edit) : null;
  }

  async #changeRows(
    request: ApiRequest,
    admission: Admission,
    { items, links, mayRefer, target, writes }: RowLinking,
    what: 'add' | 'remove',
    item: Identifier,
  ): Promise<Linked | null> {
    const refusal = this.#associations.itemRefusal({ missing: true }, [target]);
    if (!(await mayRefer(request, item))) {
      if (await writes.isThere(request, admission)) throw refusal;
      return null;
    }
    const row = await links.change(what, admission.key, item, writes.condition(request, admission));
    if (row) return { entity: null, result: items.foundRow(request, row) };
    if (!(await writes.isThere(request, admission))) return null;
    throw (await this.#isItem(request, items, item)) ? new RowChanged() : refusal;
  }

  async #isItem(request: ApiRequest, items: RowStore, item: Identifier): Promise<boolean> {
    return (await items.find(request, item, null)) !== null;
  }

  #rowsFor(request: ApiRequest): RowLinking | null {
    return this.#rows && !stateOf(request, this.#mapper).isInTransaction ? this.#rows : null;
  }
}
