import fc from 'fast-check';
import type { OpenApiDocument } from '../../../src/openapi/document.ts';
import type { JsonSchema } from '../../../src/openapi/json-schema.ts';
import { Pools, Values } from './values.ts';

/** A request, and whether the document allows it. */
export interface FuzzRequest {
  readonly operation: string;
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly allowed: boolean;
  /** Whether its body may be of one of several classes. */
  readonly ofSeveral: boolean;
}

export interface FuzzAnswer {
  readonly status: number;
  readonly text: string;
  /** Its `ETag`. */
  readonly tag: string | null;
}

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly schema: JsonSchema;
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>> }>>;
}

/** What a request is made of, before it is written. */
interface Parts {
  readonly path: Readonly<Record<string, string>>;
  readonly query: readonly (readonly [string, string])[];
  readonly headers: readonly HeaderChoice[];
  readonly body: unknown;
}

/** A header that may be sent, and what with: by this number, something that was made up, or that an answer had, or nothing. */
interface HeaderChoice {
  readonly name: string;
  readonly made: string;
  readonly at: number;
}

const whole = '#/components/schemas/';
const strange = [
  '',
  '0',
  '-1',
  '1e3',
  '1.5',
  'abc',
  '%00',
  '%E0%A4%A',
  '..',
  'null',
  '9'.repeat(30),
  "1' or '1'='1",
  '漢😀',
  '1,2',
  '[1]',
  '{}',
  'true',
  '\u0000',
];

/** Makes requests from a document alone, and learns from the answers which ids there are. */
export class Requests {
  readonly arbitrary: fc.Arbitrary<FuzzRequest>;
  readonly #pools = new Pools();
  readonly #schemas: Readonly<Record<string, JsonSchema>>;
  readonly #operations: ReadonlyMap<string, Operation>;
  readonly #shared: Readonly<Record<string, Parameter>>;
  /** The tags that answers had, by their addresses. */
  readonly #tags = new Map<string, string>();
  /** Links that were given, each of an operation. */
  readonly #links: { readonly operation: string; readonly target: string }[] = [];

  constructor(document: OpenApiDocument, credentials: Readonly<Record<string, string>>) {
    const { components, paths } = document as unknown as {
      components: { schemas: Record<string, JsonSchema>; parameters?: Record<string, Parameter> };
      paths: Record<string, Record<string, Operation>>;
    };
    this.#schemas = components.schemas;
    this.#shared = components.parameters ?? {};
    const values = new Values(this.#schemas, this.#pools);
    this.#operations = new Map(
      Object.entries(paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
      ),
    );
    const each = [...this.#operations].map(([name, operation]) => this.#operation(name, operation, values, credentials));
    this.arbitrary = fc.oneof({ arbitrary: fc.oneof(...each), weight: 19 }, { arbitrary: this.#link(credentials), weight: 1 });
  }

  get size(): number {
    return this.#operations.size;
  }

  #operation(
    name: string,
    operation: Operation,
    values: Values,
    credentials: Readonly<Record<string, string>>,
  ): fc.Arbitrary<FuzzRequest> {
    const [method = '', path = ''] = name.split(' ');
    const parameters = (operation.parameters ?? []).map(
      (one) => this.#shared[String(one.$ref).slice('#/components/parameters/'.length)] ?? one,
    );
    const inPath = parameters.filter((one) => one.in === 'path');
    // what only a link has, nobody can make up
    const inQuery = parameters.filter((one) => one.in === 'query' && one.schema.format !== 'cursor' && one.name !== 'fields');
    const schema = operation.requestBody?.content['application/json']?.schema;
    const placeholder = (schemaOf: JsonSchema) =>
      fc.tuple(values.of(schemaOf), fc.nat()).map(([made, at]) => {
        const known = this.#pools.pick(this.#modelAt(path), at);
        return encodeURIComponent(String(at % 5 === 0 || known === undefined ? made : known));
      });
    const parts: fc.Arbitrary<Parts> = fc.record({
      path: fc.record(Object.fromEntries(inPath.map((one) => [one.name, placeholder(one.schema)]))),
      query: fc
        .subarray([...inQuery], { maxLength: Math.min(4, inQuery.length) })
        .chain((chosen) =>
          fc.tuple(...chosen.map((one) => values.of(one.schema).map((made) => [one.name, written(made)] as const))),
        ),
      headers: fc.tuple(
        ...parameters
          .filter((one) => one.in === 'header')
          .map((one) => fc.record({ name: fc.constant(one.name), made: values.of(one.schema).map(asciiOnly), at: fc.nat(99) })),
      ),
      body: schema ? values.of(schema) : fc.constant(undefined),
    });
    const write = (made: Parts, further: Partial<FuzzRequest> = {}): FuzzRequest => {
      const query = made.query.map((pair) => pair.map(encodeURIComponent).join('=')).join('&');
      const { authorization = '' } = credentials;
      const target = path.replace(/\{(\w+)\}/g, (_, key: string) => made.path[key] ?? '') + (query ? `?${query}` : '');
      return {
        operation: name,
        method,
        target,
        headers: {
          authorization,
          ...this.#headers(made.headers, target),
          ...(made.body !== undefined && { 'content-type': 'application/json' }),
        },
        body: made.body === undefined ? undefined : JSON.stringify(made.body),
        allowed: true,
        ofSeveral: this.#isOfSeveral(schema),
        ...further,
      };
    };
    // what a handler of the application's own takes is known to itself where it is not declared
    const isDescribed = schema === undefined || Object.keys(schema).length > 0;
    const valid = parts.map((made) => write(made, { allowed: isDescribed }));
    const mutated = fc
      .tuple(parts, fc.nat(9), fc.nat(), fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(...strange))
      .map(([made, kind, at, json, odd]) => mutate(made, write, credentials, { kind, at, json, odd }));
    return fc.oneof(valid, mutated);
  }

  /** Most requests have none of them. */
  #headers(choices: readonly HeaderChoice[], target: string): Record<string, string> {
    const sent = choices.map(({ name, made, at }) => {
      const learnt = name.endsWith('-Match') ? (at % 2 === 0 ? '*' : this.#tags.get(target)) : `${target} ${at}`.slice(0, 200);
      return [name, at < 70 ? undefined : at < 80 ? made : learnt] as const;
    });
    return Object.fromEntries(sent.filter((pair): pair is readonly [string, string] => pair[1] !== undefined));
  }

  #isOfSeveral(schema: JsonSchema | undefined): boolean {
    const { $ref, anyOf, oneOf } = (schema ?? {}) as { $ref?: string; anyOf?: unknown; oneOf?: unknown };
    return $ref ? this.#isOfSeveral(this.#schemas[$ref.slice(whole.length)]) : (anyOf ?? oneOf) !== undefined;
  }

  #link(credentials: Readonly<Record<string, string>>): fc.Arbitrary<FuzzRequest> {
    return fc.nat().map((at) => {
      const { operation, target } = this.#links[at % this.#links.length] ?? { operation: 'GET /', target: '/' };
      const headers = { authorization: credentials.authorization ?? '' };
      return { operation, method: 'GET', target, headers, body: undefined, allowed: this.#links.length > 0, ofSeveral: false };
    });
  }

  /** The model that an API is of: what its list or its entity is described by. */
  #modelAt(path: string): string {
    const base = path.replace(/\/\{.*$/, '');
    for (const name of [`GET ${base}.json`, `GET ${base}/{id}.json`]) {
      const schema = this.#operations.get(name)?.responses['200']?.content?.['application/json']?.schema;
      if (schema) return this.#itemOf(schema);
    }
    return '';
  }

  #itemOf(schema: JsonSchema): string {
    const name = String(schema.$ref).slice(whole.length);
    const { results } = (this.#schemas[name]?.properties ?? {}) as { results?: { items: JsonSchema } };
    return results ? this.#itemOf(results.items) : name;
  }

  /** Learns tags, ids and links from an answer. */
  learn({ operation, target }: FuzzRequest, { status, tag, text }: FuzzAnswer): void {
    if (tag !== null) this.#tags.set(target, tag);
    if (status >= 300 || !text.startsWith('{')) return;
    const schema = this.#operations.get(operation)?.responses[status]?.content?.['application/json']?.schema;
    if (!schema) return;
    const value = JSON.parse(text);
    this.#harvest(schema, value);
    const next = value?.pagination?.next;
    if (typeof next === 'string' && this.#links.length < 1000 && !target.includes('after='))
      this.#links.push({ operation, target: next });
  }

  #harvest(schema: JsonSchema, value: unknown): void {
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
      for (const item of value) this.#harvest((schema.items ?? {}) as JsonSchema, item);
      return;
    }
    const {
      $ref,
      anyOf,
      oneOf,
      properties = {},
    } = schema as { $ref?: string; anyOf?: JsonSchema[]; oneOf?: JsonSchema[]; properties?: Record<string, JsonSchema> };
    if ($ref !== undefined) {
      const name = $ref.slice(whole.length);
      if ('id' in value) this.#pools.add(name, value.id);
      this.#harvest(this.#schemas[name] ?? {}, value);
      return;
    }
    for (const option of anyOf ?? oneOf ?? []) this.#harvest(option, value);
    for (const [name, property] of Object.entries(properties)) this.#harvest(property, (value as Record<string, unknown>)[name]);
  }
}

/** A text that can stand in a header, where spaces around it are no part of it. */
function asciiOnly(value: unknown): string {
  return (
    String(value)
      .replace(/[^ -~]/g, '~')
      .trim() || '~'
  );
}

/** A value as a parameter has it. */
function written(value: unknown): string {
  return Array.isArray(value) ? value.map((item) => String(item).replace(/[\\,]/g, '\\$&')).join() : String(value);
}

interface Mutation {
  readonly kind: number;
  readonly at: number;
  readonly json: unknown;
  readonly odd: string;
}

/** Breaks a request in one place. */
function mutate(
  made: Parts,
  write: (made: Parts, further?: Partial<FuzzRequest>) => FuzzRequest,
  credentials: Readonly<Record<string, string>>,
  { kind, at, json, odd }: Mutation,
): FuzzRequest {
  const request = write(made, { allowed: false });
  const keys = Object.keys(made.path);
  const body = made.body as Record<string, unknown> | undefined;
  const fields = typeof body === 'object' && body !== null ? Object.keys(body) : [];
  const chosen = fields[at % fields.length];
  const { authorization, ...others } = request.headers;
  const own = Object.values(credentials);
  switch (kind) {
    case 0: // another path
      return keys.length === 0
        ? request
        : write({ ...made, path: { ...made.path, [keys[0] as string]: encodeURI(odd) } }, { allowed: false });
    case 1: // another value of a parameter, or a parameter twice
      return write(
        { ...made, query: [...made.query.map(([name]) => [name, odd] as const), ...made.query.slice(0, at % 2)] },
        { allowed: false },
      );
    case 2: // a parameter that is not there
      return write(
        { ...made, query: [...made.query, [['x', 'page[]', '__proto__', 'or[0][x]', odd][at % 5] as string, odd]] },
        { allowed: false },
      );
    case 3: // another field
      return body === undefined ? request : write({ ...made, body: { ...body, [chosen ?? odd]: json } }, { allowed: false });
    case 4: // a field too few
      return write(
        { ...made, body: body && Object.fromEntries(Object.entries(body).filter(([name]) => name !== chosen)) },
        { allowed: false },
      );
    case 5: // a field too many
      return write(
        { ...made, body: body && { ...body, [['id', 'type', 'constructor', 'x', odd][at % 5] as string]: json } },
        { allowed: false },
      );
    case 6: // no object, or no JSON
      return {
        ...request,
        body: [odd, JSON.stringify(json), '{', '[]', '"x"', `${'['.repeat(200)}${']'.repeat(200)}`][at % 6] as string,
      };
    case 7: // another type of content
      return {
        ...request,
        headers: {
          ...request.headers,
          'content-type': ['text/plain', 'application/xml', 'x', 'application/merge-patch+json'][at % 4] as string,
        },
      };
    case 8: // another caller, or none
      return { ...request, headers: { ...others, ...(at % 3 > 0 && { authorization: own[at % own.length] as string }) } };
    default: // a text that no column holds
      return write(
        {
          ...made,
          body: body && { ...body, ...(chosen && { [chosen]: ['\u0000', '\ud800', 'x'.repeat(100_000), odd][at % 4] }) },
        },
        { allowed: false },
      );
  }
}
