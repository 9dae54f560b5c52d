import type { JsonSchema } from './json-schema.ts';

const text = { type: 'string' };
const link = { ...text, format: 'uri-reference' };
/** `*`, or a list of tags in the form of `ETag`. */
const tags = { ...text, pattern: String.raw`^(?:\*|(?:W/)?"[!#-~]*"(?: *, *(?:W/)?"[!#-~]*")*)$` };
/** Plain, or as a quoted string. */
const key = {
  ...text,
  minLength: 1,
  maxLength: 255,
  pattern: String.raw`^(?:[!#-~](?:[ -~]*[!-~])?|"(?:[ !#-\[\]-~]|\\["\\])+")$`,
};

function parameter(name: string, description: string, schema: JsonSchema, required = false): JsonSchema {
  return { name, in: 'header', ...(required && { required }), description, schema };
}

/** The headers of requests, by the names of their parameters in the document. */
const requestHeaders = {
  IfMatch: parameter(
    'If-Match',
    'The `ETag` that the entity must still have, or `*`; otherwise the response is 412 and nothing is changed.',
    tags,
  ),
  IfMatchRequired: parameter(
    'If-Match',
    'The `ETag` that the entity must still have, or `*`; otherwise the response is 412, or 428 without this header, and nothing is changed.',
    tags,
    true,
  ),
  IfNoneMatch: parameter(
    'If-None-Match',
    'The `ETag` of the copy that the caller has; if nothing has changed, the response is 304.',
    text,
  ),
  IdempotencyKey: {
    ...parameter(
      'Idempotency-Key',
      'Requests with the same key run once and get the same response. A different request with the same key gets 422. Use a UUID, for example.',
      key,
    ),
    example: '8e03978e-40d5-43e8-bc93-6894a57f9324',
  },
};

function header(name: string, description: string, schema: JsonSchema) {
  return { name, description, schema };
}

/** The headers of responses besides those of HTTP itself, by their names in the document. */
const responseHeaders = {
  ContentLocation: header('Content-Location', 'The URL of the entity that the response shows.', link),
  ETag: header('ETag', 'The entity tag of the response; strong if the model has a version.', {
    ...text,
    pattern: '^(W/)?"[^"]*"$',
  }),
  IdempotencyReplayed: header(
    'Idempotency-Replayed',
    'Present if the request was carried out before: `true` with the stored response, `rebuilt` with the row as it is now.',
    { ...text, enum: ['true', 'rebuilt'] },
  ),
  Location: header('Location', 'The URL of the entity.', link),
  RateLimit: header('RateLimit', 'The requests that the caller has left (`r`), and the seconds until the limit is reset (`t`).', {
    ...text,
    pattern: '^"[^"]*";r=[0-9]+;t=[0-9]+$',
  }),
  RateLimitPolicy: header('RateLimit-Policy', 'The requests that a caller may send (`q`) within a window of seconds (`w`).', {
    ...text,
    pattern: '^"[^"]*";q=[0-9]+;w=[0-9]+$',
  }),
  RequestId: header('X-Request-Id', 'The id of the request in the log: sent by the caller, or generated.', text),
  RetryAfter: header('Retry-After', 'The seconds to wait before a retry.', { type: 'integer', minimum: 0 }),
  WWWAuthenticate: header('WWW-Authenticate', 'How to authenticate.', text),
};

export type ResponseHeader = keyof typeof responseHeaders;

/** The headers that a response always has, and those that it has in some cases. */
export interface HeadersOf {
  readonly always?: readonly ResponseHeader[];
  readonly maybe?: readonly ResponseHeader[];
}

/** Describes each header once, in the components. `requestId` is the name of the header with the id of the request, or null. */
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
