import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { Application } from '../application.ts';
import { bodyDenormalizerOf, denormalizerClasses, denormalizerOf } from '../change/associations.ts';
import type { Mapper } from '../database/mapper.ts';
import { aggregateNames } from '../declaration/names/list-names.ts';
import type { DeclaredGroup, GroupsDeclaration, HttpMethod } from '../declaration/types.ts';
import { planFields } from '../model/field-plan.ts';
import { rolesOfProperty } from '../model/group-roles.ts';
import { groupNames, inGroups } from '../model/groups.ts';
import { concreteClasses, metaOf } from '../model/hierarchy.ts';
import { itemClasses, itemMethods } from '../openapi/associations.ts';
import type { RouteRecord } from '../route/record.ts';
import { type PlannedField, readableFields, writableFields } from './fields.ts';
import type { Places } from './places.ts';
import { type ActionKind, actionKinds } from './route-action.ts';

type Groups = readonly DeclaredGroup[];

export type FieldsOfRoutes = ReturnType<typeof fieldsOfRoutes>;
/** A field that a method of a route shows or accepts. */
export type FieldAccess = ReturnType<ReturnType<typeof fieldDescriber>>;

/** The fields that a method of a route shows or accepts. */
export interface RouteFields {
  /** In the order of the model; for a list, the fields of each item. */
  readonly fields: readonly FieldAccess[];
  /**
   * The application code that decides instead, such as `CourseController.closeApi`. Its result is shown in the groups of the
   * action, unless it names other groups. Null: `fields` is complete.
   */
  readonly decidedBy: string | null;
}

/** The fields that methods of routes show and accept, from the plans that requests use. */
export function fieldsOfRoutes(application: Application, places: Places) {
  const { mapper } = application;
  const denormalizers = denormalizerClasses(application.catalog.denormalizers);
  const describe = fieldDescriber(mapper, denormalizers, places);
  const described = (fields: readonly PlannedField[], groups: Groups) => fields.map((field) => describe(field, groups));
  const readable = new Map<string, readonly FieldAccess[]>();
  const modelOf = ({ api }: RouteRecord) => metaOf(mapper, api?.class.value);

  /** A normalizer decides about the fields of its model. */
  function modelFields(meta: EntityMetadata, groups: Groups): RouteFields {
    const plan = planFields(mapper, meta, groupNames(groups));
    const key = JSON.stringify([meta.className, groupNames(groups)]);
    const fields = readable.get(key) ?? described(readableFields(plan), groups);
    readable.set(key, fields);
    const [normalization] = plan.normalizations?.values() ?? [];
    return { fields, decidedBy: normalization?.by ?? null };
  }

  /** The fields that results of aggregates have values of. */
  function aggregated(record: RouteRecord): RouteFields {
    const names = aggregateNames(record.action?.list ?? null).map(({ field }) => field.replace(/:\w+$/, ''));
    const { fields } = modelFields(modelOf(record), groupsOf(record).read);
    return { fields: fields.filter(({ path }) => names.includes(path)), decidedBy: null };
  }

  /** Actions that add or remove respond with the item, unless methods of the model respond with something else. */
  function item(record: RouteRecord, verb: 'add' | 'remove'): RouteFields {
    const meta = modelOf(record);
    const association = associationOf(record);
    const methods = itemMethods(mapper, meta, association, verb);
    if (methods.length > 0) return { fields: [], decidedBy: methods.join(', ') };
    const { read: groups } = groupsOf(record);
    const plans = itemClasses(mapper, meta, association).map((target) => planFields(mapper, target, groupNames(groups)));
    const variants = new Map(plans.flatMap((plan) => [...plan.variants]));
    const [normalization] = plans.flatMap((plan) => [...(plan.normalizations?.values() ?? [])]);
    return { fields: described(readableFields({ variants }), groups), decidedBy: normalization?.by ?? null };
  }

  /** The body of an action that adds or removes: it names a row. */
  function reference(record: RouteRecord): FieldAccess {
    const meta = modelOf(record);
    const { property, types } = associationOf(record);
    const targets = itemClasses(mapper, meta, { property, types });
    const named = { path: '', label: '', isEmbedded: false, kind: 'reference' as const, meta, property, targets, madeBy: null };
    const described = describe(named, []);
    const own = bodyDenormalizerOf(denormalizers, `${record.api?.name}.${record.action?.name}`);
    return own ? { ...described, madeBy: own.constructor.name } : described;
  }

  return {
    read(record: RouteRecord, kind: ActionKind): RouteFields {
      const { reads } = actionKinds[kind];
      if (reads === 'own code') return ownCode(record);
      if (reads === 'aggregates') return aggregated(record);
      if (reads === 'item') return item(record, kind as 'add' | 'remove');
      return reads === null ? { fields: [], decidedBy: null } : modelFields(modelOf(record), groupsOf(record).read);
    },

    /** The fields of the body. GET and HEAD have none. */
    write(record: RouteRecord, method: HttpMethod, kind: ActionKind): RouteFields {
      const { writes } = actionKinds[kind];
      if (method === 'GET' || method === 'HEAD' || writes === null) return { fields: [], decidedBy: null };
      if (writes === 'own code') return ownCode(record);
      if (writes === 'item') return { fields: [reference(record)], decidedBy: null };
      const { write: groups } = groupsOf(record);
      const fields = writableFields(mapper, modelOf(record), groupNames(groups), kind === 'create');
      return { fields: described(fields, groups), decidedBy: null };
    },
  };
}

function fieldDescriber(mapper: Mapper, denormalizers: ReturnType<typeof denormalizerClasses>, places: Places) {
  const metadataOf = (meta: EntityMetadata, property: string) => meta.properties[property as never] as EntityProperty;
  return ({ path, label, isEmbedded, kind, meta, property, targets, madeBy }: PlannedField, groups: Groups) => ({
    path,
    label,
    kind,
    /** Whether it is in a row that another one embeds. */
    isEmbedded,
    /** The roles of which a caller needs one, besides those of the route and of the enclosing fields; empty: none. */
    roles: groups.length === 0 ? [] : rolesOfProperty(metadataOf(meta, property), groups),
    /** The classes that a reference can name; empty for other fields. */
    references: [
      ...new Set(targets.flatMap((target) => concreteClasses(mapper, target)).map(({ className }) => className)),
    ].sort(),
    /** The application code that reads or makes the value, which can then be anything; null without such code. */
    madeBy: kind === 'reference' ? (denormalizerOf(denormalizers, meta, property)?.name ?? null) : madeBy,
    /** The active groups of the field. */
    groups: groupNames(groups).filter((group) => inGroups(metadataOf(meta, property), [group])),
    /** The class of the row that has the field. */
    model: meta.className,
    property,
    place: places.ofProperty(meta, property),
  });
}

function ownCode({ controller, handler }: RouteRecord): RouteFields {
  return { fields: [], decidedBy: `${controller}.${handler}` };
}

function groupsOf({ action }: RouteRecord): GroupsDeclaration {
  return action?.groups ?? { read: [], write: [] };
}

function associationOf({ action }: RouteRecord) {
  return action?.association ?? { property: '', types: [] };
}
