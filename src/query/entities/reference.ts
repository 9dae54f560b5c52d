import { type EntityMetadata, type EntityProperty, helper } from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../../database/mapper.ts';
import { isTurnLong, nextTurn } from '../../event-loop.ts';
import { discriminatorKey, jsonName } from '../../model/field-plan.ts';
import { concreteClasses, isKindOf, isOfOneClass, metaOfEntity, modelName, typeOf } from '../../model/hierarchy.ts';
import {
  compositeIn,
  type Identifier,
  type IdentifierParser,
  identifierParser,
  isComposite,
  keyOf,
} from '../../model/identifier.ts';
import { hasKey, hasOneOf } from '../../model/key-condition.ts';
import type { RequestVisibility } from '../visibility/visibility.ts';
import { markUnchanged } from './hold-row.ts';

/** The result of resolving a reference in a body. */
export type Resolution =
  | { readonly entity: object }
  /** It has the form of a reference, but there is no such row, or the caller cannot see it. */
  | { readonly missing: true }
  | { readonly unknownKey: string }
  | { readonly noObject: true };

interface Target {
  readonly meta: EntityMetadata;
  readonly parseId: IdentifierParser;
}

/** Finds the rows that bodies refer to by `{id}` or `{type, id}`, as far as the caller may see them. */
export class ReferenceResolver<Request> {
  readonly #mapper: Mapper;
  readonly #visibilityOf: (request: Request) => RequestVisibility<Request>;
  readonly #targets = new Map<EntityMetadata, Target>();

  constructor(mapper: Mapper, visibilityOf: (request: Request) => RequestVisibility<Request>) {
    this.#mapper = mapper;
    this.#visibilityOf = visibilityOf;
  }

  /** The visibility for the caller of a request. */
  visibilityOf(request: Request): RequestVisibility<Request> {
    return this.#visibilityOf(request);
  }

  /** The values of `type` that choose among the classes. */
  typesOf(metas: readonly EntityMetadata[]): string[] {
    return metas.flatMap((meta) => concreteClasses(this.#mapper, meta)).map(typeOf);
  }

  /** The names of the classes in a message: `person`, `person or third_party`. */
  nameOf(metas: readonly EntityMetadata[]): string {
    return metas.map(modelName).join(' or ');
  }

  async resolve(
    em: RequestEntityManager,
    request: Request,
    metas: readonly EntityMetadata[],
    value: unknown,
  ): Promise<Resolution> {
    const named = this.#named(metas, value, keysOf(metas));
    if (!('id' in named)) return named;
    const entity = await this.find(em, request, named.meta, named.id);
    return entity ? { entity } : { missing: true };
  }

  /**
   * Reads the rows of several references by few statements, so that {@link resolve} finds them. Of rows that can be hidden from the
   * caller, only those that they see are read: reading a hidden row would take longer than finding none.
   */
  async load(
    em: RequestEntityManager,
    request: Request,
    metas: readonly EntityMetadata[],
    values: readonly unknown[],
  ): Promise<void> {
    if (values.length < 2) return;
    const visibility = this.#visibilityOf(request);
    const keys = keysOf(metas);
    const wanted = new Map<EntityMetadata, Map<string, Identifier>>();
    for (const value of values) {
      if (isTurnLong()) await nextTurn();
      const named = this.#named(metas, value, keys);
      if (!('id' in named) || (visibility.isLimited(named.meta) && !isOfOneClass(named.meta))) continue;
      const ids = wanted.get(named.meta) ?? new Map<string, Identifier>();
      wanted.set(named.meta, ids.set(String(named.id), named.id));
    }
    for (const [meta, ids] of wanted) {
      const seen = await visibility.seen(meta, ids);
      const unread: Identifier[] = [];
      for (const [text, id] of ids) {
        if (isTurnLong()) await nextTurn();
        if (seen.has(text) && !isRead(em, meta, id)) unread.push(id);
      }
      for (let from = 0; from < unread.length; from += rowsInTurn) {
        if (isTurnLong()) await nextTurn();
        const where = { $and: [hasOneOf(meta, em.getPlatform(), unread.slice(from, from + rowsInTurn))] };
        markUnchanged(em, (await em.find(meta.class, where as never)) as object[]);
      }
    }
  }

  /** The class and the key in a reference. */
  #named(
    metas: readonly EntityMetadata[],
    value: unknown,
    keys: ReferenceKeys,
  ): Exclude<Resolution, { entity: object }> | { readonly meta: EntityMetadata; readonly id: Identifier } {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return { noObject: true };
    const unknownKey = Object.keys(value).find((key) => !keys.id.has(key) && !keys.type.has(key) && !keys.parts.has(key));
    if (unknownKey !== undefined) return { unknownKey };
    const target = this.#choose(metas, pick(value, keys.type));
    const id = target?.parseId(isComposite(target.meta) ? compositeIn(value, keys.type) : pick(value, keys.id));
    return target && id !== undefined ? { meta: target.meta, id } : { missing: true };
  }

  /** The row with this key; null if there is none, or the caller cannot see it. */
  async find(em: RequestEntityManager, request: Request, meta: EntityMetadata, id: Identifier): Promise<object | null> {
    const visibility = this.#visibilityOf(request);
    const isSeen = visibility.isLimited(meta) ? await visibility.lookFor(concreteClasses(this.#mapper, meta), id) : seesAll;
    if (!isSeen) return null;
    const known = em.getUnitOfWork().getById(meta.class as never, id as never);
    const entity = (await em.findOne(meta.class, hasKey(meta, id))) as object | null;
    if (!entity) return null;
    // a reference never changes the row that it points to
    if (!known) markUnchanged(em, [entity]);
    const own = metaOfEntity(this.#mapper, entity);
    // MikroORM returns a row that was loaded before even if it has another class
    if (!isKindOf(own, meta)) return null;
    return (await isSeen(own, entity)) ? entity : null;
  }

  #choose(metas: readonly EntityMetadata[], type: unknown): Target | undefined {
    if (type === undefined) return metas.length === 1 ? this.#target(metas[0] as EntityMetadata) : undefined;
    const chosen = metas.flatMap((meta) => concreteClasses(this.#mapper, meta)).find((meta) => typeOf(meta) === type);
    return chosen && this.#target(chosen);
  }

  #target(meta: EntityMetadata): Target {
    let target = this.#targets.get(meta);
    if (!target) {
      target = { meta, parseId: identifierParser(meta, this.#mapper.driver.getPlatform(), 'json') };
      this.#targets.set(meta, target);
    }
    return target;
  }
}

const seesAll = () => true;

function isRead(em: RequestEntityManager, meta: EntityMetadata, id: Identifier): boolean {
  const known = em.getUnitOfWork().getById(meta.class as never, id as never) as object | undefined;
  return known !== undefined && helper(known).isInitialized();
}

/** Rows that are read in one turn of the event loop. */
const rowsInTurn = 250;

interface ReferenceKeys {
  readonly id: Set<string>;
  readonly type: Set<string>;
  readonly parts: Set<string>;
}

/** The accepted names: `id` and `type`, and the model's own names of its key, or of the parts of it, and its discriminator. */
function keysOf(metas: readonly EntityMetadata[]): ReferenceKeys {
  const id = new Set(['id']);
  const type = new Set(['type']);
  const parts = new Set<string>();
  for (const meta of metas) {
    if (isComposite(meta)) for (const property of meta.getPrimaryProps() as EntityProperty[]) parts.add(jsonName(property));
    else id.add(jsonName(keyOf(meta)));
    const discriminator = discriminatorKey(meta);
    if (discriminator) type.add(discriminator);
  }
  return { id, type, parts };
}

function pick(value: object, keys: Set<string>): unknown {
  for (const key of keys) if (Object.hasOwn(value, key)) return (value as Record<string, unknown>)[key];
  return undefined;
}
