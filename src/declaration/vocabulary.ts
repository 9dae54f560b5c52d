/** The HTTP methods an action can enable, in the order they are shown. */
export const httpMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type HttpMethod = (typeof httpMethods)[number];

/** The actions that need no handler of the application. Actions with other names are custom actions. */
export const defaultActions = ['_index', '_entity'] as const;

/** Formats of responses, as written in the suffix of a path. */
export const knownFormats = ['json', 'ndjson', 'csv', 'xml'] as const;
export type Format = (typeof knownFormats)[number];

/** The types of declared query parameters. */
export const parameterTypes = ['string', 'integer', 'number', 'boolean', 'date', 'datetime', 'uuid'] as const;
export type ParameterType = (typeof parameterTypes)[number];

/** A value of a query parameter as it is written in a declaration. */
export type ParameterLiteral = string | number | boolean;

/** The formats that match a requirement: a regular expression for the whole name of a format. */
export function formatsMatching<Known extends string>(formats: readonly Known[], requirement: string): readonly Known[] {
  const expression = new RegExp(`^(?:${requirement})$`);
  return formats.filter((format) => expression.test(format));
}

/** How PostgreSQL searches a list. On SQLite, all of them work as `like`. */
export const searchMethods = ['like', 'trigram', 'fulltext'] as const;
export type SearchMethod = (typeof searchMethods)[number];

/** The functions that an aggregate applies to the values of a field in a group of rows. */
export const aggregateFunctions = ['sum', 'avg', 'min', 'max'] as const;
export type AggregateFunction = (typeof aggregateFunctions)[number];

/** Parts of a date that rows can be grouped by, as in `bornAt:month`. */
export const periods = ['year', 'month', 'day'] as const;
export type Period = (typeof periods)[number];

/** Log levels by pino's names; the configured one is the lowest that is logged. */
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

/** A class of the application in a declaration in code: its name, or the class itself. */
export type GivenClass<Kind> = string | (Kind extends 'models' ? GivenModel : AnyClass);

/** How code describes a body or a result: by a model, alone or in `{ list: Person }` and the like, or by a schema. */
export type GivenDescription = GivenClass<'models'> | StandardSchema | { readonly [keyword: string]: unknown };

/** A class or object that a module of the application exports, with the two names that declarations can use for it. */
export interface Exported {
  /** `Person` */
  readonly name: string;
  /** `src/models/person#Person` */
  readonly qualifiedName: string;
  readonly value: unknown;
}

/** The classes and services of the application, by kind; the `name` of a service is its id. */
export type Catalog = Readonly<
  Record<
    'models' | 'controllers' | 'voters' | 'denormalizers' | 'normalizers' | 'authenticators' | 'services',
    readonly Exported[]
  >
>;

/** The description of a body or a result. */
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
