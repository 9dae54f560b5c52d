import fc from 'fast-check';
import type { JsonSchema } from '../../../src/openapi/json-schema.ts';

interface Shape {
  readonly $ref?: string;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly contentEncoding?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly items?: JsonSchema;
  readonly uniqueItems?: boolean;
  readonly minItems?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

/** The ids that answers had, by the name of the schema that they were described by. */
export class Pools {
  readonly #known = new Map<string, Set<unknown>>();

  add(name: string, id: unknown): void {
    const pool = this.#known.get(name) ?? new Set();
    this.#known.set(name, pool.add(id));
  }

  /** One of the ids of a schema, or nothing where none is known yet. */
  pick(name: string, at: number): unknown {
    const pool = [...(this.#known.get(name) ?? [])];
    return pool[at % pool.length];
  }
}

const prefix = '#/components/schemas/';
const referenceName = /^(.*)Reference$/;
const day = 86_400_000;
const noted = new Date('2000-01-01T00:00:00Z').getTime();

/** Makes values that schemas of a document allow. */
export class Values {
  readonly #schemas: Readonly<Record<string, JsonSchema>>;
  readonly #pools: Pools;
  readonly #known = new Map<string, fc.Arbitrary<unknown>>();

  constructor(schemas: Readonly<Record<string, JsonSchema>>, pools: Pools) {
    this.#schemas = schemas;
    this.#pools = pools;
  }

  of(schema: JsonSchema): fc.Arbitrary<unknown> {
    const { $ref, anyOf, oneOf, const: constant, enum: items, type } = schema as Shape;
    if ($ref !== undefined) return this.#named($ref.slice(prefix.length));
    if (constant !== undefined) return fc.constant(constant);
    if (items) return fc.constantFrom(...items);
    const options = anyOf ?? oneOf;
    if (options) return fc.oneof(...options.map((option) => this.of(option)));
    if (type === undefined) return fc.jsonValue({ maxDepth: 2 });
    return fc.oneof(...[type].flat().map((one) => this.#plain(one, schema as Shape)));
  }

  #named(name: string): fc.Arbitrary<unknown> {
    const known = this.#known.get(name);
    if (known) return known;
    const referred = referenceName.exec(name)?.[1];
    const schema = this.#schemas[name] as JsonSchema;
    const made = referred === undefined ? this.of(schema) : this.#reference(referred, schema as Shape);
    this.#known.set(name, made);
    return made;
  }

  /** Mostly to something that is there: else nothing is ever linked. */
  #reference(name: string, schema: Shape): fc.Arbitrary<unknown> {
    return fc.tuple(this.#plain('object', schema), fc.nat()).map(([made, at]) => {
      const id = this.#pools.pick(name, at);
      return at % 8 === 0 || id === undefined ? made : { ...(made as object), id };
    });
  }

  #plain(type: string, schema: Shape): fc.Arbitrary<unknown> {
    switch (type) {
      case 'null':
        return fc.constant(null);
      case 'boolean':
        return fc.boolean();
      case 'integer':
        return fc.oneof(
          fc.integer({ min: Math.max(schema.minimum ?? -1000, -1000), max: Math.min(schema.maximum ?? 1000, 1000) }),
          fc.integer({ min: schema.minimum ?? Number.MIN_SAFE_INTEGER, max: schema.maximum ?? Number.MAX_SAFE_INTEGER }),
        );
      case 'number':
        return fc.float({ noNaN: true, noDefaultInfinity: true });
      case 'array': {
        const items = schema.items ? this.of(schema.items) : fc.jsonValue({ maxDepth: 1 });
        // what is ordered by is named once, in whatever direction
        const nameOf = (item: unknown) => String(item).replace(/^-/, '');
        const bounds = { minLength: schema.minItems ?? 0, maxLength: 3 };
        return schema.uniqueItems ? fc.uniqueArray(items, { ...bounds, selector: nameOf }) : fc.array(items, bounds);
      }
      case 'object':
        return this.#object(schema);
      default:
        return text(schema);
    }
  }

  #object({ properties = {}, required = [] }: Shape): fc.Arbitrary<unknown> {
    const made = Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, this.of(property)]));
    return fc.record(made, { requiredKeys: [...required] as never[], noNullPrototype: true });
  }
}

function text({ format, pattern, contentEncoding, minLength = 0, maxLength = 40 }: Shape): fc.Arbitrary<string> {
  const moments = fc
    .integer({ min: 0, max: 20_000 })
    .map((days) => new Date(noted + days * day + ((days * 997) % day)).toISOString());
  if (format === 'date') return moments.map((moment) => moment.slice(0, 10));
  if (format === 'date-time') return moments;
  if (format === 'uuid') return fc.uuid();
  if (contentEncoding === 'base64') return fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString('base64'));
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern, 'u'));
  // a text is well-formed, and has no character NUL; its length is counted in code points
  const unit = fc.oneof(
    { arbitrary: fc.string({ minLength: 1, maxLength: 1 }), weight: 9 },
    fc.constantFrom('é', '漢', '😀', '\u202e', '%', '_', '"', '\\', '\n'),
  );
  return fc.array(unit, { minLength, maxLength: Math.min(maxLength, 40) }).map((units) => units.join(''));
}
