import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { accessorsFor } from '../change/accessors.ts';
import { planWrites } from '../change/write-plan.ts';
import type { HttpMethod } from '../declaration/types.ts';
import { type FieldPlan, planFields, targetsOf } from '../model/field-plan.ts';
import { readGroups, writeGroups } from '../model/groups.ts';
import { concreteClasses, metaOf } from '../model/hierarchy.ts';
import type { RouteRecord } from '../route/record.ts';
import { type Describing, type FieldAccess, itemReference, readableFields, writableFields } from './fields.ts';
import type { ActionKind } from './route-action.ts';

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

const nothing: RouteFields = Object.freeze({ fields: Object.freeze([]), decidedBy: null });

/** What the methods of routes show and take, from the plans that requests are answered and read by. */
export class FieldsOfRoutes {
  readonly #describing: Describing;
  /** A model has the same fields wherever it is shown. */
  readonly #readable = new Map<EntityMetadata, readonly FieldAccess[]>();

  constructor(describing: Describing) {
    this.#describing = describing;
  }

  /** What an answer can hold. */
  read(record: RouteRecord, kind: ActionKind): RouteFields {
    switch (kind) {
      case 'handler':
      case 'service':
        return { fields: [], decidedBy: handlerOf(record) };
      case 'delete':
      case 'unsupported':
        return nothing;
      case 'add':
      case 'remove': {
        const decidedBy = this.#ownMethods(record, kind);
        return { fields: decidedBy ? [] : this.#itemFields(record), decidedBy };
      }
      case 'list':
      case 'create':
      case 'fetch':
      case 'patch':
      case 'replace':
        return { fields: this.#fieldsOf(this.#metaOf(record)), decidedBy: null };
    }
  }

  /** What a body may hold. GET and HEAD have none. */
  write(record: RouteRecord, method: HttpMethod, kind: ActionKind): RouteFields {
    if (method === 'GET' || method === 'HEAD') return nothing;
    switch (kind) {
      case 'handler':
      case 'service':
        return { fields: [], decidedBy: handlerOf(record) };
      case 'create':
      case 'patch':
      case 'replace': {
        const { mapper } = this.#describing;
        const plans = concreteClasses(mapper, this.#metaOf(record)).map((meta) => planWrites(mapper, meta, writeGroups));
        return {
          fields: writableFields(plans, kind === 'create', { ...this.#describing, groups: writeGroups }),
          decidedBy: null,
        };
      }
      case 'add':
      case 'remove': {
        const { property } = associationOf(record);
        return {
          fields: [itemReference(this.#metaOf(record), property, this.#targetsOf(record), this.#describing)],
          decidedBy: null,
        };
      }
      case 'list':
      case 'fetch':
      case 'delete':
      case 'unsupported':
        return nothing;
    }
  }

  #metaOf({ api }: RouteRecord): EntityMetadata {
    return metaOf(this.#describing.mapper, api?.class.value);
  }

  #fieldsOf(meta: EntityMetadata): readonly FieldAccess[] {
    let fields = this.#readable.get(meta);
    if (!fields) {
      fields = readableFields(this.#planOf(meta), this.#describing);
      this.#readable.set(meta, fields);
    }
    return fields;
  }

  #planOf(meta: EntityMetadata): FieldPlan {
    return planFields(this.#describing.mapper, meta, readGroups);
  }

  /** What adds and removes answers with the item, unless methods of the model answer with something else. */
  #itemFields(record: RouteRecord): readonly FieldAccess[] {
    const targets = this.#targetsOf(record);
    const variants = new Map(targets.flatMap((target) => [...this.#planOf(target).variants]));
    return readableFields({ variants }, this.#describing);
  }

  #ownMethods(record: RouteRecord, kind: 'add' | 'remove'): string | null {
    const { property } = associationOf(record);
    const methods = concreteClasses(this.#describing.mapper, this.#metaOf(record)).flatMap((meta) =>
      (accessorsFor(meta, property)?.methods ?? [])
        .filter((method) => method.startsWith(kind))
        .map((method) => `${meta.className}.${method}`),
    );
    return methods.length > 0 ? methods.join(', ') : null;
  }

  #targetsOf(record: RouteRecord): readonly EntityMetadata[] {
    const { property, types } = associationOf(record);
    if (types.length > 0) return types.map(({ value }) => metaOf(this.#describing.mapper, value));
    const association = this.#metaOf(record).properties[property as never] as EntityProperty | undefined;
    return association ? targetsOf(association) : [];
  }
}

function handlerOf({ controller, handler }: RouteRecord): string {
  return `${controller}.${handler}`;
}

function associationOf({ action }: RouteRecord) {
  return action?.association ?? { property: '', types: [] };
}
