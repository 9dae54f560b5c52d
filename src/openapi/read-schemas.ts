import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import type { ApiDeclaration } from '../declaration/types.ts';
import {
  type AssociationField,
  type EmbeddedField,
  type Field,
  type FieldPlan,
  planFields,
  type ScalarField,
} from '../model/field-plan.ts';
import { readGroups } from '../model/groups.ts';
import { discriminatorProperty } from '../model/hierarchy.ts';
import type { SchemaContext } from './components.ts';
import { type JsonSchema, objectSchema, orNull, valueSchema } from './json-schema.ts';

/** The schemas of what goes out. Each shape that a class has somewhere is named once: `Person`, and `PersonInCourse` where it is another. */
export class ReadSchemas {
  readonly #context: SchemaContext;
  /** By what distinguishes one shape from another. */
  readonly #known = new Map<string, JsonSchema>();

  constructor(context: SchemaContext) {
    this.#context = context;
  }

  /** The schema of a model, of whatever class a row can be. */
  of(meta: EntityMetadata): JsonSchema {
    return this.#union(planFields(this.#context.mapper, meta, readGroups), meta.className, meta.className, true);
  }

  /** The response to a listing of a model. */
  collection(meta: EntityMetadata, { pagination: { count } }: ApiDeclaration): JsonSchema {
    const item = this.of(meta);
    // not a reference of a URI to the letter: the brackets of filters stay readable
    const link = { type: ['string', 'null'] };
    const pagination = {
      more: { type: 'boolean', description: 'Whether there are further items after this page.' },
      next: { ...link, description: 'The page after this one.' },
      previous: { ...link, description: 'The page before this one.' },
      first: { type: 'integer', minimum: 0, description: 'The position of the first item of this page, from 0.' },
      items_per_page: { type: 'integer', minimum: 1, description: 'The most items on a page.' },
    };
    const countIs = { type: 'string', enum: ['capped', 'estimated'], description: 'Why `count` is not exact, where it is not.' };
    const properties = {
      count: { type: 'integer', minimum: 0, description: 'The number of items on all pages.' },
      ...(count !== 'exact' && { count_is: countIs }),
      results: { type: 'array', items: item },
      pagination: this.#context.components.add('Pagination', objectSchema(pagination, Object.keys(pagination))),
    };
    return this.#context.components.add(
      `${meta.className}Collection`,
      objectSchema(properties, ['count', 'results', 'pagination']),
    );
  }

  #union(plan: FieldPlan, name: string, within: string, whole: boolean): JsonSchema {
    const variants = [...plan.variants].map(([meta, fields]) => ({ meta, fields, ref: this.#variant(meta, fields, within) }));
    if (variants.length === 0) return {};
    if (variants.length === 1) return variants[0]?.ref as JsonSchema;
    const refs = variants.map(({ ref }) => ref);
    const key = discriminatorKey(variants);
    const union: JsonSchema =
      key === null ? { anyOf: refs } : { oneOf: refs, discriminator: { propertyName: key, mapping: mappingOf(variants) } };
    if (!whole) return union;
    return this.#context.components.add(variants.some(({ meta }) => meta.className === name) ? `Any${name}` : name, union);
  }

  #variant(meta: EntityMetadata, fields: readonly Field[], within: string): JsonSchema {
    const shape = shapeOf(meta, fields);
    const known = this.#known.get(shape);
    if (known) return known;
    const cut = fields.length > 0 && fields.every(({ property }) => isIdentity(meta, property)) && !meta.embeddable;
    const names = cut ? [`${meta.className}Identity`] : [meta.className, `${meta.className}In${within}`];
    const reserved = this.#context.components.reserve(names);
    this.#known.set(shape, reserved.ref);
    const properties = fields.map((field) => [field.name, this.#described(meta, field, within)] as const);
    const description = this.#context.describe(meta);
    const required = properties.map(([key]) => key);
    reserved.define(objectSchema(Object.fromEntries(properties), required, description === undefined ? {} : { description }));
    return reserved.ref;
  }

  #described(meta: EntityMetadata, field: Field, within: string): JsonSchema {
    const description = this.#context.describe(meta, field.property);
    const schema = this.#field(meta, field, within);
    return description === undefined ? schema : { ...schema, description };
  }

  #field(meta: EntityMetadata, field: Field, within: string): JsonSchema {
    // a function of the model makes whatever it likes of it
    if (field.metadata.serializer) return {};
    switch (field.kind) {
      case 'scalar':
        return scalarSchema(meta, field);
      case 'embedded':
        return this.#embedded(meta, field, within);
      default:
        return this.#association(field, within);
    }
  }

  #embedded(meta: EntityMetadata, { array, metadata, plan, name }: EmbeddedField, within: string): JsonSchema {
    const schema = this.#union(plan, name, within, false);
    const whole = array ? { type: 'array', items: schema } : schema;
    return metadata.nullable === true || (meta.embeddable && canVanish(metadata)) ? orNull(whole) : whole;
  }

  #association({ kind, metadata, plan, name }: AssociationField, within: string): JsonSchema {
    const target = this.#union(plan, name, within, false);
    if (kind === 'to-many') return { type: 'array', items: target };
    const inverse = metadata.kind === ReferenceKind.ONE_TO_ONE && !metadata.owner;
    const optional = metadata.nullable === true || inverse || [...plan.variants.keys()].some(this.#context.hides);
    return optional ? orNull(target) : target;
  }
}

/** Whether an object within another that may be null leaves no trace where all it holds is null: the mapper then takes it for none. */
function canVanish({ array, object, targetMeta }: EntityProperty): boolean {
  if (array || object || !targetMeta) return false;
  const parts = Object.values(targetMeta.properties) as EntityProperty[];
  return parts.every((part) => part.nullable === true || (part.kind === ReferenceKind.EMBEDDED && canVanish(part)));
}

function scalarSchema(meta: EntityMetadata, { property, metadata, value }: ScalarField): JsonSchema {
  if (property === discriminatorProperty(meta) && meta.discriminatorValue !== undefined) {
    return { type: typeof meta.discriminatorValue, const: meta.discriminatorValue };
  }
  const schema = valueSchema(value, 'read');
  return metadata.nullable === true || metadata.formula ? orNull(schema) : schema;
}

/** The field that tells the classes apart, where every one of them shows it. */
function discriminatorKey(variants: readonly { meta: EntityMetadata; fields: readonly Field[] }[]): string | null {
  const keys = variants.map(({ meta, fields }) => {
    const property = discriminatorProperty(meta);
    return fields.find((field) => field.property === property)?.name ?? null;
  });
  return keys.every((key) => key === keys[0]) ? (keys[0] ?? null) : null;
}

function mappingOf(variants: readonly { meta: EntityMetadata; ref: JsonSchema }[]): Record<string, unknown> {
  return Object.fromEntries(variants.map(({ meta, ref }) => [String(meta.discriminatorValue), ref.$ref]));
}

/** Two shapes of a class are one if they have the same fields all the way down. */
function shapeOf(meta: EntityMetadata, fields: readonly Field[]): string {
  const parts = fields.map((field) => {
    if (field.kind === 'scalar') return field.name;
    const inner = [...field.plan.variants].map(([target, own]) => shapeOf(target, own));
    return `${field.name}:${inner.join('|')}`;
  });
  return `${meta.className}{${parts.join(',')}}`;
}

function isIdentity(meta: EntityMetadata, property: string): boolean {
  return (meta.primaryKeys as string[]).includes(property) || property === discriminatorProperty(meta);
}
