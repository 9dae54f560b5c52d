import type { JsonSchema } from '../../../src/openapi/json-schema.ts';
import { allowsText, validatorOf } from './schema-validators.ts';

/** A request and its response. */
export interface Exchange {
  readonly method: string;
  /** The part of the URL after the question mark. */
  readonly query: string;
  /** The parsed body of the request; undefined if there is none. */
  readonly sent: unknown;
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  /** The text of the response; null if it was streamed. */
  readonly text: string | null;
}

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly schema: JsonSchema;
  readonly explode?: boolean;
  readonly 'x-partial'?: boolean;
  /** The role that a caller needs; for values of a parameter, by value. */
  readonly 'x-role'?: string;
  readonly 'x-role-of'?: Readonly<Record<string, string>>;
}

interface Content {
  readonly [type: string]: { readonly schema: JsonSchema };
}

interface Header {
  readonly $ref?: string;
  readonly required?: boolean;
  readonly schema: JsonSchema;
}

interface ResponseObject {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, Header>>;
  readonly content?: Content;
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, ResponseObject>>;
  };
}

/**
 * Codes that reject the form of a body or parameter. The document describes the form, so a request that follows the document
 * never gets them. Other codes depend on stored data or on rules of the application.
 */
const formCodes = new Set([
  'unknown_parameter',
  'operator_not_allowed',
  'sort_not_allowed',
  'unknown_field',
  'field_not_writable',
  'unknown_type',
]);

/** Compares responses with a document. Operations that it does not describe are not checked. */
export class DocumentChecker {
  readonly #document: Document;

  constructor(document: unknown) {
    this.#document = document as Document;
  }

  /** The differences between a response and the document; none if the document does not describe the operation. */
  objections(path: string, exchange: Exchange): string[] {
    const operation = this.#document.paths[path]?.[exchange.method.toLowerCase()];
    if (!operation) return [];
    const { method, status } = exchange;
    const { responses } = operation;
    const named = responses[status] ?? responses[`${String(status)[0]}XX`] ?? responses.default;
    const found = named && this.#resolved(named);
    if (!found) return [`${method} ${path}: the status ${status} is not described: ${exchange.text}`];
    const wrong = [
      ...this.#headers(found, exchange),
      ...this.#body(operation, found, exchange),
      ...this.#rejection(operation, exchange),
    ];
    return wrong.map((what) => `${method} ${path}: ${status}: ${what}`);
  }

  /** Resolves the `$ref` of a part of the document, if it has one. */
  #resolved<Part extends { readonly $ref?: string }>(part: Part): Part {
    if (part.$ref === undefined) return part;
    const keys = part.$ref.slice(2).split('/');
    return keys.reduce<unknown>((within, key) => (within as Record<string, unknown>)[key], this.#document) as Part;
  }

  *#headers({ headers = {} }: ResponseObject, exchange: Exchange): Iterable<string> {
    for (const [name, header] of Object.entries(headers)) {
      const { required, schema } = this.#resolved(header);
      const value = exchange.headers[name.toLowerCase()];
      if (value === undefined) {
        if (required) yield `the header ${name} is missing`;
        continue;
      }
      if (!allowsText(schema, this.#document.components.schemas, String(value))) yield `the header ${name} is ${value}`;
    }
  }

  *#body({ parameters = [] }: Operation, { content }: ResponseObject, exchange: Exchange): Iterable<string> {
    const { headers, method, query, text } = exchange;
    if (method === 'HEAD') return;
    const type = String(headers['content-type'] ?? '').split(';', 1)[0] as string;
    if (!content) {
      if (text !== '') yield `there is a body, and none is described: ${text}`;
      return;
    }
    // a range or a default also includes responses without a body
    if (text === '' && type === '') return;
    const described = content[type] ?? content['*/*'];
    if (!described) {
      yield `the type ${type} is not described`;
      return;
    }
    if (!/[/+]json$/.test(type) || text === null) return;
    const partial = parameters.some((one) => one['x-partial'] && new URLSearchParams(query).has(one.name));
    const validate = validatorOf(described.schema, this.#document.components.schemas, { partial });
    if (!validate(JSON.parse(text))) {
      yield `${validate.errors?.map(({ instancePath, message }) => `${instancePath} ${message}`).join(', ')}: ${text}`;
    }
  }

  /** A request that the document allows every caller must not be rejected for its form. */
  *#rejection({ parameters = [], requestBody }: Operation, exchange: Exchange): Iterable<string> {
    if (exchange.status !== 400 || exchange.text === null || exchange.text === '') return;
    const code = exchange.text.startsWith('<') ? /<code>(.*?)<\/code>/.exec(exchange.text)?.[1] : JSON.parse(exchange.text).code;
    if (!formCodes.has(code)) return;
    // aggregates are sorted by what `by` names, and the schema of one parameter cannot refer to another
    if (code === 'sort_not_allowed' && parameters.some(({ name }) => name === 'by')) return;
    const schema = requestBody?.content['application/json']?.schema;
    if (schema && !this.#allowsBody(schema, exchange.sent)) return;
    if (!this.#allowsQuery(parameters, exchange.query)) return;
    yield `the document allows what was refused: ?${exchange.query} ${JSON.stringify(exchange.sent)}: ${exchange.text}`;
  }

  /** The document does not know the class of the row, so every class must accept the body. An empty schema proves nothing. */
  #allowsBody(schema: JsonSchema, value: unknown): boolean {
    const named = this.#document.components.schemas[String(schema.$ref).slice('#/components/schemas/'.length)] ?? schema;
    const classes = (named.anyOf as readonly JsonSchema[] | undefined) ?? [named];
    return Object.keys(named).length > 0 && classes.every((one) => this.#allows(one, value));
  }

  #allows(schema: JsonSchema, value: unknown): boolean {
    return value !== undefined && validatorOf(schema, this.#document.components.schemas, { roleless: true })(value) === true;
  }

  #allowsQuery(parameters: readonly Parameter[], query: string): boolean {
    const sent = new URLSearchParams(query);
    const known = new Map(parameters.filter((one) => one.in === 'query').map((one) => [one.name, one]));
    const seen = new Set<string>();
    for (const [name, value] of sent) {
      const described = known.get(name);
      if (!described || described['x-role'] !== undefined || seen.has(name)) return false;
      seen.add(name);
      const given = described.schema.type === 'array' ? value.split(',') : value;
      const limited = Object.keys(described['x-role-of'] ?? {});
      if ([given].flat().some((each) => limited.includes(each.replace(/^-/, '')))) return false;
      if (!allowsText(described.schema, this.#document.components.schemas, given)) return false;
    }
    return true;
  }
}
