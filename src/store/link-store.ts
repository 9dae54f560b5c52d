import type { EntityMetadata } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import type { AddedOrRemoved } from '../change/add-remove.ts';
import type { AssociationReader } from '../change/associations.ts';
import { readReference } from '../change/plain-fields.ts';
import type { References } from '../change/stored-columns.ts';
import type { Mapper } from '../database/mapper.ts';
import type { Identifier, IdentifierParser } from '../model/identifier.ts';
import { RowChanged } from '../query/rows/row-version.ts';
import type { EntityStore } from './entity-store.ts';
import { MethodLinks } from './method-links/method-links.ts';
import type { Admission, Found, Linked, Restriction } from './port.ts';
import { stateOf } from './request-state.ts';
import { RowLinks } from './row-links.ts';
import type { RowStore } from './row-store.ts';
import type { RowWrites } from './row-writes.ts';

/** The steps that add an item to an association, or remove it. */
export interface LinkEdit {
  /** Loads the item of the body, and everything needed to change the association of the entity. */
  resolve(entity: object): Promise<object>;
  /** Runs the methods and the rules of the model. */
  apply(entity: object, item: object): Promise<AddedOrRemoved>;
}

/** The parts that change an association by statements, determined at startup. */
export interface RowLinking {
  readonly target: EntityMetadata;
  readonly parseId: IdentifierParser;
  readonly references: References;
  /** How links are written: alone, or after methods and rules of the model have run. */
  readonly links: RowLinks | MethodLinks;
  readonly items: RowStore;
  readonly writes: RowWrites;
  /** Reads the row that access is checked for. */
  readonly checked: RowStore;
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

  /** Whether a statement can change the association of an owner that was not read before. */
  isByStatements(): boolean {
    return this.#rows?.links instanceof RowLinks;
  }

  find(request: ApiRequest, key: Identifier, restriction: Restriction): Promise<Found | null> {
    const rows = this.#rowsFor(request);
    return rows ? rows.checked.find(request, key, restriction) : this.#entities.find(request, key, restriction, true);
  }

  /** Returns null if the owner no longer exists. */
  async change(request: ApiRequest, admission: Admission, what: 'add' | 'remove', edit: LinkEdit): Promise<Linked | null> {
    const rows = this.#rowsFor(request);
    const item = rows && readReference(request.body, rows.target, rows.parseId);
    if (rows && item !== undefined && item !== null) return this.#changeRows(request, admission, rows, what, item, edit);
    const found = admission.found ?? (await this.#entities.find(request, admission.key, admission.restriction, true));
    if (!found) return null;
    return this.#entities.change(request, { ...admission, found }, async (entity) => {
      const { returned } = await edit.apply(entity, await edit.resolve(entity));
      return returned;
    });
  }

  async #changeRows(
    request: ApiRequest,
    admission: Admission,
    { items, links, references, target, writes }: RowLinking,
    what: 'add' | 'remove',
    item: Identifier,
    edit: LinkEdit,
  ): Promise<Linked | null> {
    const refusal = () => this.#associations.itemRefusal({ missing: true }, [target]);
    const seen = await references.rows(request);
    // neither a link nor code gets an item that the caller does not see
    if (seen === null && !(await references.may(request, item))) {
      if (await writes.isThere(request, admission)) throw refusal();
      return null;
    }
    if (links instanceof MethodLinks) {
      const linked = await links.change(request, admission, { id: item, seen: seen ?? 'all' }, edit.apply);
      if (linked) return linked;
      throw refusal();
    }
    const reading = await items.readingWithin(request, [links.table]);
    const row = await links.change(what, admission.key, item, writes.condition(request, admission), reading, seen ?? 'all');
    if (row) return { entity: null, result: items.foundRow(request, row, reading) };
    if (!(await writes.isThere(request, admission))) return null;
    const isThere = (await references.may(request, item)) && (await this.#isItem(request, items, item));
    throw isThere ? new RowChanged() : refusal();
  }

  async #isItem(request: ApiRequest, items: RowStore, item: Identifier): Promise<boolean> {
    return (await items.find(request, item, null)) !== null;
  }

  #rowsFor(request: ApiRequest): RowLinking | null {
    return this.#rows && !stateOf(request, this.#mapper).isInTransaction ? this.#rows : null;
  }
}
