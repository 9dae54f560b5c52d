import type { CamelCased } from './camel-case.ts';
import type { FilterOperator } from './filter-operators.ts';
import type { WrittenAppMain } from './schema/schema.ts';
import type {
  AggregateFunction,
  DescribedDeclaration,
  Exported,
  Format,
  HttpMethod,
  ParameterLiteral,
  ParameterType,
  Path,
  SearchMethod,
} from './vocabulary.ts';

export type * from './vocabulary.ts';
export { httpMethods, knownFormats, logLevels } from './vocabulary.ts';

/** The whole declaration: checked, every default filled in, frozen. */
export interface Declaration {
  readonly apis: readonly ApiDeclaration[];
  /** The groups that apply only to callers with a role. */
  readonly groups: readonly BoundGroup[];
  readonly routes: readonly RouteEntry[];
  readonly database: DatabaseDeclaration;
  readonly security: SecurityDeclaration;
  readonly server: ServerDeclaration;
  readonly exports: Section<'exports'>;
  readonly openapi: OpenApiDeclaration;
  readonly explorer: ExplorerDeclaration;
  readonly formats: readonly Format[];
}

export interface ApiDeclaration {
  readonly name: string;
  readonly class: Exported;
  readonly controller: Exported | null;
  /** Includes the prefix of the route entry. */
  readonly basePath: string;
  readonly baseRole: string | null;
  readonly pagination: PaginationDeclaration;
  readonly rateLimit: RateLimitDeclaration | null;
  /** Whether changes of entities with a version need `If-Match`. */
  readonly requireIfMatch: boolean;
  /** The associations whose rows are created together with their owner. */
  readonly nested: readonly NestedDeclaration[];
  readonly defaultSort: readonly SortKey[];
  /** The groups of its actions, unless an action overrides them. */
  readonly groups: GroupsDeclaration;
  /** The parameters of its lists, unless an action overrides them. */
  readonly list: ListDeclaration;
  readonly formats: readonly Format[];
  readonly description: string | null;
  readonly actions: readonly ActionDeclaration[];
  readonly path: Path;
}

/** A group whose fields exist only for callers with a role. */
export interface BoundGroup {
  readonly name: string;
  readonly role: string;
  readonly path: Path;
}

/** The serialization groups of an API or an action, with their paths in the declaration if they were written. */
export interface GroupsDeclaration {
  /** The groups of the fields in responses. */
  readonly read: readonly DeclaredGroup[];
  /** The groups of the fields that request bodies may contain. */
  readonly write: readonly DeclaredGroup[];
}

export interface DeclaredGroup {
  readonly name: string;
  /** The role that a caller needs; null: it applies to all callers with access to the action. */
  readonly role: string | null;
  /** Null if the group is the default. */
  readonly path: Path | null;
}

export interface SortKey {
  /** A property, or a path through to-one associations: `center.name`. */
  readonly property: string;
  readonly direction: 'asc' | 'desc';
}

/** The parameters of a list, by the names that fields have in JSON. */
export interface ListDeclaration {
  readonly filters: readonly FilterDeclaration[];
  readonly sort: readonly DeclaredPath[];
  readonly search: SearchDeclaration | null;
  /** Only `_index` uses it. */
  readonly aggregate: AggregateDeclaration | null;
  readonly defaultSort: readonly SortKey[];
  readonly defaultSortPath: Path;
}

/** A field (`lastName`) or a field of an associated row (`center.name`), with its path in the declaration. */
export interface DeclaredPath {
  readonly field: string;
  readonly path: Path;
}

interface FilterDeclaration extends DeclaredPath {
  readonly operators: readonly FilterOperator[];
}

export interface SearchDeclaration {
  readonly fields: readonly DeclaredPath[];
  readonly using: SearchMethod;
  readonly path: Path;
}

export interface AggregateDeclaration {
  /** Fields, or fields with a period: `bornAt:month`. */
  readonly by: readonly DeclaredPath[];
  readonly of: readonly AggregatedField[];
  readonly maxGroups: number;
  /** The path segments after that of the list. */
  readonly segment: string;
  readonly path: Path;
}

interface AggregatedField extends DeclaredPath {
  readonly functions: readonly AggregateFunction[];
}

export interface ActionDeclaration {
  readonly name: string;
  /** `aggregate`: the aggregates of `_index`, which have a route of their own. */
  readonly kind: 'index' | 'entity' | 'aggregate' | 'custom';
  /** Whether the path contains the entity's id. */
  readonly single: boolean;
  readonly methods: readonly HttpMethod[];
  /** The method's own role, if it has one (without the base role). HEAD without an entry has that of GET; null: none. */
  readonly roles: Readonly<Partial<Record<HttpMethod, string | null>>>;
  readonly controllerAction: string | null;
  /** The declared path segment, or null for the default. */
  readonly segment: string | null;
  readonly requirements: Readonly<Record<string, string>>;
  /** Whether it is retried after a rollback by the database; null: only default actions and declared associations are. */
  readonly repeatable: boolean | null;
  /** The groups of constraints that apply, besides those without groups. */
  readonly validationGroups: readonly string[];
  readonly groups: GroupsDeclaration;
  readonly association: AssociationDeclaration | null;
  /** The methods that accept a list of items; null if none does. */
  readonly bulk: BulkDeclaration | null;
  /** Its own query parameters. */
  readonly parameters: readonly ParameterDeclaration[];
  /** The parameters of the list that the action returns; null if its path has an id. */
  readonly list: ListDeclaration | null;
  readonly formats: readonly Format[];
  /** The descriptions of methods, as far as they were written. */
  readonly descriptions: Readonly<Partial<Record<HttpMethod, string>>>;
  /** The declared ids in the OpenAPI document: one for each method, or one for `all` of them. */
  readonly operationIds: Readonly<Partial<Record<HttpMethod | 'all', string>>>;
  /** Whether it is left out of the OpenAPI document. */
  readonly hidden: boolean;
  /** The request body and the result of its handler; null if unknown. */
  readonly body: DescribedDeclaration | null;
  readonly result: DescribedDeclaration | null;
  readonly path: Path;
}

/** A query parameter of an action. */
export interface ParameterDeclaration {
  readonly name: string;
  readonly type: ParameterType;
  /** Whether it holds several values. */
  readonly list: boolean;
  readonly required: boolean;
  readonly default: ParameterLiteral | readonly ParameterLiteral[] | null;
  /** The allowed values; empty: all. */
  readonly enum: readonly ParameterLiteral[];
  readonly minimum: number | null;
  readonly maximum: number | null;
  /** A regular expression that the whole value must match. */
  readonly pattern: string | null;
  readonly description: string | null;
  readonly path: Path;
}

type ParameterValue = ParameterLiteral | Date;

/** The values of the declared query parameters of a request, by their names. */
export interface ParameterValues {
  readonly [name: string]: ParameterValue | readonly ParameterValue[] | undefined;
}

/** A method of `_index` that accepts a list. */
export type BulkMethod = 'POST' | 'PATCH' | 'DELETE';

export interface BulkDeclaration {
  readonly methods: readonly BulkMethod[];
  /** Whether POST accepts an object as well. */
  readonly single: boolean;
  readonly maxItems: number;
}

export interface NestedDeclaration {
  /** The names of associations in JSON, from the model of the API. */
  readonly names: readonly string[];
  readonly maxItems: number;
  readonly role: string | null;
  readonly path: Path;
}

export interface AssociationDeclaration {
  readonly property: string;
  /** Empty: the association's own target. */
  readonly types: readonly Exported[];
}

/** How the items of a list are counted: all of them, up to a number, or as the database estimates. */
export type CountMode = 'exact' | 'estimated' | { readonly capped: number };

export interface RouteEntry {
  /** `app_cruds` */
  readonly name: string;
  readonly service: string;
  readonly method: string;
  /** The prefix of the paths of its routes; may be empty. */
  readonly prefix: string;
  readonly path: Path;
}

export interface PaginationDeclaration extends Omit<Section<'pagination'>, 'count'> {
  readonly count: CountMode;
}

/** The settings under a key of `app_main`. The schema describes their meanings and units. */
type Section<Name extends keyof WrittenAppMain> = CamelCased<WrittenAppMain[Name]>;

/** How the schema of the database is handled at startup. */
export type SchemaMode = NonNullable<Section<'database'>['schema']>;

export interface DatabaseDeclaration extends Omit<Section<'database'>, 'replicas'> {
  readonly schema: SchemaMode;
  readonly replicas: readonly string[];
  /** The database rejects all changes, also of its schema. This cannot be declared; tools that only read set it. */
  readonly readOnly?: boolean;
  /** Options of `pg` that a URL cannot contain. Not declared: they come from a MikroORM configuration. */
  readonly driverOptions?: Readonly<Record<string, unknown>>;
}

/** The title, version and description are null if they come from package.json. A path is null if nothing is served there. */
export type OpenApiDeclaration = Section<'openapi'>;

export interface ExplorerDeclaration {
  /** Null: wherever the docs page is served. */
  readonly enabled: boolean | null;
  readonly login: string | null;
}

export interface SecurityDeclaration extends Omit<Section<'security'>, 'jwt' | 'apiKeys' | 'roleHierarchy' | 'sampleUsers'> {
  readonly roleHierarchy: Readonly<Record<string, readonly string[]>>;
  readonly jwt: JwtDeclaration | null;
  readonly apiKeys: readonly ApiKeyDeclaration[];
  /** Always empty in production. */
  readonly sampleUsers: readonly SampleUserDeclaration[];
}

/** Without `secret` and `jwks`, tokens are signed with the application's development key, outside production only. */
export interface JwtDeclaration extends Omit<NonNullable<Section<'security'>['jwt']>, 'jwks'> {
  /** An address, a file of the application, or the key set itself. */
  readonly jwks: string | { readonly keys: readonly unknown[] } | null;
}

export interface ApiKeyDeclaration {
  readonly name: string;
  /** The key itself, or `sha256:` and its hash in hexadecimal. */
  readonly key: string;
  readonly roles: readonly string[];
}

/** A user for whom the docs page can get a token, outside production only. */
export interface SampleUserDeclaration {
  readonly name: string;
  readonly id: string;
  readonly roles: readonly string[];
  readonly claims: Readonly<Record<string, unknown>>;
}

export interface ServerDeclaration extends Omit<Section<'server'>, 'compress' | 'cors' | 'rateLimit' | 'health' | 'requestId'> {
  /** Null: responses are not compressed. */
  readonly compress: CompressDeclaration | null;
  /** Null: no page of another origin may read responses. */
  readonly cors: CorsDeclaration | null;
  /** The limit of every API without its own limit; null: none. */
  readonly rateLimit: RateLimitDeclaration | null;
  readonly rateLimitStore: 'memory' | 'database';
  readonly health: HealthDeclaration;
  /** The header of request ids; null if there is none. */
  readonly requestIdHeader: string | null;
}

export interface CorsDeclaration extends Omit<NonNullable<Section<'server'>['cors']>, 'origins'> {
  readonly origins: readonly string[] | '*';
}

export type CompressDeclaration = Exclude<Section<'server'>['compress'], boolean>;

/** Paths; null: not served. */
export type HealthDeclaration = NonNullable<Section<'server'>['health']>;

export interface RateLimitDeclaration {
  /** The name in headers. */
  readonly name: string;
  readonly limit: number;
  /** Seconds. */
  readonly window: number;
  readonly by: 'user' | 'address';
}
