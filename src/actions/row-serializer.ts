import type { EntityMetadata } from '@mikro-orm/core';
import type { FieldPlan } from '../model/field-plan.ts';
import type { ActiveGroups } from '../model/groups.ts';
import { type Serializer, type VisibleRows, writtenList } from '../serialization/serializer.ts';
import type { Framework } from './start/runtime.ts';

/** The result of a list: its rows alone, or with their number. */
type Rows = readonly object[] | { readonly results: readonly object[] };

/** Serializes the rows of a list, each in its own groups. */
export class RowSerializer {
  readonly #framework: Framework;
  readonly #groups: ReadonlyMap<object, ActiveGroups>;
  readonly #usual: Serializer;
  readonly #serializers: ReadonlyMap<ActiveGroups, Serializer>;

  /** `usual` serializes entities that are not rows of the list. */
  constructor(framework: Framework, groups: ReadonlyMap<object, ActiveGroups>, usual: Serializer) {
    this.#framework = framework;
    this.#groups = groups;
    this.#usual = usual;
    this.#serializers = new Map([...new Set(groups.values())].map((each) => [each, framework.serializer(each)]));
  }

  of(entity: object): Serializer {
    const groups = this.#groups.get(entity);
    return (groups && this.#serializers.get(groups)) ?? this.#usual;
  }

  serialize(value: unknown, rows: VisibleRows): unknown {
    const all = (some: readonly object[]) =>
      writtenList(some, rows, (row, written) => written.push(this.of(row as object).serialize(row, rows)));
    const given = value as Rows;
    return 'results' in given ? { ...given, results: all(given.results) } : all(given);
  }

  /** The plan with the fields of all rows. */
  planFor(meta: EntityMetadata): FieldPlan {
    const sets = [...this.#serializers.keys()];
    const read = [...new Set(sets.flatMap((each) => each.read))];
    const embedded = [...new Set(sets.flatMap((each) => each.embedded))];
    return this.#framework.serializer({ read, embedded }).planFor(meta);
  }
}
