import type { JsonSchema } from './json-schema.ts';

/** `*`, or tags as `ETag` has them. */
const tags: JsonSchema = {
  type: 'string',
  pattern: String.raw`^(?:\*|(?:W/)?"[!#-~]*"(?: *, *(?:W/)?"[!#-~]*")*)$`,
};

/** The headers of requests, by the names of their parameters in the document. */
const requestHeaders = {
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description: 'The `ETag` that the entity must still have, or `*`; else it is 412 and nothing is changed.',
    schema: tags,
  },
  IfMatchRequired: {
    name: 'If-Match',
    in: 'header',
    required: true,
    description:
      'The `ETag` that the entity must still have, or `*`; else it is 412, and without it 428, and nothing is changed.',
    schema: tags,
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'The `ETag` of what the caller has already; if nothing has changed, it is 304.',
    schema: { type: 'string' },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'With the same key the same request is done once, and gets the same answer again. With another request it is 422. A UUID is a good one.',
    schema: {
      type: 'string',
      minLength: 1,
      maxLength: 255,
      // as it is, or as a quoted string
      pattern: String.raw`^(?:[!#-~](?:[ -~]*[!-~])?|"(?:[ !#-\[\]-~]|\\["\\])+")$`,
    },
    example: '8e03978e-40d5-43e8-bc93-6894a57f9324',
  },
} satisfies Record<string, JsonSchema>;

/** The headers of responses besides those of HTTP itself, by their names in the document. */
const responseHeaders = {
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

export type ResponseHeader = keyof typeof responseHeaders;

/** The headers that a response always has, and those that it has in some cases. */
export interface HeadersOf {
  readonly always?: readonly ResponseHeader[];
  readonly maybe?: readonly ResponseHeader[];
}

/** Describes each header once, in the components. `requestId` is the header with the id of the request; null: there is none. */
export function describedHeaders(requestId: string | null) {
  const response = new Map<string, JsonSchema>();
  const request = new Set<string>();
  const reference = (header: ResponseHeader, required: boolean): [string, JsonSchema] => {
    const { name, description, schema } = responseHeaders[header];
    const component = required ? header : `Optional${header}`;
    response.set(component, { description, ...(required && { required }), schema });
    return [header === 'RequestId' ? (requestId as string) : name, { $ref: `#/components/headers/${component}` }];
  };
  return {
    parameter(name: keyof typeof requestHeaders): JsonSchema {
      request.add(name);
      return { $ref: `#/components/parameters/${name}` };
    },

    of({ always = [], maybe = [] }: HeadersOf): JsonSchema {
      const ids: readonly ResponseHeader[] = requestId === null ? [] : ['RequestId'];
      const headers = [
        ...[...always, ...ids].map((header) => reference(header, true)),
        ...maybe.filter((header) => !always.includes(header)).map((header) => reference(header, false)),
      ];
      return headers.length > 0 ? { headers: sorted(headers) } : {};
    },

    /** The headers and parameters that operations refer to. */
    components(): JsonSchema {
      const parameters = Object.entries(requestHeaders).filter(([name]) => request.has(name));
      return {
        ...(response.size > 0 && { headers: sorted([...response]) }),
        ...(parameters.length > 0 && { parameters: Object.fromEntries(parameters) }),
      };
    },
  };
}

function sorted(entries: [string, JsonSchema][]): JsonSchema {
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
