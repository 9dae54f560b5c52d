// The part of a generated client that is the same for every API. `declarest client` copies everything below `Problem`.
// biome-ignore-all lint/correctness/noUnusedVariables: the generated part calls these functions

interface Problem {
  readonly detail: string;
}

export interface ClientOptions {
  /** The address of the API: `http://127.0.0.1:3000`. */
  readonly baseUrl: string;
  /** The token of the caller, or a function that returns one. Without a token, or with an empty one, requests are anonymous. */
  readonly token?: string | (() => string | undefined | Promise<string | undefined>);
  readonly headers?: Readonly<Record<string, string>>;
  /** Replaces the `fetch` of the platform. */
  readonly fetch?: typeof fetch;
}

/** The error of a rejected request, with its problem document. */
export class ApiError extends Error {
  readonly problem: Problem;
  readonly response: Response;

  constructor(problem: Problem, response: Response) {
    super(problem.detail);
    this.name = 'ApiError';
    this.problem = problem;
    this.response = response;
  }
}

/** Options of every call. */
export interface CallOptions {
  /** Cancels the request, for example if a view is closed: `AbortSignal.timeout(5000)`. */
  readonly signal?: AbortSignal | undefined;
}

/** Conditions of a change. */
export interface Condition {
  /** The `ETag` that the entity must still have: see `tagOf`. */
  readonly ifMatch?: string;
}

/** Makes a request safe to retry. */
export interface Once {
  /** For example a UUID. Requests with the same key run once and get the same response. */
  readonly idempotencyKey?: string;
}

const tags = new WeakMap<object, string>();

/** The `ETag` of a response: pass it as `ifMatch`, and a later change fails if the entity has changed. */
export function tagOf(answer: object): string {
  const tag = tags.get(answer);
  if (tag === undefined) throw new Error('only a complete response has an ETag: get the single entity first');
  return tag;
}

interface Sent extends CallOptions, Condition, Once {
  readonly body?: unknown;
  readonly query?: object;
}

type Send = <Result>(method: string, path: string, sent?: Sent) => Promise<Result>;

/** The prefix of links from the server. */
const base = '';

function sender({ baseUrl, token, headers, fetch: send = fetch }: ClientOptions): Send {
  return async <Result>(
    method: string,
    path: string,
    { body, idempotencyKey, ifMatch, query = {}, signal }: Sent = {},
  ): Promise<Result> => {
    const credential = typeof token === 'function' ? await token() : token;
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) search.append(name, textOf(value));
    const response = await send(`${baseUrl.replace(/\/+$/, '')}${path}${search.size > 0 ? `?${search}` : ''}`, {
      method,
      headers: {
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(credential && { authorization: `Bearer ${credential}` }),
        ...(ifMatch !== undefined && { 'if-match': ifMatch }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
    const text = await response.text();
    const json = text === '' ? undefined : JSON.parse(text);
    if (!response.ok) throw new ApiError(json as Problem, response);
    const tag = response.headers.get('etag');
    if (tag !== null && typeof json === 'object' && json !== null) tags.set(json, tag);
    return json as Result;
  };
}

/** A value in a query string: several are separated by commas, and a comma within one has a backslash before it. */
function textOf(value: unknown): string {
  if (!Array.isArray(value)) return String(value);
  return value.map((item) => String(item).replace(/[\\,]/g, '\\$&')).join(',');
}

/** Follows `next` to the end of a list. */
async function* pages<Item>(send: Send, path: string, query: object, options: CallOptions): AsyncGenerator<Item, void> {
  interface Page {
    readonly results: readonly Item[];
    readonly pagination: { readonly next: string | null };
  }
  let page = await send<Page>('GET', path, { query, ...options });
  for (;;) {
    yield* page.results;
    const { next } = page.pagination;
    if (next === null) return;
    page = await send<Page>('GET', next.slice(base.length), options);
  }
}

function part(value: string | number | readonly (string | number)[]): string {
  // the commas between the parts of a composite key are not encoded
  return [value]
    .flat()
    .map((each) => encodeURIComponent(String(each)))
    .join(',');
}
