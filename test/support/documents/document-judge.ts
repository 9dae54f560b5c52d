import type { JsonSchema } from '../../../src/openapi/json-schema.ts';
import { allowsText, validatorOf } from './schema-validators.ts';

/** A request and its answer. */
export interface Exchange {
  readonly method: string;
  /** What comes after the question mark. */
  readonly query: string;
  /** The body of the request as it was read, undefined where there was none. */
  readonly sent: unknown;
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  /** The text of the answer; null where it went out bit by bit. */
  readonly text: string | null;
}

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly schema: JsonSchema;
  readonly explode?: boolean;
  readonly 'x-partial'?: boolean;
}

interface Content {
  readonly [type: string]: { readonly schema: JsonSchema };
}

interface Header {
  readonly $ref?: string;
  readonly required?: boolean;
  readonly schema: JsonSchema;
}

interface Answer {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, Header>>;
  readonly content?: Content;
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, Answer>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, Answer>>;
  };
}

/**
 * Refusals of a body or parameter for its form, which a document describes: nobody who keeps to the document meets them. Other refusals depend
 * on what there is, or on rules of the application.
 */
const formal = new Set([
  'unknown_parameter',
  'operator_not_allowed',
  'sort_not_allowed',
  'unknown_field',
  'field_not_writable',
  'unknown_type',
]);

/** Holds answers to a document. What it does not describe is not judged. */
export class DocumentJudge {
  readonly #document: Document;

  constructor(document: unknown) {
    this.#document = document as Document;
  }

  /** What is wrong with an answer of the operation at a path, if the document has it. */
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
      ...this.#refusal(operation, exchange),
    ];
    return wrong.map((what) => `${method} ${path}: ${status}: ${what}`);
  }

  /** What a part of the document refers to, or it itself. */
  #resolved<Part extends { readonly $ref?: string }>(part: Part): Part {
    if (part.$ref === undefined) return part;
    const keys = part.$ref.slice(2).split('/');
    return keys.reduce<unknown>((within, key) => (within as Record<string, unknown>)[key], this.#document) as Part;
  }

  *#headers({ headers = {} }: Answer, exchange: Exchange): Iterable<string> {
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

  *#body({ parameters = [] }: Operation, { content }: Answer, exchange: Exchange): Iterable<string> {
    const { headers, method, query, text } = exchange;
    if (method === 'HEAD') return;
    const type = String(headers['content-type'] ?? '').split(';', 1)[0] as string;
    if (!content) {
      if (text !== '') yield `there is a body, and none is described: ${text}`;
      return;
    }
    // a range or a default stands for answers without a body, too
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

  /** A request as the document allows it must not be refused for its form. */
  *#refusal({ parameters = [], requestBody }: Operation, exchange: Exchange): Iterable<string> {
    if (exchange.status !== 400 || exchange.text === null || exchange.text === '') return;
    const code = exchange.text.startsWith('<') ? /<code>(.*?)<\/code>/.exec(exchange.text)?.[1] : JSON.parse(exchange.text).code;
    if (!formal.has(code)) return;
    const schema = requestBody?.content['application/json']?.schema;
    if (schema && !this.#allowsBody(schema, exchange.sent)) return;
    if (!this.#allowsQuery(parameters, exchange.query)) return;
    yield `the document allows what was refused: ?${exchange.query} ${JSON.stringify(exchange.sent)}: ${exchange.text}`;
  }

  /** Of which class a row is, the document does not know: what every one of them takes is allowed. What takes anything says nothing. */
  #allowsBody(schema: JsonSchema, value: unknown): boolean {
    const named = this.#document.components.schemas[String(schema.$ref).slice('#/components/schemas/'.length)] ?? schema;
    const classes = (named.anyOf as readonly JsonSchema[] | undefined) ?? [named];
    return Object.keys(named).length > 0 && classes.every((one) => this.#allows(one, value));
  }

  #allows(schema: JsonSchema, value: unknown): boolean {
    return value !== undefined && validatorOf(schema, this.#document.components.schemas)(value) === true;
  }

  #allowsQuery(parameters: readonly Parameter[], query: string): boolean {
    const sent = new URLSearchParams(query);
    const known = new Map(parameters.filter((one) => one.in === 'query').map((one) => [one.name, one]));
    const seen = new Set<string>();
    for (const [name, value] of sent) {
      const described = known.get(name);
      if (!described || seen.has(name)) return false;
      seen.add(name);
      const given = described.schema.type === 'array' ? value.split(',') : value;
      if (!allowsText(described.schema, this.#document.components.schemas, given)) return false;
    }
    return true;
  }
}
