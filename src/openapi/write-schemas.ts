import type { EntityMetadata } from '@mikro-orm/core';
import {
  type AssociationWrite,
  type EmbeddedWrite,
  isSetOnce,
  planWrites,
  type ScalarWrite,
  type WritableField,
  type WritePlan,
} from '../change/write-plan.ts';
import { jsonName } from '../model/field-plan.ts';
import { writeGroups } from '../model/groups.ts';
import { concreteClasses, discriminatorProperty, typeOf } from '../model/hierarchy.ts';
import { keyKind, keyOf } from '../model/identifier.ts';
import { valueKindOf } from '../model/value-kind.ts';
import type { SchemaContext } from './components.ts';
import { type JsonSchema, objectSchema, orNull, valueSchema } from './json-schema.ts';

/** What a body does: makes a new row, sets the fields that were sent, or replaces all of them. */
export type BodyMode = 'create' | 'patch' | 'replace';

const suffixes: Readonly<Record<BodyMode, string>> = { create: 'Create', patch: 'Patch', replace: 'Replace' };

export class WriteSchemas {
  readonly #context: SchemaContext;

  constructor(context: SchemaContext) {
    this.#context = context;
  }

  /** The schema of a body for a model, of whatever class a row can be. */
  of(model: EntityMetadata, mode: BodyMode): JsonSchema {
    const { components, mapper } = this.#context;
    const plans = concreteClasses(mapper, model).map((meta) => planWrites(mapper, meta, writeGroups));
    const refs = plans.map((plan) => this.#class(plan, mode, plans.length > 1));
    if (refs.length === 1) return refs[0] as JsonSchema;
    const mapping = () => Object.fromEntries(plans.map(({ meta }, index) => [typeOf(meta), refs[index]?.$ref]));
    const union: JsonSchema =
      mode === 'create'
        ? { oneOf: refs, discriminator: { propertyName: plans[0]?.typeKey, mapping: mapping() } }
        : // the row itself says of which class it is
          { anyOf: refs };
    const isAny = plans.some(({ meta }) => meta.className === model.className);
    return components.add(`${isAny ? 'Any' : ''}${model.className}${suffixes[mode]}`, union);
  }

  #class(plan: WritePlan, mode: BodyMode, several: boolean): JsonSchema {
    const { fields, meta, typeKey } = plan;
    const typed = several || discriminatorProperty(meta) !== null;
    const { properties, required } = this.#properties(meta, fields, mode);
    const picks = mode === 'create' && several;
    const type = { type: 'string', const: typeOf(meta) };
    const own = typed && !fields.has(typeKey) ? { [typeKey]: type } : {};
    const schema = objectSchema({ ...own, ...properties }, [...(picks ? [typeKey] : []), ...required]);
    return this.#context.components.add(`${meta.className}${suffixes[mode]}`, schema);
  }

  #properties(owner: EntityMetadata, fields: ReadonlyMap<string, WritableField>, mode: BodyMode) {
    // a client-given key is set once, when the row is made
    const settable = [...fields.values()].filter((field) => mode === 'create' || !isSetOnce(field));
    const properties = settable.map((field) => [field.name, this.#described(owner, field, mode)] as const);
    const required = mode === 'patch' ? [] : settable.filter((field) => field.required).map(({ name }) => name);
    return { properties: Object.fromEntries(properties), required };
  }

  #described(owner: EntityMetadata, field: WritableField, mode: BodyMode): JsonSchema {
    const description = this.#context.describe(owner, field.property);
    const bare = this.#field(owner, field, mode);
    const schema = field.nullable && field.kind !== 'to-many' ? orNull(bare) : bare;
    return description === undefined ? schema : { ...schema, description };
  }

  #field(owner: EntityMetadata, field: WritableField, mode: BodyMode): JsonSchema {
    switch (field.kind) {
      case 'scalar':
        return this.#scalar(field);
      case 'embedded':
        return this.#embedded(field, mode);
      default:
        return this.#association(owner, field);
    }
  }

  #scalar({ metadata }: ScalarWrite): JsonSchema {
    const schema = valueSchema(valueKindOf(metadata, this.#context.mapper.driver.getPlatform()), 'write');
    const { default: standard } = metadata;
    const plain = typeof standard === 'string' || typeof standard === 'number' || typeof standard === 'boolean';
    return plain && !metadata.customType ? { ...schema, default: standard } : schema;
  }

  #embedded({ array, plans }: EmbeddedWrite, mode: BodyMode): JsonSchema {
    const refs = plans.map(({ discriminator, fields, meta }) => {
      const { properties, required } = this.#properties(meta, fields, mode);
      const key = discriminator && { [discriminator.key]: { type: typeof discriminator.value, const: discriminator.value } };
      const needed = discriminator && plans.length > 1 ? [discriminator.key, ...required] : required;
      return this.#context.components.add(`${meta.className}${suffixes[mode]}`, objectSchema({ ...key, ...properties }, needed));
    });
    const schema = refs.length === 1 ? (refs[0] as JsonSchema) : { anyOf: refs };
    return array ? { type: 'array', items: schema } : schema;
  }

  #association(owner: EntityMetadata, { kind, property, targets }: AssociationWrite): JsonSchema {
    const item: JsonSchema = this.#context.denormalizes(owner, property)
      ? { description: 'Read by the application itself.' }
      : this.reference(targets);
    return kind === 'to-many' ? { type: 'array', items: item } : item;
  }

  /** What refers to a row of one of the classes: `{id}`, or `{type, id}`. */
  reference(targets: readonly EntityMetadata[]): JsonSchema {
    const several = targets.length > 1;
    const refs = targets.map((meta) => {
      const types = concreteClasses(this.#context.mapper, meta).map(typeOf);
      const id = valueSchema(keyKind(meta, this.#context.mapper.driver.getPlatform()), 'write');
      const key = jsonName(keyOf(meta));
      const schema = objectSchema({ type: { type: 'string', enum: types }, [key]: id }, several ? ['type', key] : [key]);
      return this.#context.components.add(`${meta.className}Reference`, schema);
    });
    return several ? { anyOf: refs } : (refs[0] as JsonSchema);
  }
}
