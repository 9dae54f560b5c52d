import type { ApiRequest } from '../access/user.ts';
import type { Pace } from '../event-loop.ts';
import type { ActiveGroups } from '../model/groups.ts';
import type { Identifier } from '../model/identifier.ts';
import type { ListPlan } from '../query/entities/key-query.ts';
import type { AnyQueryBuilder } from '../query/entities/restriction.ts';
import type { ListQuery } from '../query/list/list-query.ts';
import type { RowVersion } from '../query/rows/row-version.ts';
import type { Window } from '../query/rows/seek/seek-plan.ts';
import type { Counted, PageEdges } from '../response/collection.ts';
import type { ExportSource } from '../response/export-stream.ts';
import type { CsvColumn } from '../serialization/csv.ts';

/** The query on a model after `customizeQuery` and the model's filters; null if nothing restricts it. */
export type Restriction = AnyQueryBuilder | null;

/** A row that was found through a restriction. */
export interface Found {
  readonly key: unknown;
  /** The object for application code, made on first access. */
  readonly entity: object;
  /** Shows later whether the row was changed since; null if not requested. */
  readonly version: RowVersion | null;
  /** The value of the model's version property as text; null if it has none. */
  readonly versionText: string | null;
  /** The row as JSON; null if it is written from the entity. `groups` are those that were granted once the row was known. */
  json(groups?: ActiveGroups): string | Promise<string> | null;
}

/** A page of rows. */
export interface FoundPage {
  readonly counted: Counted;
  readonly edges: PageEdges;
  /** The objects for application code. */
  readonly entities: readonly object[];
  /** The rows as JSON objects, separated by commas; null if they are written from the entities. */
  json(): string | Promise<string> | null;
}

/** A request for a list. */
export interface ListRequest {
  readonly asked: ListQuery;
  readonly plan: ListPlan;
  readonly window: Window;
  /** How a long page is written; without it, in one go. */
  readonly pace?: Pace;
}

/** How lines of an export are written: as CSV with columns, or as JSON. */
export interface LineFormat {
  readonly columns: readonly CsvColumn[] | null;
}

/** Reads rows of one model for requests. It decides how rows are read, never whether a caller may read them. */
export interface ReadStore {
  /** Why the rows are read through MikroORM; null if compiled statements read them. */
  readonly reason: string | null;
  /** The row with a key, if it passes the restriction. For a change, the row includes its version. */
  find(request: ApiRequest, key: Identifier, restriction: Restriction, forChange?: boolean): Promise<Found | null>;
  page(request: ApiRequest, restriction: Restriction, list: ListRequest): Promise<FoundPage>;
  walk(
    request: ApiRequest,
    restriction: Restriction,
    list: Omit<ListRequest, 'window'>,
    format: LineFormat,
  ): Promise<ExportSource>;
}

/** The row that a single-entity request is about, as far as it is known. */
export interface Admission {
  readonly action: string;
  readonly key: Identifier;
  readonly restriction: Restriction;
  /** The row that was checked. Null if nothing had to read it: then the statement that writes it contains the restriction. */
  readonly found: Found | null;
}

/** The result of adding or removing: the owner, if it was loaded as an entity, and the content of the response. */
export interface Linked {
  readonly entity: object | null;
  readonly result: unknown;
}
