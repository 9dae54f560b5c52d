import { planWrites } from '../change/write-plan.ts';
import type { Mapper } from '../database/mapper.ts';
import type { ActionDeclaration, ApiDeclaration, DescribedDeclaration, StandardSchema } from '../declaration/types.ts';
import { planFields } from '../model/field-plan.ts';
import { readGroups, writeGroups } from '../model/groups.ts';
import { concreteClasses, metaOf } from '../model/hierarchy.ts';
import type { Components } from './components.ts';
import type { JsonSchema } from './json-schema.ts';
import { collectionSchema, type ReadSchemas } from './read-schemas.ts';
import { mapRefs } from './schema-visitor.ts';
import type { WriteSchemas } from './write-schemas.ts';

/** The schemas of what handlers of the application's own take and give, as far as it was declared. */
export class DeclaredSchemas {
  readonly #mapper: Mapper;
  readonly #components: Components;
  readonly #read: ReadSchemas;
  readonly #write: WriteSchemas;

  constructor(mapper: Mapper, components: Components, read: ReadSchemas, write: WriteSchemas) {
    this.#mapper = mapper;
    this.#components = components;
    this.#read = read;
    this.#write = write;
  }

  body(api: ApiDeclaration, action: ActionDeclaration, declared: DescribedDeclaration): JsonSchema {
    if (declared.kind !== 'model') return this.#plain(`${nameOf(api, action)}Body`, declared, 'input');
    const meta = metaOf(this.#mapper, declared.model.value);
    if (declared.as === 'reference') return this.#write.reference([meta]);
    const plans = concreteClasses(this.#mapper, meta).map((of) => planWrites(this.#mapper, of, writeGroups));
    return this.#write.of(plans, meta.className, 'create');
  }

  result(api: ApiDeclaration, action: ActionDeclaration, declared: DescribedDeclaration): JsonSchema {
    if (declared.kind !== 'model') return this.#plain(`${nameOf(api, action)}Result`, declared, 'output');
    const meta = metaOf(this.#mapper, declared.model.value);
    const one = this.#read.of(planFields(this.#mapper, meta, readGroups), meta.className);
    if (declared.as === 'list') return { type: 'array', items: one };
    const exact = api.pagination.count === 'exact';
    return declared.as === 'collection' ? collectionSchema(one, meta.className, exact, this.#components) : one;
  }

  #plain(name: string, declared: Exclude<DescribedDeclaration, { kind: 'model' }>, direction: 'input' | 'output'): JsonSchema {
    const schema = declared.kind === 'json' ? declared.schema : jsonSchemaOf(declared.schema, direction);
    return schema === null ? {} : this.#named(name, schema);
  }

  /** Keeps a schema, and those that it defines for itself, among the others of the document. */
  #named(name: string, { $schema: _, $id: __, $defs, ...schema }: JsonSchema): JsonSchema {
    const own = this.#components.reserve([name]);
    const parts = Object.entries(($defs ?? {}) as Record<string, JsonSchema>).map(([key, part]) => ({
      part,
      pointer: `#/$defs/${key}`,
      kept: this.#components.reserve([`${name}${capital(key)}`]),
    }));
    const refs = new Map([['#', own.ref.$ref], ...parts.map(({ pointer, kept }) => [pointer, kept.ref.$ref] as const)]);
    const inDocument = (part: JsonSchema) => mapRefs(part, (ref) => String(refs.get(ref) ?? ref)) as JsonSchema;
    for (const { part, kept } of parts) kept.define(inDocument(part));
    own.define(inDocument(schema));
    return own.ref;
  }
}

function nameOf(api: ApiDeclaration, action: ActionDeclaration): string {
  return `${capital(api.name)}${capital(action.name)}`;
}

function capital(text: string): string {
  return text.replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, first: string) => first.toUpperCase());
}

interface SelfDescribing extends StandardSchema {
  readonly '~standard': StandardSchema['~standard'] & {
    readonly jsonSchema?: Readonly<Record<'input' | 'output', (options: { target: string }) => JsonSchema>>;
  };
  /** As zod and arktype have it beside. */
  toJSONSchema?(options: { io: string }): JsonSchema;
  toJsonSchema?(): JsonSchema;
}

/** The JSON Schema of a schema that knows its own; null where it has none, or none that says all of it. */
export function jsonSchemaOf(schema: StandardSchema, direction: 'input' | 'output'): JsonSchema | null {
  const own = schema as SelfDescribing;
  try {
    const made =
      own['~standard'].jsonSchema?.[direction]({ target: 'draft-2020-12' }) ??
      own.toJSONSchema?.({ io: direction }) ??
      own.toJsonSchema?.();
    return made === undefined ? null : (JSON.parse(JSON.stringify(made)) as JsonSchema);
  } catch {
    return null;
  }
}
