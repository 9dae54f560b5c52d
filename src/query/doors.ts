import type { EntityMetadata } from '@mikro-orm/core';
import type { RequestEntityManager } from '../database/mapper.ts';
import type { SortKey } from '../declaration/types.ts';
import { Problem } from '../errors.ts';
import { isKindOf, sameLine } from '../model/hierarchy.ts';
import type { Identifier } from '../model/identifier.ts';
import { hasKey } from './keys.ts';
import { type AnyQueryBuilder, type Restrict, restrictedQuery } from './restriction.ts';

/** A declared API of a class, as far as the sight of its rows is concerned. */
export interface Door<Request> {
  readonly meta: EntityMetadata;
  /** The restriction of the API's `_entity`, or null where it has none. */
  readonly restrict: ((request: Request) => Restrict) | null;
  /** The order that decides which rows a restriction to a number of rows lets through. */
  readonly sort: readonly SortKey[];
  /** Whether the caller has the roles to fetch the row there. */
  admits(request: Request, entity: object | null): Promise<boolean>;
  /** Whether it takes a look at the row to tell. */
  readonly readsSubject: boolean;
}

/**
 * Decides which rows a caller can see, whatever way leads to them: those that a declared API of their class would show. Where
 * no API of the class hides any, all of them; where one does, another that does not counts only for those who may use it.
 */
export class Doors<Request> {
  readonly #doors: Door<Request>[] = [];
  readonly #limits = new Map<EntityMetadata, readonly Door<Request>[]>();
  readonly #open = new Map<EntityMetadata, boolean>();

  add(door: Door<Request>): void {
    this.#doors.push(door);
    this.#limits.clear();
    this.#open.clear();
  }

  /** Whether everybody can see every row of a class, and of those that inherit from it. */
  isOpen(meta: EntityMetadata): boolean {
    let open = this.#open.get(meta);
    if (open === undefined) {
      open = this.#doors.every((door) => door.restrict === null || !sameLine(meta, door.meta));
      this.#open.set(meta, open);
    }
    return open;
  }

  /** The doors to rows of exactly this class; none where all of its rows are seen by everybody. */
  limitsOf(own: EntityMetadata): readonly Door<Request>[] {
    let limits = this.#limits.get(own);
    if (!limits) {
      const doors = this.#doors.filter((door) => isKindOf(own, door.meta));
      limits = doors.some((door) => door.restrict !== null) ? doors : [];
      this.#limits.set(own, limits);
    }
    return limits;
  }

  /** Whether a caller can see every row of a class, as far as that can be told without a row. */
  async isOpenTo(request: Request, meta: EntityMetadata): Promise<boolean> {
    const limits = this.limitsOf(meta);
    if (limits.length === 0) return true;
    for (const door of limits) {
      if (door.restrict === null && !door.readsSubject && (await door.admits(request, null))) return true;
    }
    return false;
  }

  /** Whether the caller's request could see a row of this class. */
  async isSeen(
    em: RequestEntityManager,
    request: Request,
    own: EntityMetadata,
    id: Identifier,
    entity: object,
  ): Promise<boolean> {
    const limits = this.limitsOf(own);
    if (limits.length === 0) return true;
    for (const door of limits) {
      if (!door.restrict) {
        if (await door.admits(request, entity)) return true;
        continue;
      }
      const query = await queryThrough(em, request, door);
      if (query && (await hasKey(em, door.meta, query, id, door.sort))) return true;
    }
    return false;
  }
}

/** What a door shows to a caller, or null where it turns them away. */
export async function queryThrough<Request>(
  em: RequestEntityManager,
  request: Request,
  { meta, restrict }: Door<Request>,
): Promise<AnyQueryBuilder | null> {
  if (!restrict) return null;
  try {
    return await restrictedQuery(em, meta, restrict(request));
  } catch (error) {
    if (error instanceof Problem && error.status < 500) return null;
    throw error;
  }
}
