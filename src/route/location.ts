import type { ApiDeclaration } from '../declaration/types.ts';
import { CompositeKey } from '../model/composite-key.ts';
import { findMatch, isEnabled } from './match.ts';
import { parsePath } from './pattern.ts';
import { defaultIdRequirement, type RouteRecord } from './record.ts';
import type { PathRules } from './request-path.ts';

/** An id as a segment of a path. The parts of a composite key are encoded already. */
export function idSegment(id: unknown): string {
  return id instanceof CompositeKey ? String(id) : encodeURIComponent(String(id));
}

/** The path at which entities of an API can be fetched. */
export class EntityLocation {
  readonly #entity: RouteRecord;
  /** The entity's own route, and all routes that may match the same path. */
  readonly #candidates: readonly RouteRecord[];

  private constructor(entity: RouteRecord, candidates: readonly RouteRecord[]) {
    this.#entity = entity;
    this.#candidates = candidates;
  }

  /** Null if no GET of the API fetches an entity. */
  static of(records: readonly RouteRecord[], api: ApiDeclaration): EntityLocation | null {
    const entity = records.find((record) => record.api === api && record.action?.kind === 'entity' && isEnabled(record, 'GET'));
    if (!entity) return null;
    return new EntityLocation(
      entity,
      Object.freeze(records.filter((record) => isEnabled(record, 'GET') && overlaps(record, entity))),
    );
  }

  /** The path of an entity below a path of its API, in the format if the route has it; null if GET does not reach it there. */
  pathOf(base: string, id: unknown, format: string, rules: PathRules = {}): string | null {
    const { action, formats } = this.#entity;
    const suffix = formats.includes(format) ? format : formats[0];
    const segment = action?.segment ? `/${action.segment}` : '';
    const path = `${base}/${idSegment(id)}${segment}.${suffix}`;
    return findMatch(this.#candidates, 'GET', path, rules)?.record === this.#entity ? path : null;
  }

  /** Whether every entity that is created through a route has a path, if its id is a number. */
  isCertainFor(list: RouteRecord): boolean {
    const { id, ...others } = this.#entity.requirements;
    const place = parsePath(this.#entity.path).pattern.segments.findIndex(
      (segment) => 'placeholder' in segment && segment.placeholder === 'id',
    );
    return (
      id === defaultIdRequirement &&
      Object.entries(others).every(([name, requirement]) => name === '_format' || list.requirements[name] === requirement) &&
      this.#candidates.every((record) => {
        const segment = parsePath(record.path).pattern.segments[place];
        return record === this.#entity || (segment !== undefined && 'text' in segment && !/^\d+$/.test(segment.text));
      })
    );
  }
}

/** Whether a path can match both. */
function overlaps(one: RouteRecord, other: RouteRecord): boolean {
  const [a, b] = [one, other].map(({ path }) => parsePath(path).pattern.segments) as [Segments, Segments];
  return a.length === b.length && a.every((segment, i) => isAlike(segment, b[i] as Segments[number]));
}

type Segments = ReturnType<typeof parsePath>['pattern']['segments'];

function isAlike(one: Segments[number], other: Segments[number]): boolean {
  return !('text' in one && 'text' in other) || one.text.toLowerCase() === other.text.toLowerCase();
}
