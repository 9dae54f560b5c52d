// A client of Courses 1.0, made by `declarest client`. Made again, it is the same: do not edit it.

export interface Address {
  street: string;
  city: string;
  postcode: string | null;
}

export interface AddressCreate {
  street: string;
  city: string;
  postcode?: string | null;
}

export interface AddressPatch {
  street?: string;
  city?: string;
  postcode?: string | null;
}

export interface AddressReplace {
  street: string;
  city: string;
  postcode?: string | null;
}

export interface BadRequestProblem {
  type: string;
  title: string;
  status: 400;
  /** What was wrong, and what to do. */
  detail: string;
  /** The path of the request. */
  instance: string;
  code: "method_not_supported" | "unknown_parameter" | "invalid_parameter" | "operator_not_allowed" | "sort_not_allowed" | "field_not_readable" | "too_many_groups" | "invalid_body" | "unknown_field" | "field_not_writable" | "identity_mismatch" | "unknown_type" | "invalid_reference" | "reference_not_found" | "body_too_deep" | "too_many_parameters" | "parameter_too_long" | "offset_too_large" | "invalid_idempotency_key" | "invalid_precondition" | "bad_request";
}

export interface Center {
  id: number;
  name: string;
}

export interface CenterCollection {
  /** The number of items on all pages. */
  count: number;
  results: Center[];
  pagination: Pagination;
}

export interface CenterReference {
  type?: "center";
  id: number;
}

export interface ConflictProblem {
  type: string;
  title: string;
  status: 409;
  /** What was wrong, and what to do. */
  detail: string;
  /** The path of the request. */
  instance: string;
  code: "idempotency_in_progress" | "idempotency_answer_too_large" | "conflict_unique" | "conflict_reference" | "conflict_version" | "bad_request";
}

/** An accompanying course. */
export interface Course {
  id: number;
  title: string;
  opened: string;
  closed: string | null;
  /** Seen by its referrer and by supervisors only. */
  confidential: boolean;
  center: Center;
  referrer: User | null;
  /** Whoever asked for the course: a person or a third party. */
  requestor: Person | ThirdParty | null;
  participations: Participation[];
  tags: Tag[];
}

export interface CourseCollection {
  /** The number of items on all pages. */
  count: number;
  results: Course[];
  pagination: Pagination;
}

export interface CoursePatch {
  title?: string;
  /** Seen by its referrer and by supervisors only. */
  confidential?: boolean;
  referrer?: UserReference | null;
  /** Whoever asked for the course: a person or a third party. */
  requestor?: unknown;
  tags?: TagReference[];
}

export type Document = Letter | Note;

export interface DocumentCollection {
  /** The number of items on all pages. */
  count: number;
  results: Document[];
  pagination: Pagination;
}

export type DocumentCreate = LetterCreate | NoteCreate;

export type DocumentPatch = LetterPatch | NotePatch;

export interface ForbiddenProblem {
  type: string;
  title: string;
  status: 403;
  /** What was wrong, and what to do. */
  detail: string;
  /** The path of the request. */
  instance: string;
  code: "access_denied" | "bad_request";
}

export interface InsufficientStorageProblem {
  type: string;
  title: string;
  status: 507;
  /** What was wrong, and what to do. */
  detail: string;
  /** The path of the request. */
  instance: string;
  code: "database_full" | "bad_request";
}

export interface InternalServerErrorProblem {
  type: string;
  title: string;
  status: 500;
  /** What was wrong, and what to do. */
  detail: string;
  /** The path of the request. */
  instance: string;
  code: "internal_error" | "bad_request";
}

export interface Letter {
  id: string;
  type: "letter";
  title: string;
  created: string;
  recipient: string;
  postage: string | null;
}

export interface LetterCreate {
  type: "letter";
  title: string;
  recipient: string;
  postage?: string | null;
}

export interface LetterPatch {
  type?: "letter";
  title?: string;
  recipient?: string;
  postage?: string | null;
}

export interface NotFoundProblem {
  type: string;
  title: string;
  status: 404;
  /** What was wrong, and what to do. */
  detail: string;
  /** The path of the request. */
  instance: string;
  code: "not_found" | "entity_not_found" | "unknown_format" | "bad_request";
}

export interface Note {
  id: string;
  type: "note";
  title: string;
  created: string;
  text: string;
}

export interface NoteCreate {
  type: "note";
  title: string;
  text: string;
}

export interface NotePatch {
  type?: "note";
  title?: string;
  text?: string;
}

export interface Pagination {
  /** Whether there are further items after this page. */
  more: boolean;
  /** The page after this one. */
  next: string | null;
  /** The page before this one. */
  previous: string | null;
  /** The position of the first item of this page, from 0. */
  first: number;
  /** The most items on a page. */
  items_per_page: number;
}

/** A person takes part in a course, from a day to a day. */
export interface Participation {
  id: number;
  person: Person | null;
  start: string;
  end: string | null;
}

export interface PayloadTooLargeProblem {
  type: string;
  title: string;
  status: 413;
  /** What was wrong, and what to do. */
  detail: string;
  /** The path of the request. */
  instance: string;
  code: "body_too_large" | "response_too_large" | "bad_request";
}

export interface Person {
  id: number;
  type: string;
  firstName: string;
  lastName: string;
  fullName: string;
  birthdate: string | null;
  email: string | null;
  address: Address | null;
  center: Center;
}

export interface PersonCollection {
  /** The number of items on all pages. */
  count: number;
  results: Person[];
  pagination: Pagination;
}

export interface PersonCreate {
  firstName: string;
  lastName: string;
  birthdate?: string | null;
  email?: string | null;
  address?: AddressCreate | null;
  center: CenterReference;
}

export interface PersonPatch {
  firstName?: string;
  lastName?: string;
  birthdate?: string | null;
  email?: string | null;
  address?: AddressPatch | null;
  center?: CenterReference;
}

export interface PersonReplace {
  firstName: string;
  lastName: string;
  birthdate?: string | null;
  email?: string | null;
  address?: AddressReplace | null;
  center: CenterReference;
}

export interface PreconditionFailedProblem {
  type: string;
  title: string;
  status: 412;
  /** What was wrong, and what to do. */
  detail: string;
  /** The path of the request. */
  instance: string;
  code: "precondition_failed" | "bad_request";
}

export interface ServiceUnavailableProblem {
  type: string;
  title: string;
  status: 503;
  /** What was wrong, and what to do. */
  detail: string;
  /** The path of the request. */
  instance: string;
  code: "database_unavailable" | "schema_mismatch" | "overloaded" | "handler_timeout" | "too_many_exports" | "authentication_unavailable" | "bad_request";
}

export interface Tag {
  id: string;
  label: string;
}

export interface TagCollection {
  /** The number of items on all pages. */
  count: number;
  results: Tag[];
  pagination: Pagination;
}

export interface TagReference {
  type?: "tag";
  id: string;
}

export interface ThirdParty {
  id: number;
  type: string;
  name: string;
  telephone: string | null;
}

export interface ThirdPartyCollection {
  /** The number of items on all pages. */
  count: number;
  results: ThirdParty[];
  pagination: Pagination;
}

export interface URITooLongProblem {
  type: string;
  title: string;
  status: 414;
  /** What was wrong, and what to do. */
  detail: string;
  /** The path of the request. */
  instance: string;
  code: "url_too_long" | "bad_request";
}

export interface UnauthorizedProblem {
  type: string;
  title: string;
  status: 401;
  /** What was wrong, and what to do. */
  detail: string;
  /** The path of the request. */
  instance: string;
  code: "invalid_credentials" | "authentication_required" | "bad_request";
}

export interface UnprocessableEntityProblem {
  type: string;
  title: string;
  status: 422;
  /** What was wrong, and what to do. */
  detail: string;
  /** The path of the request. */
  instance: string;
  code: "idempotency_key_reused" | "validation_failed" | "bad_request";
  violations?: Violation[];
}

export interface UnsupportedMediaTypeProblem {
  type: string;
  title: string;
  status: 415;
  /** What was wrong, and what to do. */
  detail: string;
  /** The path of the request. */
  instance: string;
  code: "unsupported_media_type" | "bad_request";
}

export interface User {
  id: number;
  name: string;
  centers: Center[];
}

export interface UserCollection {
  /** The number of items on all pages. */
  count: number;
  results: User[];
  pagination: Pagination;
}

export interface UserPatch {
  name?: string;
  centers?: CenterReference[];
}

export interface UserReference {
  type?: "user";
  id: number;
}

export interface Violation {
  /** The field, such as `address.city` or `tags[0]`. */
  propertyPath: string;
  title: string;
  code: string;
  parameters: Record<string, unknown>;
}

/** Whatever a request can be refused with: `status` tells which. */
export type Problem = BadRequestProblem | ConflictProblem | ForbiddenProblem | InsufficientStorageProblem | InternalServerErrorProblem | NotFoundProblem | PayloadTooLargeProblem | PreconditionFailedProblem | ServiceUnavailableProblem | URITooLongProblem | UnauthorizedProblem | UnprocessableEntityProblem | UnsupportedMediaTypeProblem;

export interface CenterQuery {
  /** The number of the page. */
  page?: number;
  /** How many items are on a page. */
  items_per_page?: number;
  /** The row that the page begins after, as links have it; together with `page`. */
  after?: string;
  /** The row that the page ends before, as links have it; together with `page`. */
  before?: string;
}

export interface PersonQuery {
  /** The number of the page. */
  page?: number;
  /** How many items are on a page. */
  items_per_page?: number;
  /** The row that the page begins after, as links have it; together with `page`. */
  after?: string;
  /** The row that the page ends before, as links have it; together with `page`. */
  before?: string;
  /** The order, each field once; `-` is descending. */
  sort?: Array<"lastName" | "-lastName" | "birthdate" | "-birthdate" | "center.name" | "-center.name">;
  /** Words to search for in firstName, lastName, email. */
  q?: string;
  /** lastName is this. */
  lastName?: string;
  /** lastName contains this. */
  "lastName[contains]"?: string;
  /** lastName begins with this. */
  "lastName[starts]"?: string;
  /** birthdate is this or more. */
  "birthdate[gte]"?: string;
  /** birthdate is less than this. */
  "birthdate[lt]"?: string;
  /** center.id is this. */
  "center.id"?: number;
  /** center.id is one of these, separated by commas; within a value, a comma or backslash has a backslash before it. */
  "center.id[in]"?: number[];
  /** address.city is this. */
  "address.city"?: string;
  /** email is this. */
  email?: string;
  /** email is there, or is not. */
  "email[exists]"?: boolean;
}

export interface ThirdPartyQuery {
  /** The number of the page. */
  page?: number;
  /** How many items are on a page. */
  items_per_page?: number;
  /** The row that the page begins after, as links have it; together with `page`. */
  after?: string;
  /** The row that the page ends before, as links have it; together with `page`. */
  before?: string;
}

export interface CourseQuery {
  /** The number of the page. */
  page?: number;
  /** How many items are on a page. */
  items_per_page?: number;
  /** The row that the page begins after, as links have it; together with `page`. */
  after?: string;
  /** The row that the page ends before, as links have it; together with `page`. */
  before?: string;
  /** The order, each field once; `-` is descending. */
  sort?: Array<"title" | "-title" | "opened" | "-opened" | "center.name" | "-center.name">;
  /** Words to search for in title. */
  q?: string;
  /** title contains this. */
  "title[contains]"?: string;
  /** opened is this or more. */
  "opened[gte]"?: string;
  /** opened is less than this. */
  "opened[lt]"?: string;
  /** closed is there, or is not. */
  "closed[exists]"?: boolean;
  /** center.id is this. */
  "center.id"?: number;
  /** center.id is one of these, separated by commas; within a value, a comma or backslash has a backslash before it. */
  "center.id[in]"?: number[];
  /** tags.id is this. */
  "tags.id"?: string;
  /** tags.id is one of these, separated by commas; within a value, a comma or backslash has a backslash before it. */
  "tags.id[in]"?: string[];
}

export interface TagQuery {
  /** The number of the page. */
  page?: number;
  /** How many items are on a page. */
  items_per_page?: number;
  /** The row that the page begins after, as links have it; together with `page`. */
  after?: string;
  /** The row that the page ends before, as links have it; together with `page`. */
  before?: string;
}

export interface DocumentQuery {
  /** The number of the page. */
  page?: number;
  /** How many items are on a page. */
  items_per_page?: number;
  /** The row that the page begins after, as links have it; together with `page`. */
  after?: string;
  /** The row that the page ends before, as links have it; together with `page`. */
  before?: string;
}

export interface UserQuery {
  /** The number of the page. */
  page?: number;
  /** How many items are on a page. */
  items_per_page?: number;
  /** The row that the page begins after, as links have it; together with `page`. */
  after?: string;
  /** The row that the page ends before, as links have it; together with `page`. */
  before?: string;
}

export interface ClientOptions {
  /** Where the API is: `http://127.0.0.1:3000`. */
  readonly baseUrl: string;
  /** Who is calling: a token, or what gives one. */
  readonly token?: string | (() => string | Promise<string>);
  readonly headers?: Readonly<Record<string, string>>;
  /** In place of the `fetch` of the platform. */
  readonly fetch?: typeof fetch;
}

/** A request was refused: `problem` says why. */
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

/** What must hold for a change to be made. */
export interface Condition {
  /** The tag that the entity must still have: see `tagOf`. */
  readonly ifMatch?: string;
}

/** What lets a request be sent again without being done again. */
export interface Once {
  /** A UUID, say. The same request with the same key is done once, and gets the same answer. */
  readonly idempotencyKey?: string;
}

const tags = new WeakMap<object, string>();

/** The tag that an answer came with, by which a later change can be bound to what was read. */
export function tagOf(answer: object): string {
  const tag = tags.get(answer);
  if (tag === undefined) throw new Error('only a whole answer has a tag: get the entity by itself');
  return tag;
}

interface Sent extends Condition, Once {
  readonly body?: unknown;
  readonly query?: object;
}

type Send = <Result>(method: string, path: string, sent?: Sent) => Promise<Result>;

/** What the server puts before the links that it gives. */
const base = "";

function sender({ baseUrl, token, headers, fetch: send = fetch }: ClientOptions): Send {
  return async <Result>(
    method: string,
    path: string,
    { body, idempotencyKey, ifMatch, query = {} }: Sent = {},
  ): Promise<Result> => {
    const credential = typeof token === 'function' ? await token() : token;
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) search.append(name, textOf(value));
    const response = await send(`${baseUrl.replace(/\/+$/, '')}${path}${search.size > 0 ? `?${search}` : ''}`, {
      method,
      headers: {
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(credential !== undefined && { authorization: `Bearer ${credential}` }),
        ...(ifMatch !== undefined && { 'if-match': ifMatch }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
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
async function* pages<Item>(send: Send, path: string, query: object): AsyncGenerator<Item, void> {
  interface Page {
    readonly results: readonly Item[];
    readonly pagination: { readonly next: string | null };
  }
  let page = await send<Page>('GET', path, { query });
  for (;;) {
    yield* page.results;
    const { next } = page.pagination;
    if (next === null) return;
    page = await send<Page>('GET', next.slice(base.length));
  }
}

function part(value: string | number): string {
  return encodeURIComponent(String(value));
}

/** Makes the client of an API at an address. */
export function createClient(options: ClientOptions) {
  const send = sender(options);
  return {
    center: {
      /** List of center */
      list: (query: CenterQuery = {}): Promise<CenterCollection> => send('GET', `/api/center.json`, { query }),
      /** Every item of the list, page by page. */
      all: (query: CenterQuery = {}): AsyncGenerator<CenterCollection['results'][number], void> => pages<CenterCollection['results'][number]>(send, `/api/center.json`, query),
    },
    person: {
      /** List of person */
      list: (query: PersonQuery = {}): Promise<PersonCollection> => send('GET', `/api/person.json`, { query }),
      /** Every item of the list, page by page. */
      all: (query: PersonQuery = {}): AsyncGenerator<PersonCollection['results'][number], void> => pages<PersonCollection['results'][number]>(send, `/api/person.json`, query),
      /** Create a person */
      create: (body: PersonCreate, options: Once = {}): Promise<Person> => send('POST', `/api/person.json`, { body, ...options }),
      /** Fetch a person */
      get: (id: number): Promise<Person> => send('GET', `/api/person/${part(id)}.json`),
      /** Replace a person */
      replace: (id: number, body: PersonReplace, options: Condition & Once = {}): Promise<Person> => send('PUT', `/api/person/${part(id)}.json`, { body, ...options }),
      /** Change a person */
      update: (id: number, body: PersonPatch, options: Condition & Once = {}): Promise<Person> => send('PATCH', `/api/person/${part(id)}.json`, { body, ...options }),
      /** Remove a person */
      remove: (id: number, options: Condition & Once = {}): Promise<void> => send('DELETE', `/api/person/${part(id)}.json`, { ...options }),
    },
    thirdParty: {
      /** List of third party */
      list: (query: ThirdPartyQuery = {}): Promise<ThirdPartyCollection> => send('GET', `/api/third-party.json`, { query }),
      /** Every item of the list, page by page. */
      all: (query: ThirdPartyQuery = {}): AsyncGenerator<ThirdPartyCollection['results'][number], void> => pages<ThirdPartyCollection['results'][number]>(send, `/api/third-party.json`, query),
      /** Fetch a third party */
      get: (id: number): Promise<ThirdParty> => send('GET', `/api/third-party/${part(id)}.json`),
    },
    course: {
      /** List of course */
      list: (query: CourseQuery = {}): Promise<CourseCollection> => send('GET', `/api/course.json`, { query }),
      /** Every item of the list, page by page. */
      all: (query: CourseQuery = {}): AsyncGenerator<CourseCollection['results'][number], void> => pages<CourseCollection['results'][number]>(send, `/api/course.json`, query),
      /** Fetch a course */
      get: (id: number): Promise<Course> => send('GET', `/api/course/${part(id)}.json`),
      /** Change a course */
      update: (id: number, body: CoursePatch, options: Condition & Once = {}): Promise<Course> => send('PATCH', `/api/course/${part(id)}.json`, { body, ...options }),
      /** participation */
      participationPost: (id: number, body?: unknown, options: Condition & Once = {}): Promise<unknown> => send('POST', `/api/course/${part(id)}/participation.json`, { body, ...options }),
      /** participation */
      participationDelete: (id: number, body?: unknown, options: Condition & Once = {}): Promise<unknown> => send('DELETE', `/api/course/${part(id)}/participation.json`, { body, ...options }),
      /** Add to tags */
      addTag: (id: number, body: TagReference, options: Condition & Once = {}): Promise<Tag> => send('POST', `/api/course/${part(id)}/tags.json`, { body, ...options }),
      /** Remove from tags */
      removeTag: (id: number, body: TagReference, options: Condition & Once = {}): Promise<Tag> => send('DELETE', `/api/course/${part(id)}/tags.json`, { body, ...options }),
      /** close */
      close: (id: number, body?: unknown, options: Condition & Once = {}): Promise<Course> => send('POST', `/api/course/${part(id)}/close.json`, { body, ...options }),
      /** mine */
      mine: (): Promise<CourseCollection> => send('GET', `/api/course/mine.json`),
    },
    tag: {
      /** List of tag */
      list: (query: TagQuery = {}): Promise<TagCollection> => send('GET', `/api/tag.json`, { query }),
      /** Every item of the list, page by page. */
      all: (query: TagQuery = {}): AsyncGenerator<TagCollection['results'][number], void> => pages<TagCollection['results'][number]>(send, `/api/tag.json`, query),
      /** Fetch a tag */
      get: (id: string): Promise<Tag> => send('GET', `/api/tag/${part(id)}.json`),
    },
    document: {
      /** List of document */
      list: (query: DocumentQuery = {}): Promise<DocumentCollection> => send('GET', `/api/document.json`, { query }),
      /** Every item of the list, page by page. */
      all: (query: DocumentQuery = {}): AsyncGenerator<DocumentCollection['results'][number], void> => pages<DocumentCollection['results'][number]>(send, `/api/document.json`, query),
      /** Create a document */
      create: (body: DocumentCreate, options: Once = {}): Promise<Document> => send('POST', `/api/document.json`, { body, ...options }),
      /** Fetch a document */
      get: (id: string): Promise<Document> => send('GET', `/api/document/${part(id)}.json`),
      /** Change a document */
      update: (id: string, body: DocumentPatch, options: Condition & Once = {}): Promise<Document> => send('PATCH', `/api/document/${part(id)}.json`, { body, ...options }),
      /** Remove a document */
      remove: (id: string, options: Condition & Once = {}): Promise<void> => send('DELETE', `/api/document/${part(id)}.json`, { ...options }),
    },
    user: {
      /** List of user */
      list: (query: UserQuery = {}): Promise<UserCollection> => send('GET', `/api/user.json`, { query }),
      /** Every item of the list, page by page. */
      all: (query: UserQuery = {}): AsyncGenerator<UserCollection['results'][number], void> => pages<UserCollection['results'][number]>(send, `/api/user.json`, query),
      /** Fetch a user */
      get: (id: number): Promise<User> => send('GET', `/api/user/${part(id)}.json`),
      /** Change a user */
      update: (id: number, body: UserPatch, options: Condition & Once = {}): Promise<User> => send('PATCH', `/api/user/${part(id)}.json`, { body, ...options }),
    },
    appStatusRoutes: {
      /** GET /api/status.{_format} */
      appStatus: (): Promise<unknown> => send('GET', `/api/status.json`),
    },
  };
}
