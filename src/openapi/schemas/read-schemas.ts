import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import type {
  ActionDeclaration,
  AggregateDeclaration,
  ApiDeclaration,
  CountMode,
  DeclaredGroup,
} from '../../declaration/types.ts';
import { type Field, type FieldPlan, planFields, type ScalarField } from '../../model/field-plan.ts';
import { rolesOfProperty } from '../../model/group-roles.ts';
import { groupNames } from '../../model/groups.ts';
import { discriminatorProperty } from '../../model/hierarchy.ts';
import { isComposite, keyKind } from '../../model/identifier.ts';
import type { Normalization } from '../../model/normalization.ts';
import { aggregateResult } from '../aggregates.ts';
import { pascal, wordsOf } from '../english.ts';
import { type JsonSchema, listIf, objectSchema, orNull, valueSchema, withDescription } from '../json-schema.ts';
import { groupSuffix, isSameGroups, withRoles } from '../roles.ts';
import type { SchemaContext } from './components.ts';
import { modelKeywords } from './model-keywords.ts';

type Groups = readonly DeclaredGroup[];

/**
 * The schemas of responses. Each shape of a class has one name: `Person`, `PersonInCourse` for another shape within a course, and
 * `PersonShort` for the shape in the group `short`.
 */
export function readSchemas({ components, describe, hides, mapper }: SchemaContext) {
  const known = new Map<string, JsonSchema>();
  const models = new Set<string>();
  const ofApis = new Map<string, { readonly groups: Groups; readonly shape: string }>();

  /** Keeps the plain names of a model for its schemas in these groups, even if another model embeds it in other groups first. */
  function prefer(model: EntityMetadata, groups: Groups): void {
    for (const [meta, fields] of planFields(mapper, model, groupNames(groups)).variants) {
      if (!ofApis.has(meta.className)) ofApis.set(meta.className, { groups, shape: shapeOf(meta, fields, groups) });
    }
  }

  function isPreferred({ className }: EntityMetadata, shape: string, groups: Groups): boolean {
    const preferred = ofApis.get(className);
    return !preferred || preferred.shape === shape || isSameGroups(preferred.groups, groups);
  }

  /** The schema of a model, for every class that its rows can have. */
  function of(meta: EntityMetadata, groups: Groups): JsonSchema {
    const { className: model } = meta;
    const isFirst = !models.has(model);
    models.add(model);
    return union(planFields(mapper, meta, groupNames(groups)), { groups, model, isWhole: true, isFirst });
  }

  /** The response to a listing of a model. */
  function collection(meta: EntityMetadata, { pagination: { count } }: ApiDeclaration, groups: Groups): JsonSchema {
    const names = [meta.className, `${meta.className}${groupSuffix(groups, 'read')}`].map((name) => `${name}Collection`);
    return collectionOf(names, of(meta, groups), count);
  }

  /** The response to a request for aggregates. */
  function aggregates(meta: EntityMetadata, api: ApiDeclaration, { groups, list }: ActionDeclaration): JsonSchema {
    const name = `${pascal(wordsOf(api.name))}Aggregate`;
    const plan = planFields(mapper, meta, groupNames(groups.read));
    const result = aggregateResult(list?.aggregate as AggregateDeclaration, plan, groups.read);
    return collectionOf([`${name}Collection`], components.add(name, result), 'exact');
  }

  function collectionOf(names: readonly string[], item: JsonSchema, count: CountMode): JsonSchema {
    // links are not valid URI references: the brackets of filters stay readable
    const link = { type: ['string', 'null'] };
    const pagination = {
      more: { type: 'boolean', description: 'Whether there are further items after this page.' },
      next: { ...link, description: 'The page after this one.' },
      previous: { ...link, description: 'The page before this one.' },
      first: { type: 'integer', minimum: 0, description: 'The position of the first item of this page, from 0.' },
      items_per_page: { type: 'integer', minimum: 1, description: 'The maximum number of items per page.' },
    };
    const countIs = { type: 'string', enum: ['capped', 'estimated'], description: 'Why `count` is not exact; absent if it is.' };
    const properties = {
      count: { type: 'integer', minimum: 0, description: 'The number of items on all pages.' },
      ...(count !== 'exact' && { count_is: countIs }),
      results: { type: 'array', items: item },
      pagination: components.add('Pagination', objectSchema(pagination, Object.keys(pagination))),
    };
    return components.add(names, objectSchema(properties, ['count', 'results', 'pagination']));
  }

  /** The schema of every class in a plan; that of a whole model has a name. */
  function union(plan: FieldPlan, within: Within): JsonSchema {
    const refOf = (meta: EntityMetadata, fields: readonly Field[]) => {
      const normalized = plan.normalizations?.get(meta);
      return normalized ? normalizedModel(meta, normalized) : variant(meta, fields, within);
    };
    const variants = [...plan.variants].map(([meta, fields]) => ({ meta, fields, ref: refOf(meta, fields) }));
    if (variants.length === 0) return {};
    if (variants.length === 1) return variants[0]?.ref as JsonSchema;
    const refs = variants.map(({ ref }) => ref);
    const key = plan.normalizations ? null : discriminatorKey(variants, within.groups);
    const mapping = () => Object.fromEntries(variants.map(({ meta, ref }) => [String(meta.discriminatorValue), ref.$ref]));
    const schema: JsonSchema =
      key === null ? { anyOf: refs } : { oneOf: refs, discriminator: { propertyName: key, mapping: mapping() } };
    if (!within.isWhole) return schema;
    const { groups, model } = within;
    const prefix = variants.some(({ meta }) => meta.className === model) ? 'Any' : '';
    const names = [model, `${model}${groupSuffix(groups, 'read')}`].map((name) => `${prefix}${name}`);
    return components.add(names, { ...schema, 'x-model': model });
  }

  /** The schema of the values that a normalizer returns for a model. */
  function normalizedModel(meta: EntityMetadata, { by, schema }: Normalization): JsonSchema {
    const shape = `${meta.className} by ${by}`;
    const made = known.get(shape);
    if (made) return made;
    const reserved = components.reserve([meta.className, `${meta.className}By${by}`]);
    known.set(shape, reserved.ref);
    reserved.define({ ...withDescription(schema, describe(meta)), 'x-model': meta.className });
    return reserved.ref;
  }

  function variant(meta: EntityMetadata, fields: readonly Field[], within: Within): JsonSchema {
    const { groups } = within;
    const shape = shapeOf(meta, fields, groups);
    const made = known.get(shape);
    if (made) return made;
    const cut = fields.length > 0 && fields.every(({ property }) => isIdentity(meta, property)) && !meta.embeddable;
    const names = cut
      ? [`${meta.className}Identity`]
      : [...(isPreferred(meta, shape, groups) ? [meta.className] : []), ...otherNames(meta, within)];
    const reserved = components.reserve(names);
    known.set(shape, reserved.ref);
    const properties = fields.map((field) => [field.name, describedField(meta, field, within)] as const);
    const required = fields.filter(({ metadata }) => rolesOfProperty(metadata, groups).length === 0).map(({ name }) => name);
    const model = meta.embeddable ? {} : modelKeywords(meta);
    reserved.define(objectSchema(Object.fromEntries(properties), required, withDescription(model, describe(meta))));
    return reserved.ref;
  }

  function describedField(meta: EntityMetadata, field: Field, within: Within): JsonSchema {
    const schema = withDescription(fieldOf(meta, field, within), describe(meta, field.property));
    return withRoles(schema, field.metadata, within.groups);
  }

  function fieldOf(meta: EntityMetadata, field: Field, within: Within): JsonSchema {
    const { metadata } = field;
    if (field.normalization) return field.normalization.schema;
    // a serializer of the model can return anything
    if (metadata.serializer) return {};
    if (field.kind === 'scalar') return scalarSchema(meta, field);
    const target = keyAlone(field) ?? union(field.plan, { ...within, isWhole: false });
    if (field.kind === 'embedded') {
      const whole = listIf(field.array, target);
      return metadata.nullable === true || (meta.embeddable && canVanish(metadata)) ? orNull(whole) : whole;
    }
    if (field.kind === 'to-many') return listIf(true, target);
    const inverse = metadata.kind === ReferenceKind.ONE_TO_ONE && !metadata.owner;
    return metadata.nullable === true || inverse || [...field.plan.variants.keys()].some(hides) ? orNull(target) : target;
  }

  /** The schema of the key that the model has instead of the associated entity; null if it has the entity. */
  function keyAlone({ metadata: { mapToPk, targetMeta } }: Field): JsonSchema | null {
    if (!mapToPk || !targetMeta) return null;
    return isComposite(targetMeta) ? {} : valueSchema(keyKind(targetMeta, mapper.driver.getPlatform()), 'read');
  }

  return { of, collection, aggregates, prefer };
}

/** The context of a schema. */
interface Within {
  readonly groups: Groups;
  /** The model of the response. */
  readonly model: string;
  /** Whether it is the schema of that model, and not of rows in it. */
  readonly isWhole: boolean;
  /** Whether the model has no schema in other groups yet. */
  readonly isFirst: boolean;
}

/** Names for a shape if another one has the name of the class. */
function otherNames({ className }: EntityMetadata, { groups, isFirst, isWhole, model }: Within): string[] {
  const suffix = groupSuffix(groups, 'read');
  const inModel = `${className}In${model}`;
  if (isFirst) return [inModel];
  return isWhole ? [`${className}${suffix}`] : [inModel, `${inModel}${suffix}`];
}

/** Whether the mapper reads a nested embeddable as null if all its properties are null. */
function canVanish({ array, object, targetMeta }: EntityProperty): boolean {
  if (array || object || !targetMeta) return false;
  const parts = Object.values(targetMeta.properties) as EntityProperty[];
  return parts.every((part) => part.nullable === true || (part.kind === ReferenceKind.EMBEDDED && canVanish(part)));
}

function scalarSchema(meta: EntityMetadata, { property, metadata, value }: ScalarField): JsonSchema {
  if (property === discriminatorProperty(meta) && meta.discriminatorValue !== undefined) {
    // MikroORM keeps numbers as texts
    const own = metadata.runtimeType === 'number' ? Number(meta.discriminatorValue) : meta.discriminatorValue;
    return { type: typeof own, const: own };
  }
  const schema = valueSchema(value, 'read');
  return metadata.nullable === true || metadata.formula ? orNull(schema) : schema;
}

/** The field that distinguishes the classes; null unless all of them show it to every caller. */
function discriminatorKey(
  variants: readonly { meta: EntityMetadata; fields: readonly Field[] }[],
  groups: Groups,
): string | null {
  const keys = variants.map(({ meta, fields }) => {
    const property = discriminatorProperty(meta);
    // without its role, a row can match the schemas of several classes
    const field = fields.find((each) => each.property === property && rolesOfProperty(each.metadata, groups).length === 0);
    return field?.name ?? null;
  });
  return keys.every((key) => key === keys[0]) ? (keys[0] ?? null) : null;
}

/** Two shapes of a class are equal if they have the same fields at every depth, for callers with the same roles. */
function shapeOf(meta: EntityMetadata, fields: readonly Field[], groups: Groups): string {
  const parts = fields.map((field) => {
    const roles = rolesOfProperty(field.metadata, groups);
    const name = roles.length === 0 ? field.name : `${field.name}[${roles.join()}]`;
    if (field.kind === 'scalar') return name;
    const inner = [...field.plan.variants].map(([target, own]) => shapeOf(target, own, groups));
    return `${name}:${inner.join('|')}`;
  });
  return `${meta.className}{${parts.join(',')}}`;
}

function isIdentity(meta: EntityMetadata, property: string): boolean {
  return (meta.primaryKeys as string[]).includes(property) || property === discriminatorProperty(meta);
}
