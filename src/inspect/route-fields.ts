import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import type { HttpMethod } from '../declaration/types.ts';
import { planFields } from '../model/field-plan.ts';
import { inGroups, readGroups, writeGroups } from '../model/groups.ts';
import { concreteClasses, metaOf } from '../model/hierarchy.ts';
import { itemClasses, itemMethods } from '../openapi/associations.ts';
import type { RouteRecord } from '../route/record.ts';
import { type PlannedField, readableFields, writableFields } from './fields.ts';
import type { Places } from './places.ts';
import { type ActionKind, actionKinds } from './route-action.ts';

/** A field that a method of a route shows or takes. */
export interface FieldAccess extends Pick<PlannedField, 'path' | 'label' | 'kind' | 'property'> {
  /** What a reference can name, by class; empty for everything else. */
  readonly references: readonly string[];
  /** The code of the application that reads or makes the value, which can be anything then; null where there is none. */
  readonly madeBy: string | null;
  /** The active groups that the field is in. */
  readonly groups: readonly string[];
  /** The class of the row that has the field. */
  readonly model: string;
  readonly place: string;
}

/** The fields that a method of a route shows or takes. */
export interface RouteFields {
  /** In the order of the model; of a list, those of each item. */
  readonly fields: readonly FieldAccess[];
  /**
   * The code of the application that decides instead, such as `CourseController.closeApi`. What it returns is shown in the group
   * `read` of its models, unless it names other groups. Null: the fields are all there is.
   */
  readonly decidedBy: string | null;
}

/** What the methods of routes show and take, from the plans that requests are answered and read by. */
export class FieldsOfRoutes {
  readonly #mapper: Mapper;
  readonly #places: Places;
  /** The name of the denormalizer that reads an association, where there is one. */
  readonly #denormalizerOf: (owner: EntityMetadata, property: string) => string | null;
  /** A model has the same fields wherever it is shown. */
  readonly #readable = new Map<EntityMetadata, readonly FieldAccess[]>();

  constructor(mapper: Mapper, places: Places, denormalizerOf: (owner: EntityMetadata, property: string) => string | null) {
    this.#mapper = mapper;
    this.#places = places;
    this.#denormalizerOf = denormalizerOf;
  }

  read(record: RouteRecord, kind: ActionKind): RouteFields {
    const { reads } = actionKinds[kind];
    if (reads === 'own code') return ownCode(record);
    if (reads === null) return { fields: [], decidedBy: null };
    const meta = metaOf(this.#mapper, record.api?.class.value);
    return reads === 'item' ? this.#item(record, meta, kind as 'add' | 'remove') : { fields: this.#model(meta), decidedBy: null };
  }

  /** What a body may hold. GET and HEAD have none. */
  write(record: RouteRecord, method: HttpMethod, kind: ActionKind): RouteFields {
    const { writes } = actionKinds[kind];
    if (method === 'GET' || method === 'HEAD' || writes === null) return { fields: [], decidedBy: null };
    if (writes === 'own code') return ownCode(record);
    const meta = metaOf(this.#mapper, record.api?.class.value);
    const planned = writes === 'item' ? [this.#reference(record, meta)] : writableFields(this.#mapper, meta, kind === 'create');
    return { fields: this.#described(planned, writes === 'item' ? [] : writeGroups), decidedBy: null };
  }

  #model(meta: EntityMetadata): readonly FieldAccess[] {
    const known = this.#readable.get(meta);
    const fields = known ?? this.#described(readableFields(planFields(this.#mapper, meta, readGroups)), readGroups);
    this.#readable.set(meta, fields);
    return fields;
  }

  /** What adds and removes answers with the item, unless methods of the model answer with something else. */
  #item(record: RouteRecord, meta: EntityMetadata, verb: 'add' | 'remove'): RouteFields {
    const association = associationOf(record);
    const methods = itemMethods(this.#mapper, meta, association.property, verb);
    if (methods.length > 0) return { fields: [], decidedBy: methods.join(', ') };
    const plans = itemClasses(this.#mapper, meta, association).map((target) => planFields(this.#mapper, target, readGroups));
    const variants = new Map(plans.flatMap((plan) => [...plan.variants]));
    return { fields: this.#described(readableFields({ variants }), readGroups), decidedBy: null };
  }

  /** The body of an action that adds to or removes from an association: it says which row is meant. */
  #reference(record: RouteRecord, meta: EntityMetadata): PlannedField {
    const association = associationOf(record);
    const targets = itemClasses(this.#mapper, meta, association);
    return { path: '', label: '', kind: 'reference', meta, property: association.property, targets, madeBy: null };
  }

  #described(fields: readonly PlannedField[], groups: readonly string[]): readonly FieldAccess[] {
    return fields.map(({ path, label, kind, meta, property, targets, madeBy }) => ({
      path,
      label,
      kind,
      references: [...new Set(targets.flatMap((target) => concreteClasses(this.#mapper, target)))]
        .map(({ className }) => className)
        .sort(),
      madeBy: kind === 'reference' ? this.#denormalizerOf(meta, property) : madeBy,
      groups: groups.filter((group) => inGroups(meta.properties[property as never] as EntityProperty, [group])),
      model: meta.className,
      property,
      place: this.#places.ofProperty(meta, property),
    }));
  }
}

function ownCode({ controller, handler }: RouteRecord): RouteFields {
  return { fields: [], decidedBy: `${controller}.${handler}` };
}

function associationOf({ action }: RouteRecord) {
  return action?.association ?? { property: '', types: [] };
}
