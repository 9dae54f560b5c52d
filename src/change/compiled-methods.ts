import { type Collection, type EntityMetadata, type EntityProperty, helper, Reference, ReferenceKind } from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import type { Send, Work, Writer } from '../database/writer.ts';
import { type Dialect, dialectOf } from '../dialect/dialect.ts';
import { type Identifier, keyOf } from '../model/identifier.ts';
import type { statementOf } from '../query/bound-statement.ts';
import type { CompiledRead } from '../query/compiled-read.ts';
import { takeAsRead } from '../query/hold-row.ts';
import { isEntity } from '../serialization/serializer.ts';
import { type Accessors, hasAsync } from './accessors.ts';
import { columnOf } from './compiled-change.ts';
import type { Pivot } from './compiled-link.ts';

/** What a method gave: the row of an item, or the owner. */
export type Linked = { readonly item: unknown[] } | 'owner';

/**
 * Adds to and removes from a many-to-many association by the model's own methods: the entities are made of compiled
 * statements, and only what the method did to the association is written.
 */
export class CompiledMethods {
  readonly #mapper: Mapper;
  readonly #writer: Writer;
  readonly #dialect: Dialect;
  readonly #property: string;
  readonly #accessors: Accessors;
  readonly #owners: CompiledRead;
  readonly #items: CompiledRead;
  readonly #target: EntityMetadata;
  readonly #pivot: Pivot;
  readonly #statements: { readonly owner: ReturnType<typeof statementOf>; readonly items: ReturnType<typeof statementOf> };
  /** Whether the mapper can think a row that it has just read to be changed. */
  readonly #isLoose: boolean;
  /** Set once a method was seen to do more than its association. */
  #doesMore = false;

  constructor(
    mapper: Mapper,
    meta: EntityMetadata,
    property: EntityProperty,
    accessors: Accessors,
    pivot: Pivot,
    { owners, items }: { owners: CompiledRead; items: CompiledRead },
    writer: Writer,
  ) {
    this.#mapper = mapper;
    this.#writer = writer;
    this.#dialect = dialectOf(mapper);
    this.#property = property.name as string;
    this.#accessors = accessors;
    this.#owners = owners;
    this.#items = items;
    this.#target = property.targetMeta as EntityMetadata;
    this.#pivot = pivot;
    this.#isLoose = [meta, this.#target].some(({ props }) => props.some(isLoose));
    const { sql } = this.#dialect;
    const [first, second] = [sql.parameter(1), sql.parameter(2)];
    const key = `e.${columnOf(mapper, keyOf(this.#target))}`;
    const held = `select ${pivot.item} from ${pivot.table} where ${pivot.owner} = ${first}`;
    this.#statements = {
      owner: owners.statement([`e.${columnOf(mapper, keyOf(meta))} = ${first}`], sql.rowLock('e')),
      items: items.statement([`${key} ${sql.amongSelected(held, second)}`], ` order by ${key}`, [`${key} in (${held})`]),
    };
  }

  /** Whether the model's methods can be called with entities that were made that way. */
  static isPossible(
    meta: EntityMetadata,
    property: EntityProperty,
    accessors: Accessors,
    owners: CompiledRead,
    items: CompiledRead,
  ): boolean {
    return (
      property.owner === true &&
      !property.orderBy &&
      accessors.touches.length === 1 &&
      !hasAsync(meta, accessors.methods) &&
      owners.subjectRefusal === null &&
      items.subjectRefusal === null
    );
  }

  get isUsable(): boolean {
    return !this.#doesMore;
  }

  /** Calls the method and writes what it did; undefined where something is missing, or where it did more than its association. */
  change(
    what: 'add' | 'remove',
    owner: Identifier,
    item: Identifier,
    validate: (entity: object) => Promise<void>,
  ): Promise<Linked | undefined> {
    return this.#writer.transaction((send) => this.#work(send, what, owner, item, validate));
  }

  async #work(
    send: Send,
    what: 'add' | 'remove',
    owner: Identifier,
    item: Identifier,
    validate: (entity: object) => Promise<void>,
  ): Promise<Work<Linked | undefined>> {
    const ownerKey = this.#dialect.values.bindable(owner);
    const [[ownerRow], itemRows] = await Promise.all([
      send(this.#statements.owner, [ownerKey]),
      send(this.#statements.items, [ownerKey, this.#dialect.values.bindable(item)]),
    ]);
    const row = itemRows.find((candidate) => String(this.#items.keyOf(candidate)) === String(item));
    if (!ownerRow || !row) return nothing;

    // entities of its own: what a voter was shown may be older
    const em = this.#mapper.em.fork() as RequestEntityManager;
    const entity = this.#owners.subjectOf(ownerRow, em) as Record<string, unknown>;
    const entities = itemRows.map((each) => this.#items.subjectOf(each, em));
    const isHeld = (each: unknown[]) => each.at(-1) === 't' || each.at(-1) === 1 || each.at(-1) === 1n;
    const before = new Set(entities.filter((_, index) => isHeld(itemRows[index] as unknown[])));
    const collection = entity[this.#property] as Collection<object>;
    collection.hydrate([...before] as never);
    if (this.#isLoose) takeAsRead(em, [entity, ...entities]);

    const given = await this.#accessors[what](entity, entities[itemRows.indexOf(row)] as object);
    const returned = Reference.unwrapReference(given as object);
    await validate(entity);

    const unitOfWork = em.getUnitOfWork();
    unitOfWork.computeChangeSets();
    const after = new Set(collection.getItems(false) as object[]);
    const others = unitOfWork.getCollectionUpdates().filter((each) => each !== (collection as unknown) && each.property.owner);
    const added = [...after].filter((each) => !before.has(each));
    const place = isEntity(returned) ? entities.indexOf(returned as object) : itemRows.indexOf(row);
    const result = returned === entity ? 'owner' : place < 0 ? undefined : { item: itemRows[place] as unknown[] };
    const isMore =
      !result ||
      unitOfWork.getChangeSets().length > 0 ||
      unitOfWork.getRemoveStack().size > 0 ||
      unitOfWork.getExtraUpdates().size > 0 ||
      others.length > 0 ||
      added.some((each) => !entities.includes(each));
    if (isMore) {
      this.#doesMore = true;
      return nothing;
    }
    const keyFor = (each: object) => this.#dialect.values.bindable(helper(each).getPrimaryKey());
    const removed = [...before].filter((each) => !after.has(each));
    return {
      result,
      changes: [
        ...added.map((each) => ({ statement: this.#pivot.insert, parameters: [ownerKey, keyFor(each)] })),
        ...removed.map((each) => ({ statement: this.#pivot.remove, parameters: [ownerKey, keyFor(each)] })),
      ],
    };
  }
}

/** Objects and lists come back in a form of the database's own. */
function isLoose({ array, kind, object, runtimeType }: EntityProperty): boolean {
  return kind === ReferenceKind.EMBEDDED || array === true || object === true || ['object', 'any'].includes(runtimeType);
}

const nothing = { result: undefined, changes: [] } as const;
