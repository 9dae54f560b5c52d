import type { CheckedApis } from './checked-apis.ts';
import type { FilterOperator } from './filter-operators.ts';
import type { RolesOf, WithRoles } from './names/role-names.ts';
import type { appMain } from './schema.ts';
import type { apiRateLimit } from './settings-schema.ts';
import type { GivenTo } from './shape.ts';
import type { AnyClass, Format, HttpMethod, SearchMethod, StandardSchema } from './vocabulary.ts';

/** A model: its class, or the MikroORM schema that describes it. */
type ModelClass = AnyClass | { readonly meta: object; readonly class: unknown };

type Given = GivenTo<typeof appMain>;

/** Everything under `app_main`, for declarations in code. */
export interface AppMain extends Omit<Given, 'apis'> {
  readonly apis?: Apis;
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

interface Api extends ListOptions {
  readonly class: string | ModelClass;
  readonly name?: string;
  readonly base_path: string;
  readonly controller?: string | AnyClass | null;
  readonly base_role?: string | null;
  readonly actions: Readonly<Record<string, Action | null>>;
  readonly pagination?: NonNullable<Given['pagination']>;
  readonly rate_limit?: GivenTo<typeof apiRateLimit> | null;
  readonly require_if_match?: boolean;
  readonly formats?: readonly Format[];
  /** What it is for, in Markdown. */
  readonly description?: string | null;
  /** Whether the OpenAPI document says nothing of it. */
  readonly hidden?: boolean;
}

interface Action extends ListOptions {
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
type JsonSchema = { readonly [keyword: string]: unknown };

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
