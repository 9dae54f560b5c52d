import type { CheckedApis } from './checked-apis.ts';
import type { FilterOperator } from './filter-operators.ts';
import type { RolesOf, WithRoles } from './names/role-names.ts';
import type { Format, HttpMethod, LogLevel, SearchMethod, StandardSchema } from './types.ts';

/** A model: its class, or the MikroORM schema that describes it. */
export type ModelClass = (abstract new (...args: never[]) => object) | { readonly meta: object; readonly class: unknown };

/** A class of the application, such as a controller. */
export type AnyClass = abstract new (...args: never[]) => object;

/** Everything under `app_main`, for declarations in code. */
export interface AppMain {
  readonly apis?: Apis;
  readonly database?: DatabaseOptions;
  readonly security?: SecurityOptions;
  readonly pagination?: PaginationOptions;
  readonly server?: ServerOptions;
  readonly formats?: readonly Format[];
  readonly exports?: ExportsOptions;
  readonly openapi?: OpenApiOptions;
}

/** APIs by a key of your choice, or a list of APIs that each have a name. */
export type Apis = Readonly<Record<string, Api>> | readonly (Api & { readonly name: string })[];

/** What callers may ask of a list. */
export interface ListOptions {
  /** `{ lastName: ['eq', 'contains'], 'center.id': ['in'] }`, by the names that fields have in JSON. */
  readonly filters?: Readonly<Record<string, readonly FilterOperator[]>>;
  /** `['lastName', 'center.name']` */
  readonly sort?: readonly string[];
  /** `['-created', 'name']` */
  readonly default_sort?: readonly string[];
  readonly search?: readonly string[] | { readonly fields: readonly string[]; readonly using?: SearchMethod };
}

export interface Api extends ListOptions {
  readonly class: string | ModelClass;
  readonly name?: string;
  readonly base_path: string;
  readonly controller?: string | AnyClass | null;
  readonly base_role?: string | null;
  readonly actions: Readonly<Record<string, Action | null>>;
  readonly pagination?: PaginationOptions;
  readonly rate_limit?: RateLimitOptions | null;
  readonly require_if_match?: boolean;
  readonly formats?: readonly Format[];
  /** What it is for, in Markdown. */
  readonly description?: string | null;
  /** Whether the OpenAPI document says nothing of it. */
  readonly hidden?: boolean;
}

export interface Action extends ListOptions {
  readonly methods?: Readonly<Partial<Record<HttpMethod, boolean>>>;
  readonly roles?: Readonly<Partial<Record<HttpMethod, string | null>>>;
  readonly controller_action?: string | null;
  readonly path?: string | null;
  readonly requirements?: Readonly<Record<string, string>> | readonly [];
  readonly 'single-collection'?: 'single' | 'collection';
  readonly single_collection?: 'single' | 'collection';
  readonly repeatable?: boolean | null;
  readonly association?: { readonly property: string; readonly types?: readonly (string | ModelClass)[] } | null;
  readonly formats?: readonly Format[];
  /** What it does, in Markdown; for all methods, or for each. */
  readonly description?: string | Readonly<Partial<Record<HttpMethod, string | null>>> | null;
  /** Whether the OpenAPI document says nothing of it. */
  readonly hidden?: boolean;
  /** What the handler takes, and is held to. */
  readonly body?: string | ModelClass | { readonly reference: string | ModelClass } | StandardSchema | JsonSchema | null;
  /** What the handler gives. */
  readonly result?:
    | string
    | ModelClass
    | { readonly list: string | ModelClass }
    | { readonly collection: string | ModelClass }
    | StandardSchema
    | JsonSchema
    | null;
}

/** A JSON Schema (2020-12). */
export type JsonSchema = { readonly [keyword: string]: unknown };

export interface DatabaseOptions {
  readonly url?: string;
  readonly schema?: 'update' | 'none';
  readonly pool?: number;
  readonly connect_timeout?: number;
  readonly statement_timeout?: number;
  readonly prepared_statements?: boolean;
}

export interface SecurityOptions {
  readonly require_role?: boolean;
  readonly strategy?: 'affirmative' | 'consensus' | 'unanimous' | 'priority';
  readonly role_hierarchy?: Readonly<Record<string, readonly string[]>>;
  readonly jwt?: JwtOptions | null;
  readonly api_keys?: Readonly<Record<string, { readonly key: string; readonly roles?: readonly string[] }>>;
  readonly authenticator?: string | AnyClass | null;
}

export interface JwtOptions {
  readonly secret?: string | null;
  /** `HS256`, or an asymmetric one together with `jwks`. */
  readonly algorithm?: string;
  readonly issuer?: string | null;
  readonly audience?: string | null;
  readonly jwks?: string | { readonly keys: readonly object[] } | null;
}

export interface PaginationOptions {
  readonly items_per_page?: number;
  readonly max_items_per_page?: number;
  readonly max_offset?: number;
  readonly count?: 'exact' | 'estimated' | { readonly capped: number };
  readonly max_or_depth?: number;
  readonly max_or_groups?: number;
}

export interface ExportsOptions {
  readonly at_once?: number;
  readonly stall_timeout?: number;
}

export interface OpenApiOptions {
  readonly enabled?: boolean | null;
  readonly title?: string | null;
  readonly version?: string | null;
  readonly description?: string | null;
  readonly path?: string | null;
  readonly docs?: string | null;
  readonly greeting?: boolean;
}

export interface ServerOptions {
  readonly host?: string;
  readonly port?: number;
  readonly base_url?: string;
  readonly body_limit?: number;
  readonly json_depth?: number;
  readonly url_limit?: number;
  readonly header_limit?: number;
  readonly max_parameters?: number;
  readonly parameter_limit?: number;
  readonly header_timeout?: number;
  readonly request_timeout?: number;
  readonly handler_timeout?: number;
  readonly keep_alive_timeout?: number;
  readonly max_concurrent?: number;
  readonly busy_concurrent?: number;
  readonly shutdown_timeout?: number;
  readonly trust_proxy?: readonly string[];
  readonly rate_limit?: (RateLimitOptions & { readonly store?: 'memory' | 'database' }) | null;
  readonly idempotency?: { readonly ttl?: number; readonly answer_limit?: number } | null;
  readonly require_if_match?: boolean;
  readonly health?: { readonly live?: string | null; readonly ready?: string | null } | null;
  readonly request_id?: string | null;
  readonly metrics?: { readonly path?: string; readonly role?: string | null } | null;
  readonly timing?: boolean;
  readonly log?: { readonly level?: LogLevel; readonly redact?: readonly string[] };
}

export interface RateLimitOptions {
  readonly limit: number;
  readonly window?: number;
  readonly by?: 'user' | 'address';
}

/** The entries of config/routes.yaml, in code. */
export type Routes = Readonly<Record<string, { readonly resource: string; readonly type: 'service' }>>;

/**
 * Types the declarations of APIs in code, and returns them as they are. Names of fields, associations and methods must be those of the models and
 * controllers that are given themselves; with the voters beside the APIs, roles must be theirs or begin with ROLE_. What the type of a
 * model does not know, such as fields that only those have that inherit from it, can be written `as ListOptions`.
 *
 * @example
 * const apis = defineApis({ person: { class: Person, base_path: '/api/person', actions: { _index: null, _entity: null } } });
 */
export function defineApis<
  const T extends Apis,
  const Voters extends readonly { readonly roles: readonly string[] }[] = readonly [],
>(apis: T & CheckedApis<T, keyof Api, keyof Action> & WithRoles<T, RolesOf<Voters>>, _known?: { readonly voters: Voters }): T {
  return apis;
}
