import type { Column } from '@mikro-orm/sql';

/** The name of a table as statements write it. */
export interface TableName {
  /** Null if the database resolves the schema itself. */
  readonly schema: string | null;
  readonly name: string;
}

/** A table or view in the database. */
export interface FoundTable extends TableName {
  readonly isView: boolean;
  readonly columns: readonly FoundColumn[];
}

/** A column in the database. */
export interface FoundColumn {
  readonly name: string;
  /** As the database writes it. */
  readonly type: string;
  /** The type behind a domain; the same type if there is none. */
  readonly base: string;
  /** Whether null is rejected. */
  readonly isRequired: boolean;
  readonly hasDefault: boolean;
  readonly isGenerated: boolean;
  /** Whether it generates numbers for new rows. */
  readonly isNumbered: boolean;
  /** The values of an enum type; null for other types. */
  readonly labels: readonly string[] | null;
  /** The expressions that check this column alone. */
  readonly checks: readonly string[];
}

/** A column that a model needs. */
export interface WantedColumn
  extends Pick<Column, 'name' | 'type' | 'nullable' | 'default' | 'autoincrement' | 'enumItems' | 'generated'> {
  /** The property, as messages name it: `Person.vip`. */
  readonly property: string;
  /** Whether the column in the database must have the default, if there is one. */
  readonly needsDefault: boolean;
}

/** A table that models need. */
export interface WantedTable extends TableName {
  /** The model, as messages name it; for a pivot table the association. */
  readonly model: string;
  /** Whether rows can be inserted. */
  readonly isWritten: boolean;
  readonly isView: boolean;
  readonly columns: readonly WantedColumn[];
}
