import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { type EmbeddedWrite, isSetOnce, planWrites, type ScalarWrite, type WritableField } from '../../change/write-plan.ts';
import type { DeclaredGroup } from '../../declaration/types.ts';
import { jsonName } from '../../model/field-plan.ts';
import { rolesOfProperty } from '../../model/group-roles.ts';
import { groupNames, readGroups } from '../../model/groups.ts';
import { concreteClasses, discriminatorProperty, typeOf } from '../../model/hierarchy.ts';
import { isComposite, keyKind } from '../../model/identifier.ts';
import { valueKindOf } from '../../model/value-kind.ts';
import { anyOf, type JsonSchema, listIf, objectSchema, orNull, valueSchema, withDescription } from '../json-schema.ts';
import { groupSuffix, isSameGroups, withRoles } from '../roles.ts';
import type { SchemaContext } from './components.ts';
import { modelKeywords } from './model-keywords.ts';

/** Whether a body creates a row, sets some of its fields, or replaces all of them. */
export type BodyMode = 'create' | 'patch' | 'replace';

const suffixes: Readonly<Record<BodyMode, string>> = { create: 'Create', patch: 'Patch', replace: 'Replace' };

/** The groups of a body, and those of the API, whose schemas have the plain names. */
export interface BodyGroups {
  readonly active: readonly DeclaredGroup[];
  readonly usual: readonly DeclaredGroup[];
  /** The groups of the response. Without the role of the discriminator, the type of an existing row cannot be sent either. */
  readonly read: readonly DeclaredGroup[];
}

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

interface Body {
  readonly mode: BodyMode;
  readonly groups: BodyGroups;
  readonly variant?: BodyVariant | undefined;
}

/** `PersonCreate`; `PersonShortCreate` for an action with other groups than its API. */
function namesFor(name: string, { groups: { active, usual }, mode, variant }: Body): string[] {
  const suffix = variant?.suffix ?? suffixes[mode];
  const other = `${name}${groupSuffix(active, 'write')}${suffix}`;
  return isSameGroups(active, usual) ? [`${name}${suffix}`, other] : [other];
}

export function writeSchemas({ components, denormalizes, describe, mapper }: SchemaContext) {
  const platform = mapper.driver.getPlatform();

  /** The schema of a body for a model, for every class that its rows can have. */
  function of(model: EntityMetadata, mode: BodyMode, groups: BodyGroups, variant?: BodyVariant): JsonSchema {
    const body: Body = { mode, groups, variant };
    const plans = concreteClasses(mapper, model).map((meta) =>
      planWrites(mapper, meta, { read: readGroups, write: groupNames(groups.active) }),
    );
    const several = plans.length > 1;
    const refs = plans.map(({ fields, meta, typeKey }) => {
      const isTyped = several || discriminatorProperty(meta) !== null;
      const type = isTyped && !fields.has(typeKey) ? { [typeKey]: typeOf(meta) } : {};
      return objectOf(meta, fields, body, type, mode === 'create' && several ? [typeKey] : []);
    });
    if (!several) return refs[0] as JsonSchema;
    const mapping = () => Object.fromEntries(plans.map(({ meta }, index) => [typeOf(meta), refs[index]?.$ref]));
    const union: JsonSchema =
      mode === 'create'
        ? { oneOf: refs, discriminator: { propertyName: plans[0]?.typeKey, mapping: mapping() } }
        : // the class of an existing row is known
          { anyOf: refs };
    const isAny = plans.some(({ meta }) => meta.className === model.className);
    return components.add(namesFor(`${isAny ? 'Any' : ''}${model.className}`, body), union);
  }

  /** The object of one class. `type` is the key that names the class, with its value. */
  function objectOf(
    meta: EntityMetadata,
    fields: ReadonlyMap<string, WritableField>,
    body: Body,
    type: Readonly<Record<string, unknown>>,
    required: readonly string[],
  ): JsonSchema {
    const { groups, mode, variant } = body;
    const further = variant?.properties(meta) ?? {};
    // a key that the client chooses can be set only when the row is created
    const settable = [...fields.values()].filter(
      (field) => (mode === 'create' || !isSetOnce(field)) && field.property !== variant?.without,
    );
    const isNeeded = ({ metadata, required }: WritableField) => required && rolesOfProperty(metadata, groups.active).length === 0;
    const needed = mode === 'patch' ? [] : settable.filter(isNeeded).map(({ name }) => name);
    const properties = [
      ...Object.entries(type).map(([key, value]) => [key, typeSchema(meta, value, body)] as const),
      ...settable.map((field) => [field.name, described(meta, field, body)] as const),
      ...Object.entries(further),
    ];
    const schema = objectSchema(Object.fromEntries(properties), [...required, ...(variant?.required ?? []), ...needed]);
    return components.add(namesFor(meta.className, body), schema);
  }

  function typeSchema(meta: EntityMetadata, value: unknown, { groups, mode }: Body): JsonSchema {
    const schema = { type: typeof value, const: value } as JsonSchema;
    const name = mode === 'create' ? null : discriminatorProperty(meta);
    return name === null ? schema : withRoles(schema, meta.properties[name as never] as EntityProperty, groups.read);
  }

  function described(owner: EntityMetadata, field: WritableField, body: Body): JsonSchema {
    const bare = fieldOf(owner, field, body);
    const schema = field.nullable && field.kind !== 'to-many' ? orNull(bare) : bare;
    return withRoles(withDescription(schema, describe(owner, field.property)), field.metadata, body.groups.active);
  }

  function fieldOf(owner: EntityMetadata, field: WritableField, body: Body): JsonSchema {
    if (field.kind === 'scalar') return scalar(field);
    if (field.kind === 'embedded') return listIf(field.array, embedded(field, body));
    const item = denormalizes(owner, field.property)
      ? { description: 'Read by code of the application.' }
      : reference(field.targets);
    const [target] = field.targets;
    if (target && field.metadata.mapToPk && !isComposite(target))
      return anyOf([valueSchema(keyKind(target, platform), 'write'), item]);
    return listIf(field.kind === 'to-many', item);
  }

  function scalar({ metadata }: ScalarWrite): JsonSchema {
    const schema = valueSchema(valueKindOf(metadata, platform), 'write');
    const { default: standard } = metadata;
    const plain = typeof standard === 'string' || typeof standard === 'number' || typeof standard === 'boolean';
    return plain && !metadata.customType ? { ...schema, default: standard } : schema;
  }

  function embedded({ plans }: EmbeddedWrite, body: Body): JsonSchema {
    return anyOf(
      plans.map(({ discriminator, fields, meta }) => {
        const type = discriminator ? { [discriminator.key]: discriminator.value } : {};
        return objectOf(meta, fields, { ...body, variant: undefined }, type, plans.length > 1 ? Object.keys(type) : []);
      }),
    );
  }

  /** A reference to a row of one of the classes: `{id}`, or `{type, id}`. */
  function reference(targets: readonly EntityMetadata[]): JsonSchema {
    const refs = targets.map((meta) => {
      const type = { type: 'string', enum: concreteClasses(mapper, meta).map(typeOf) };
      const keys = keySchemas(meta);
      const properties = { type, ...keys };
      const required = [...(targets.length > 1 ? ['type'] : []), ...Object.keys(keys)];
      return components.add(`${meta.className}Reference`, objectSchema(properties, required, modelKeywords(meta)));
    });
    return anyOf(refs);
  }

  /** The schema of a key in a reference: one value, or one for each part. */
  function keySchemas(meta: EntityMetadata): Record<string, JsonSchema> {
    const entries = (meta.getPrimaryProps() as EntityProperty[]).map((property): [string, JsonSchema] => {
      const { targetMeta } = property;
      if (!targetMeta) return [jsonName(property), valueSchema(valueKindOf(property, platform), 'write')];
      if (!isComposite(targetMeta)) return [jsonName(property), valueSchema(keyKind(targetMeta, platform), 'write')];
      const inner = keySchemas(targetMeta);
      return [jsonName(property), objectSchema(inner, Object.keys(inner))];
    });
    return Object.fromEntries(entries);
  }

  return { of, reference, keySchemas };
}
