import type { JsonSchema } from './json-schema.ts';

/** The headers that answers have besides those of HTTP itself, by what the document calls them. */
const described = {
  ContentLocation: {
    name: 'Content-Location',
    description: 'Where what was replaced is, as it is shown here.',
    schema: { type: 'string', format: 'uri-reference' },
  },
  ETag: {
    name: 'ETag',
    description: 'What the answer is known by; strong where the model has a version.',
    schema: { type: 'string', pattern: '^(W/)?"[^"]*"$' },
  },
  IdempotencyReplayed: {
    name: 'Idempotency-Replayed',
    description: 'There, and `true`, where the request was done before and this is what was answered then.',
    schema: { type: 'string', const: 'true' },
  },
  Location: { name: 'Location', description: 'Where it is.', schema: { type: 'string', format: 'uri-reference' } },
  RateLimit: {
    name: 'RateLimit',
    description: 'How many requests are left to the caller (`r`), and for how many seconds the limit holds (`t`).',
    schema: { type: 'string', pattern: '^"[^"]*";r=[0-9]+;t=[0-9]+$' },
  },
  RateLimitPolicy: {
    name: 'RateLimit-Policy',
    description: 'How many requests a caller has (`q`) in how many seconds (`w`).',
    schema: { type: 'string', pattern: '^"[^"]*";q=[0-9]+;w=[0-9]+$' },
  },
  RequestId: {
    name: 'X-Request-Id',
    description: 'What the request is called in the log: as the caller called it, or by a new id.',
    schema: { type: 'string' },
  },
  RetryAfter: {
    name: 'Retry-After',
    description: 'After how many seconds it is worth trying again.',
    schema: { type: 'integer', minimum: 0 },
  },
  WWWAuthenticate: { name: 'WWW-Authenticate', description: 'How to say who is calling.', schema: { type: 'string' } },
} satisfies Record<string, { readonly name: string; readonly description: string; readonly schema: JsonSchema }>;

export type AnswerHeader = keyof typeof described;

/** Which headers an answer always has, and which it has in some cases. */
export interface HeadersOf {
  readonly always?: readonly AnswerHeader[];
  readonly maybe?: readonly AnswerHeader[];
}

/** Describes the headers of answers: each once, where all answers that have it refer to it. */
export class AnswerHeaders {
  /** What the header is called that every answer tells the name of its request in; null where none does. */
  readonly #requestId: string | null;
  readonly #used = new Map<string, JsonSchema>();

  constructor(requestId: string | null) {
    this.#requestId = requestId;
  }

  /** The `headers` of an answer, if it has any. */
  of({ always = [], maybe = [] }: HeadersOf): JsonSchema {
    const told: readonly AnswerHeader[] = this.#requestId === null ? [] : ['RequestId'];
    const headers = [
      ...[...always, ...told].map((header) => this.#reference(header, true)),
      ...maybe.filter((header) => !always.includes(header)).map((header) => this.#reference(header, false)),
    ];
    return headers.length > 0 ? { headers: Object.fromEntries(headers.sort(([a], [b]) => (a < b ? -1 : 1))) } : {};
  }

  #reference(header: AnswerHeader, required: boolean): [string, JsonSchema] {
    const { name, description, schema } = described[header];
    const called = required ? header : `Optional${header}`;
    this.#used.set(called, { description, ...(required && { required }), schema });
    const own = header === 'RequestId' ? (this.#requestId as string) : name;
    return [own, { $ref: `#/components/headers/${called}` }];
  }

  /** Those that answers refer to, in alphabetical order. */
  components(): JsonSchema {
    return Object.fromEntries([...this.#used].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}
