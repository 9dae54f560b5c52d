/** The HTTP methods an action can enable, in the order they are shown. */
export const httpMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type HttpMethod = (typeof httpMethods)[number];

/** The actions that need no handler of the application. Every other name is that of a custom action. */
export const defaultActions = ['_index', '_entity'] as const;

/** Formats of responses, as written in the suffix of a path. */
export const knownFormats = ['json', 'ndjson', 'csv', 'xml'] as const;
export type Format = (typeof knownFormats)[number];

/** What a value of a declared query parameter can be. */
export const parameterTypes = ['string', 'integer', 'number', 'boolean', 'date', 'datetime', 'uuid'] as const;
export type ParameterType = (typeof parameterTypes)[number];

/** A value of a query parameter as a declaration writes it. */
export type ParameterLiteral = string | number | boolean;

/** The formats that a requirement lets through, which is a regular expression for the whole of them. */
export function formatsMatching<Known extends string>(formats: readonly Known[], requirement: string): readonly Known[] {
  const expression = new RegExp(`^(?:${requirement})$`);
  return formats.filter((format) => expression.test(format));
}

/** What a search in a list makes use of. On SQLite all of them are `like`. */
export const searchMethods = ['like', 'trigram', 'fulltext'] as const;
export type SearchMethod = (typeof searchMethods)[number];

/** What is logged at least, as pino calls it. */
export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Keys and list positions that lead to a value of the declaration, from the root: `['app_main', 'apis', 'person', 'class']`. */
export type Path = readonly (string | number)[];

export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** A class of the application, such as a controller. */
export type AnyClass = abstract new (...args: never[]) => object;

/** A model: its class, or the MikroORM schema that describes it. */
type GivenModel = AnyClass | { readonly meta: object; readonly class: unknown };

/** How code names a class of the application. */
export type GivenClass<Kind> = string | (Kind extends 'models' ? GivenModel : AnyClass);

/** How code describes a body or a result: by a model, alone or in `{ list: Person }` and the like, or by a schema. */
export type GivenDescription = GivenClass<'models'> | StandardSchema | { readonly [keyword: string]: unknown };

/** A class or object that a module of the application exports, and the two names a declaration can call it by. */
export interface Exported {
  /** `Person` */
  readonly name: string;
  /** `src/models/person#Person` */
  readonly qualifiedName: string;
  readonly value: unknown;
}

/** What the application brings, by kind; of services, `name` is the service id. */
export type Catalog = Readonly<
  Record<
    'models' | 'controllers' | 'voters' | 'denormalizers' | 'normalizers' | 'authenticators' | 'services',
    readonly Exported[]
  >
>;

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

interface StandardResult {
  /** The parsed value, if it is valid. */
  readonly value?: unknown;
  readonly issues?:
    | readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[]
    | undefined;
}
