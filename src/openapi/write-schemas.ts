import type { EntityMetadata } from '@mikro-orm/core';
import { type EmbeddedWrite, isSetOnce, planWrites, type ScalarWrite, type WritableField } from '../change/write-plan.ts';
import { jsonName } from '../model/field-plan.ts';
import { writeGroups } from '../model/groups.ts';
import { concreteClasses, discriminatorProperty, typeOf } from '../model/hierarchy.ts';
import { keyKind, keyOf } from '../model/identifier.ts';
import { valueKindOf } from '../model/value-kind.ts';
import type { SchemaContext } from './components.ts';
import { anyOf, type JsonSchema, listIf, objectSchema, orNull, valueSchema, withDescription } from './json-schema.ts';

/** Whether a body creates a row, sets some of its fields, or replaces all of them. */
export type BodyMode = 'create' | 'patch' | 'replace';

const suffixes: Readonly<Record<BodyMode, string>> = { create: 'Create', patch: 'Patch', replace: 'Replace' };

/** A body with further properties, or without a field. */
export interface BodyVariant {
  /** The end of its name. */
  readonly suffix: string;
  /** The property of the model that it leaves out. */
  readonly without?: string;
  readonly required?: readonly string[];
  /** The further properties of a class. They replace fields of the same name. */
  properties(meta: EntityMetadata): Readonly<Record<string, JsonSchema>>;
}

export function writeSchemas({ components, denormalizes, describe, mapper }: SchemaContext) {
  const platform = mapper.driver.getPlatform();

  /** The schema of a body for a model, for every class that its rows can have. */
  function of(model: EntityMetadata, mode: BodyMode, variant?: BodyVariant): JsonSchema {
    const plans = concreteClasses(mapper, model).map((meta) => planWrites(mapper, meta, writeGroups));
    const several = plans.length > 1;
    const refs = plans.map(({ fields, meta, typeKey }) => {
      const isTyped = several || discriminatorProperty(meta) !== null;
      const type = isTyped && !fields.has(typeKey) ? { [typeKey]: typeOf(meta) } : {};
      return objectOf(meta, fields, mode, type, mode === 'create' && several ? [typeKey] : [], variant);
    });
    if (!several) return refs[0] as JsonSchema;
    const mapping = () => Object.fromEntries(plans.map(({ meta }, index) => [typeOf(meta), refs[index]?.$ref]));
    const union: JsonSchema =
      mode === 'create'
        ? { oneOf: refs, discriminator: { propertyName: plans[0]?.typeKey, mapping: mapping() } }
        : // the class of an existing row is known
          { anyOf: refs };
    const isAny = plans.some(({ meta }) => meta.className === model.className);
    return components.add(`${isAny ? 'Any' : ''}${model.className}${variant?.suffix ?? suffixes[mode]}`, union);
  }

  /** The object of one class. `type` is the key that names the class, with its value. */
  function objectOf(
    meta: EntityMetadata,
    fields: ReadonlyMap<string, WritableField>,
    mode: BodyMode,
    type: Readonly<Record<string, unknown>>,
    required: readonly string[],
    variant?: BodyVariant,
  ): JsonSchema {
    const further = variant?.properties(meta) ?? {};
    // a key that the client chooses can be set only when the row is created
    const settable = [...fields.values()].filter(
      (field) => (mode === 'create' || !isSetOnce(field)) && field.property !== variant?.without,
    );
    const needed = mode === 'patch' ? [] : settable.filter((field) => field.required).map(({ name }) => name);
    const properties = [
      ...Object.entries(type).map(([key, value]) => [key, { type: typeof value, const: value }] as const),
      ...settable.map((field) => [field.name, described(meta, field, mode)] as const),
      ...Object.entries(further),
    ];
    const schema = objectSchema(Object.fromEntries(properties), [...required, ...(variant?.required ?? []), ...needed]);
    return components.add(`${meta.className}${variant?.suffix ?? suffixes[mode]}`, schema);
  }

  function described(owner: EntityMetadata, field: WritableField, mode: BodyMode): JsonSchema {
    const bare = fieldOf(owner, field, mode);
    return withDescription(field.nullable && field.kind !== 'to-many' ? orNull(bare) : bare, describe(owner, field.property));
  }

  function fieldOf(owner: EntityMetadata, field: WritableField, mode: BodyMode): JsonSchema {
    if (field.kind === 'scalar') return scalar(field);
    if (field.kind === 'embedded') return listIf(field.array, embedded(field, mode));
    const item = denormalizes(owner, field.property)
      ? { description: 'Read by code of the application.' }
      : reference(field.targets);
    return listIf(field.kind === 'to-many', item);
  }

  function scalar({ metadata }: ScalarWrite): JsonSchema {
    const schema = valueSchema(valueKindOf(metadata, platform), 'write');
    const { default: standard } = metadata;
    const plain = typeof standard === 'string' || typeof standard === 'number' || typeof standard === 'boolean';
    return plain && !metadata.customType ? { ...schema, default: standard } : schema;
  }

  function embedded({ plans }: EmbeddedWrite, mode: BodyMode): JsonSchema {
    return anyOf(
      plans.map(({ discriminator, fields, meta }) => {
        const type = discriminator ? { [discriminator.key]: discriminator.value } : {};
        return objectOf(meta, fields, mode, type, plans.length > 1 ? Object.keys(type) : []);
      }),
    );
  }

  /** A reference to a row of one of the classes: `{id}`, or `{type, id}`. */
  function reference(targets: readonly EntityMetadata[]): JsonSchema {
    const refs = targets.map((meta) => {
      const type = { type: 'string', enum: concreteClasses(mapper, meta).map(typeOf) };
      const key = jsonName(keyOf(meta));
      const properties = { type, [key]: valueSchema(keyKind(meta, platform), 'write') };
      const required = targets.length > 1 ? ['type', key] : [key];
      return components.add(`${meta.className}Reference`, objectSchema(properties, required, { 'x-model': meta.className }));
    });
    return anyOf(refs);
  }

  return { of, reference };
}
