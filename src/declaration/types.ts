import type { FilterOperator } from './filter-operators.ts';

/** The HTTP methods an action can enable, in the order they are shown. */
export const httpMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type HttpMethod = (typeof httpMethods)[number];

/** Formats of responses, as written in the suffix of a path. */
export const knownFormats = ['json', 'ndjson', 'csv', 'xml'] as const;
export type Format = (typeof knownFormats)[number];

/** Keys and list positions that lead to a value of the declaration, from the root: `['app_main', 'apis', 'person', 'class']`. */
export type Path = readonly (string | number)[];

/** Where something was written. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** A class or object that a module of the application exports, and the two names a declaration can call it by. */
export interface Exported {
  /** `Person` */
  readonly name: string;
  /** `src/models/person#Person` */
  readonly qualifiedName: string;
  readonly value: unknown;
}

/** What the application brings, by kind. */
export interface Catalog {
  readonly models: readonly Exported[];
  readonly controllers: readonly Exported[];
  readonly voters: readonly Exported[];
  readonly denormalizers: readonly Exported[];
  readonly authenticators: readonly Exported[];
  /** Route-loading services under their service id (in `name`). */
  readonly services: readonly Exported[];
}

/** The whole declaration: checked, every default filled in, frozen. */
export interface Declaration {
  readonly apis: readonly ApiDeclaration[];
  readonly routes: readonly RouteEntry[];
  readonly database: DatabaseDeclaration;
  readonly security: SecurityDeclaration;
  readonly server: ServerDeclaration;
  readonly exports: ExportsDeclaration;
  readonly openapi: OpenApiDeclaration;
  readonly formats: readonly Format[];
}

export interface ApiDeclaration {
  readonly name: string;
  readonly class: Exported;
  readonly controller: Exported | null;
  readonly basePath: string;
  readonly baseRole: string | null;
  readonly pagination: PaginationDeclaration;
  /** Null: none. */
  readonly rateLimit: RateLimitDeclaration | null;
  /** Whether entities with a version are changed only by who sends `If-Match`. */
  readonly requireIfMatch: boolean;
  readonly defaultSort: readonly SortKey[];
  /** What callers may ask of its lists, where an action does not say otherwise. */
  readonly list: ListDeclaration;
  readonly formats: readonly Format[];
  readonly description: string | null;
  readonly actions: readonly ActionDeclaration[];
  readonly path: Path;
}

export interface SortKey {
  /** A property, or a path through to-one associations: `center.name`. */
  readonly property: string;
  readonly direction: 'asc' | 'desc';
}

/** What a search in a list makes use of. On SQLite all of them are `like`. */
export const searchMethods = ['like', 'trigram', 'fulltext'] as const;
export type SearchMethod = (typeof searchMethods)[number];

/** What callers may ask of a list, by the names that fields have in JSON. */
export interface ListDeclaration {
  readonly filters: readonly FilterDeclaration[];
  readonly sort: readonly DeclaredPath[];
  readonly search: SearchDeclaration | null;
  readonly defaultSort: readonly SortKey[];
  /** Where `default_sort` was written. */
  readonly defaultSortPath: Path;
}

/** A field, `lastName`, or one of what a row is associated with, `center.name`, and where it was written. */
export interface DeclaredPath {
  readonly field: string;
  readonly path: Path;
}

export interface FilterDeclaration extends DeclaredPath {
  readonly operators: readonly FilterOperator[];
}

export interface SearchDeclaration {
  readonly fields: readonly DeclaredPath[];
  readonly using: SearchMethod;
  readonly path: Path;
}

export interface ActionDeclaration {
  readonly name: string;
  readonly kind: 'index' | 'entity' | 'custom';
  /** Whether the path contains the entity's id. */
  readonly single: boolean;
  readonly methods: readonly HttpMethod[];
  /** The method's own role, where it has one (without the base role). */
  readonly roles: Readonly<Partial<Record<HttpMethod, string>>>;
  readonly controllerAction: string | null;
  /** The declared path segment, or null for the default. */
  readonly segment: string | null;
  readonly requirements: Readonly<Record<string, string>>;
  /** Whether it is done again where the database undid it; null: where it is the framework's own. */
  readonly repeatable: boolean | null;
  readonly association: AssociationDeclaration | null;
  /** What callers may ask of the list that the action gives; null where its path has an id. */
  readonly list: ListDeclaration | null;
  readonly formats: readonly Format[];
  /** What each method does, as far as it was written. */
  readonly descriptions: Readonly<Partial<Record<HttpMethod, string>>>;
  /** Whether the OpenAPI document says nothing of it. */
  readonly hidden: boolean;
  /** What its handler takes and what it gives; null where nothing is known of it. */
  readonly body: DescribedDeclaration | null;
  readonly result: DescribedDeclaration | null;
  readonly path: Path;
}

/** What a body or a result is like. */
export type DescribedDeclaration =
  | { readonly kind: 'model'; readonly model: Exported; readonly as: 'one' | 'reference' | 'list' | 'collection' }
  | { readonly kind: 'standard'; readonly schema: StandardSchema }
  | { readonly kind: 'json'; readonly schema: Readonly<Record<string, unknown>> };

/** A schema of zod, valibot, arktype and the like. */
export interface StandardSchema {
  readonly '~standard': {
    validate(value: unknown): StandardResult | Promise<StandardResult>;
  };
}

export interface StandardResult {
  /** What the value was made into, where nothing is wrong with it. */
  readonly value?: unknown;
  readonly issues?:
    | readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[]
    | undefined;
}

export interface AssociationDeclaration {
  readonly property: string;
  /** Empty: the association's own target. */
  readonly types: readonly Exported[];
}

export interface PaginationDeclaration {
  readonly itemsPerPage: number;
  readonly maxItemsPerPage: number;
  /** 0 means none. */
  readonly maxOffset: number;
  readonly count: CountMode;
  /** How deep groups of conditions may be nested, and how many of them a request may have. */
  readonly maxOrDepth: number;
  readonly maxOrGroups: number;
}

/** How the items of a list are counted: all of them, up to a number, or as the database estimates. */
export type CountMode = 'exact' | 'estimated' | { readonly capped: number };

export interface RouteEntry {
  /** `app_cruds` */
  readonly name: string;
  /** The part of `resource` before the colon. */
  readonly service: string;
  /** The part of `resource` after the colon. */
  readonly method: string;
  readonly path: Path;
}

export interface DatabaseDeclaration {
  readonly url: string;
  readonly schema: 'update' | 'none';
  readonly pool: number;
  /** Milliseconds. */
  readonly connectTimeout: number;
  /** Milliseconds; 0 means none. */
  readonly statementTimeout: number;
  readonly preparedStatements: boolean;
  /** The database itself refuses to change anything, its schema included. Not declared: tools that only look ask for it. */
  readonly readOnly?: boolean;
}

export interface ExportsDeclaration {
  /** How many may run at the same time. */
  readonly atOnce: number;
  /** Milliseconds; 0 means none. */
  readonly stallTimeout: number;
}

export interface OpenApiDeclaration {
  /** Whether anything of it is served; null where that was not written. */
  readonly enabled: boolean | null;
  /** Null: as the package of the application says. */
  readonly title: string | null;
  readonly version: string | null;
  readonly description: string | null;
  /** Where the document is, and where the docs page; null: nowhere. */
  readonly path: string | null;
  readonly docs: string | null;
  readonly greeting: boolean;
}

export interface SecurityDeclaration {
  readonly requireRole: boolean;
  readonly strategy: 'affirmative' | 'consensus' | 'unanimous' | 'priority';
  readonly roleHierarchy: Readonly<Record<string, readonly string[]>>;
  readonly jwt: JwtDeclaration | null;
  readonly apiKeys: readonly ApiKeyDeclaration[];
  /** A class of the application's own; null means every class that `src/authenticators` exports. */
  readonly authenticator: Exported | null;
}

export interface JwtDeclaration {
  /** Null together with `jwks`: the application's development key, outside production only. */
  readonly secret: string | null;
  readonly algorithm: string;
  readonly issuer: string | null;
  readonly audience: string | null;
  /** An address, a file of the application, or the key set itself. */
  readonly jwks: string | { readonly keys: readonly unknown[] } | null;
}

export interface ApiKeyDeclaration {
  readonly name: string;
  /** The key itself, or `sha256:` and its hash in hexadecimal. */
  readonly key: string;
  readonly roles: readonly string[];
}

export interface ServerDeclaration {
  readonly host: string;
  readonly port: number;
  /** Put before every link and `Location`. */
  readonly baseUrl: string;
  /** Bytes. */
  readonly bodyLimit: number;
  readonly jsonDepth: number;
  /** Characters. */
  readonly urlLimit: number;
  /** Bytes. */
  readonly headerLimit: number;
  readonly maxParameters: number;
  /** Characters. */
  readonly parameterLimit: number;
  /** Milliseconds. */
  readonly headerTimeout: number;
  /** Milliseconds. */
  readonly requestTimeout: number;
  /** Milliseconds; 0 means none. */
  readonly handlerTimeout: number;
  /** Milliseconds. */
  readonly keepAliveTimeout: number;
  readonly maxConcurrent: number;
  /** Requests at once while the process or the database cannot keep up. */
  readonly busyConcurrent: number;
  /** Milliseconds. */
  readonly shutdownTimeout: number;
  /** Addresses and networks of proxies. */
  readonly trustProxy: readonly string[];
  /** What holds for every API that does not say otherwise; null: none. */
  readonly rateLimit: RateLimitDeclaration | null;
  /** Where requests are counted. */
  readonly rateLimitStore: 'memory' | 'database';
  /** Null: keys are not looked at. */
  readonly idempotency: IdempotencyDeclaration | null;
  /** What holds for every API that does not say otherwise. */
  readonly requireIfMatch: boolean;
  readonly health: HealthDeclaration;
  /** The header that says what a request is called; null: nobody is told. */
  readonly requestIdHeader: string | null;
  readonly log: LogDeclaration;
  /** Whether answers tell what their time was spent on; never in production. */
  readonly timing: boolean;
  /** Null: nowhere. */
  readonly metrics: MetricsDeclaration | null;
}

export interface MetricsDeclaration {
  readonly path: string;
  /** Who may read them; null: anybody. */
  readonly role: string | null;
}

/** What is logged at least, as pino calls it. */
export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

export interface LogDeclaration {
  readonly level: LogLevel;
  /** Parts of names whose values are not logged. */
  readonly redact: readonly string[];
}

export interface IdempotencyDeclaration {
  /** Seconds for which an answer is kept. */
  readonly ttl: number;
  /** Bytes. */
  readonly answerLimit: number;
}

export interface RateLimitDeclaration {
  /** As it is called in headers. */
  readonly name: string;
  readonly limit: number;
  /** Seconds. */
  readonly window: number;
  readonly by: 'user' | 'address';
}

export interface HealthDeclaration {
  /** A path, or null for nowhere. */
  readonly live: string | null;
  readonly ready: string | null;
}
