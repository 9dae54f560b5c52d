/**
 * Every error that a caller can get, in one place. `docs/reference/errors.md` lists the same codes; a test compares the two.
 * `{name}` in a template is filled from the parameters given to {@link problem}.
 */
export const catalogue = entries({
  // the request
  not_found: { status: 404, title: 'Not found', detail: 'no route matches {path}' },
  entity_not_found: { status: 404, title: 'Not found', detail: 'no {model} has this id' },
  unknown_format: {
    status: 404,
    title: 'Unknown format',
    detail: 'the path has {given}; end it in one of: {allowed}',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    detail: '{method} is not enabled on this path; use one of: {allowed}',
  },
  method_not_supported: { status: 400, title: 'Bad request', detail: 'this method is not supported' },
  unknown_parameter: {
    status: 400,
    title: 'Unknown query parameter',
    detail: 'unknown query parameter "{name}"; allowed: {allowed}',
  },
  invalid_parameter: { status: 400, title: 'Invalid query parameter', detail: 'the query parameter "{name}" {expected}' },
  operator_not_allowed: {
    status: 400,
    title: 'Operator not allowed',
    detail: 'the operator of the query parameter "{name}" is not allowed; allowed: {allowed}',
  },
  sort_not_allowed: {
    status: 400,
    title: 'Sort not allowed',
    detail: 'the query parameter "sort" cannot sort by "{given}"; allowed: {allowed}',
  },
  field_not_readable: {
    status: 400,
    title: 'Field not readable',
    detail: 'the query parameter "fields" cannot contain "{given}"; allowed: {allowed}',
  },
  aggregate_not_allowed: {
    status: 400,
    title: 'Aggregate not allowed',
    detail: 'the query parameter "{name}" cannot be "{given}"; allowed: {allowed}',
  },
  aggregate_too_large: {
    status: 400,
    title: 'Too many groups',
    detail: 'there are more than {limit} groups, and this format has no pages; add filters, or request .json',
  },
  too_many_groups: {
    status: 400,
    title: 'Too many condition groups',
    detail: 'the query parameter "{name}" {expected}',
  },
  invalid_body: { status: 400, title: 'Invalid body', detail: 'the body must be a JSON object: {reason}' },
  invalid_list: { status: 400, title: 'Invalid list', detail: 'the body must be a JSON list of objects: {reason}' },
  duplicate_item: {
    status: 400,
    title: 'Duplicate item',
    detail: 'an item before this one has the same id; send each row once',
  },
  unknown_field: {
    status: 400,
    title: 'Unknown field',
    detail: 'unknown field "{field}"; writable fields: {allowed}',
  },
  field_not_writable: {
    status: 400,
    title: 'Field not writable',
    detail: 'the field "{field}" is not writable; writable fields: {allowed}',
  },
  identity_mismatch: {
    status: 400,
    title: 'Identity mismatch',
    detail: 'the field "{field}" must {expected}',
  },
  unknown_type: { status: 400, title: 'Unknown type', detail: 'the field "{field}" must be one of: {allowed}' },
  invalid_reference: { status: 400, title: 'Invalid reference', detail: 'the field "{field}" {reason}' },
  // the specification fixes this text: docs/about/spec-map.md, 7.2
  reference_not_found: { status: 400, title: 'Bad request', detail: '{model} id not found' },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    detail: 'the content type is not supported; send the body as one of: {allowed}',
  },
  body_too_deep: {
    status: 400,
    title: 'Body too deep',
    detail: 'lists and objects in the body must not be nested more than {limit} levels deep',
  },
  too_many_parameters: {
    status: 400,
    title: 'Too many query parameters',
    detail: 'a request must not have more than {limit} query parameters',
  },
  parameter_too_long: {
    status: 400,
    title: 'Query parameter too long',
    detail: 'a query parameter must not be longer than {limit} characters',
  },
  offset_too_large: {
    status: 400,
    title: 'Page too far',
    detail: 'the page is too far into the list: a page number can skip at most {limit} items; follow the "next" links instead',
  },
  url_too_long: { status: 414, title: 'URL too long', detail: 'the URL must not be longer than {limit} characters' },
  body_too_large: { status: 413, title: 'Body too large', detail: 'the body must not be larger than {limit} bytes' },
  too_many_items: { status: 413, title: 'Too many items', detail: '{place} must not have more than {limit} items' },
  response_too_large: {
    status: 413,
    title: 'Response too large',
    detail: 'the response would exceed {limit} bytes; request fewer items (items_per_page) or fewer fields, or use an export',
  },
  written_response_too_large: {
    status: 413,
    title: 'Written, but response too large',
    detail: 'the change was written, but the response would exceed {limit} bytes; do not repeat the request',
  },
  invalid_idempotency_key: {
    status: 400,
    title: 'Invalid idempotency key',
    detail: 'the header Idempotency-Key {expected}',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'Idempotency key reused',
    detail: 'this Idempotency-Key was used for a different request; use a new key for each request',
  },
  idempotency_in_progress: {
    status: 409,
    title: 'Request in progress',
    detail: 'a request with this Idempotency-Key is still in progress; retry shortly',
  },
  idempotency_answer_too_large: {
    status: 409,
    title: 'Response not stored',
    detail: 'the request with this Idempotency-Key was completed, but its response was not stored; fetch the changed data',
  },
  invalid_precondition: {
    status: 400,
    title: 'Invalid precondition',
    detail: 'the header {header} must be * or a list of entity tags such as "a1b2", "c3d4"',
  },
  bad_request: { status: 400, title: 'Bad request', detail: '{reason}' },
  conflict: { status: 409, title: 'Conflict', detail: '{reason}' },
  unprocessable: { status: 422, title: 'Unprocessable content', detail: '{reason}' },
  // the caller
  unauthorized: { status: 401, title: 'Unauthorized', detail: '{reason}' },
  invalid_credentials: { status: 401, title: 'Unauthorized', detail: 'the credentials are not valid: {reason}' },
  authentication_required: { status: 401, title: 'Unauthorized', detail: 'authentication is required; send credentials' },
  access_denied: { status: 403, title: 'Forbidden', detail: 'access to this resource is denied' },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    detail: 'the limit is {limit} requests in {window} seconds; retry in {seconds} seconds',
  },
  too_many_requests: { status: 429, title: 'Too many requests', detail: '{reason}' },
  too_many_wrong_credentials: {
    status: 429,
    title: 'Too many requests',
    detail: 'too many invalid credentials from this address ({limit} in {window} seconds); retry in {seconds} seconds',
  },
  // the data
  validation_failed: { status: 422, title: 'Validation failed', detail: '{summary}' },
  conflict_unique: { status: 409, title: 'Conflict', detail: 'another {model} has the same value for: {properties}' },
  conflict_reference: { status: 409, title: 'Conflict', detail: '{reason}' },
  conflict_version: {
    status: 409,
    title: 'Conflict',
    detail: 'another request has changed the {model}; fetch it again and repeat the change',
  },
  precondition_failed: { status: 412, title: 'Precondition failed', detail: '{reason}' },
  precondition_required: {
    status: 428,
    title: 'Precondition required',
    detail: 'the header If-Match is required; send the ETag of the {model} that you received last',
  },
  // the server
  database_unavailable: {
    status: 503,
    title: 'Service unavailable',
    detail: 'the database is not available; retry shortly',
  },
  schema_mismatch: {
    status: 503,
    title: 'Service unavailable',
    detail: 'the database schema does not match the models; retry later',
  },
  database_read_only: {
    status: 503,
    title: 'Service unavailable',
    detail: 'the database is read-only; nothing was changed',
  },
  database_full: {
    status: 507,
    title: 'Insufficient storage',
    detail: 'the database has no space left for this change; nothing was changed',
  },
  overloaded: {
    status: 503,
    title: 'Service unavailable',
    detail: 'the server is overloaded; retry shortly',
  },
  handler_timeout: {
    status: 503,
    title: 'Service unavailable',
    detail: 'the request timed out after {limit} milliseconds; its changes may have been saved: check before you retry',
  },
  too_many_exports: {
    status: 503,
    title: 'Service unavailable',
    detail: 'no export slot became free in time (at most {limit} exports run at once); retry shortly',
  },
  authentication_unavailable: {
    status: 503,
    title: 'Service unavailable',
    detail: 'credentials cannot be verified at the moment; retry shortly',
  },
  idempotency_unavailable: {
    status: 501,
    title: 'Not implemented',
    detail: 'requests with an Idempotency-Key are not supported: the database has no table for stored responses',
  },
  service_unavailable: {
    status: 503,
    title: 'Service unavailable',
    detail: 'the service is not available; retry shortly',
  },
  internal_error: { status: 500, title: 'Internal server error', detail: 'an internal error occurred; it has been logged' },
});

interface Entry {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
}

/** Only the codes are part of the type, not the texts. */
function entries<Code extends string>(all: Readonly<Record<Code, Entry>>): Readonly<Record<Code, Entry>> {
  return all;
}

/** A code of the catalogue. */
export type ErrorCode = keyof typeof catalogue;

/** One broken rule of one property. */
export interface Violation {
  readonly propertyPath: string;
  readonly title: string;
  readonly code?: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** The violation codes of Declarest itself; rules of an application may use others. */
export const violationCodes = [
  'check',
  'constraint',
  'enum',
  'invalid',
  'json',
  'model',
  'orphan',
  'range',
  'required',
  'text',
  'too_long',
  'too_many',
  'type',
  'value',
] as const;

export type ViolationCode = (typeof violationCodes)[number];

export function violationOf(
  propertyPath: string,
  title: string,
  code: ViolationCode,
  parameters: Violation['parameters'] = {},
): Required<Violation> {
  return { propertyPath, title, code, parameters };
}

/** The violation of a property that has no value and needs one. */
export function missingValue(propertyPath: string): Violation {
  return violationOf(propertyPath, 'is required', 'required');
}

/** An error response that ends the request: thrown anywhere during the request, sent as `application/problem+json`. */
export class Problem extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly title: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Further members of the problem document, such as `violations`. */
  readonly members: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    detail: string,
    {
      headers = {},
      members = {},
      cause,
    }: { headers?: Record<string, string>; members?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    // no stack for client errors: nobody reads it, and recording it takes longer than the response
    const { stackTraceLimit } = Error;
    if (catalogue[code].status < 500) Error.stackTraceLimit = 0;
    super(detail, { cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'Problem';
    this.code = code;
    this.status = catalogue[code].status;
    this.title = catalogue[code].title;
    this.headers = headers;
    this.members = members;
  }
}

/** Limits how much of the caller's input a message repeats. */
function shown(value: string | number): string {
  const text = String(value);
  return text.length > 1000 ? `${text.slice(0, 1000)}…` : text;
}

/** Creates the {@link Problem} of a code, with its template filled from `parameters`. */
export function problem(
  code: ErrorCode,
  parameters: Record<string, string | number> = {},
  options?: ConstructorParameters<typeof Problem>[2],
): Problem {
  const template = catalogue[code].detail;
  if (!template.includes('{')) return new Problem(code, template, options);
  const detail = template.replace(/\{(\w+)\}/g, (_, name: string) => shown(parameters[name] ?? `{${name}}`));
  return new Problem(code, detail, options);
}

/** A list in a body can break a rule in every item. Nobody reads more violations, and a response must not have a million. */
export const maxViolations = 100;

/** The response to broken validation rules: 422 with up to {@link maxViolations} violations. */
export function violationsProblem(found: readonly Violation[]): Problem {
  const violations = found.slice(0, maxViolations);
  const summary = violations.map((v) => (v.propertyPath ? `${v.propertyPath}: ${v.title}` : v.title)).join('; ');
  const listed = violations.map(({ code = 'invalid', parameters = {}, propertyPath, title }) => ({
    propertyPath,
    title,
    code,
    parameters,
  }));
  return problem('validation_failed', { summary }, { members: { violations: listed } });
}
