import type { EntityMetadata } from '@mikro-orm/core';
import type { Mapper } from '../../database/mapper.ts';
import type { FieldPlan } from '../../model/field-plan.ts';
import { keyParts } from '../../model/identifier.ts';
import { versionOf } from '../../model/version.ts';
import type { RowObject } from '../../serialization/row-writer.ts';
import { classConditions, keyColumns } from './association.ts';
import { type MakeInstance, NoInstance } from './instance.ts';
import { planInstance } from './instance-plan.ts';
import { type Embed, type ManySelection, RowPlanner, type RowSelection, readableTable, Selection } from './row-selection.ts';
import { versionColumns } from './row-version.ts';

/** The selection of the rows of the model itself. */
export interface RootSelection extends RowSelection {
  /** The key columns with their alias. */
  readonly keys: readonly string[];
  /** The key columns without alias, and their types. */
  readonly keyNames: readonly string[];
  readonly keyTypes: readonly string[];
  /** The table without alias. */
  readonly tableName: string;
  /** Whether the selection reads, or can read, other rows of a table than these. */
  reads(table: string): boolean;
}

/** Everything that is fetched for a field plan: a fixed number of statements. */
export interface RowPlan {
  readonly root: RootSelection;
  readonly many: readonly ManySelection[];
  /** Makes the object for voters and hooks; a text is the reason why that is impossible. */
  readonly subject: MakeInstance | string;
  /** The column of the version property of the root's rows; null if there is none, or the options do not require it. */
  readonly version: number | null;
  /** The columns of the row version, which tell later whether a row was changed; null if the options do not require them. */
  readonly rowVersion: readonly number[] | null;
  /** The classes whose rows are embedded only if the caller sees them, by the index of their set of keys. */
  readonly limited: readonly EntityMetadata[];
  /** The fields of the root's rows that narrower plans show, by their keys. */
  readonly narrower: ReadonlyMap<object, RowObject>;
}

/** The values that a row plan provides beyond its fields. */
export interface RowPlanOptions {
  /** Whether rows can become objects for voters and hooks. */
  readonly withSubject?: boolean;
  /** Whether the version property is read even if it is not shown. */
  readonly withVersion?: boolean;
  /** Whether the row version is read. */
  readonly withRowVersion?: boolean;
  /** Whether rows of exactly this class can be hidden from a caller, so that each must be checked before it is embedded. */
  readonly isLimited?: (meta: EntityMetadata) => boolean;
  /** Serializes what code of a model returns; without it, such fields need entities. */
  readonly embed?: Embed | undefined;
  /** Plans with fewer fields, each with a key: rows that were read can be written by them as well. */
  readonly narrower?: readonly NarrowerPlan[] | undefined;
}

/** A plan with fewer fields. */
export interface NarrowerPlan {
  readonly key: object;
  readonly plan: FieldPlan;
}

export const rootTableAlias = 'e';

/** Makes the plan by which rows become JSON without entities, or throws `NotCompilable` with the reason. */
export function planRows(mapper: Mapper, meta: EntityMetadata, plan: FieldPlan, options: RowPlanOptions = {}): RowPlan {
  const planner = new RowPlanner(mapper, options.isLimited ?? (() => false), options.embed ?? null);
  const table = readableTable(mapper, meta);
  const selection = new Selection(planner);
  const object = selection.object(plan, meta, rootTableAlias, null);
  const narrower = new Map(
    options.narrower?.map(({ key, plan: fewer }) => [key, selection.object(fewer, meta, rootTableAlias, null)] as const),
  );
  const subject = options.withSubject ? subjectOf(selection, meta) : 'nobody asked for one';
  const version = options.withVersion ? versionOf(meta) : null;
  const keyNames = keyColumns(mapper, meta);
  const keys = keyNames.map((name) => `${rootTableAlias}.${name}`);
  for (const key of keys) selection.add(key);
  const versionColumn = version && selection.addColumn(rootTableAlias, version);
  const rowVersion = options.withRowVersion
    ? versionColumns(mapper, meta, rootTableAlias).map((sql) => selection.add(sql))
    : null;
  planner.planMany(selection, null);
  const root = {
    columns: selection.columns,
    table: `${table} as ${rootTableAlias}`,
    joins: selection.joins,
    conditions: classConditions(mapper, meta, rootTableAlias),
    object,
    keys,
    keyNames,
    keyTypes: keyParts(meta).map(({ type }) => type),
    tableName: table,
    reads: (other: string) => selection.reads(other),
  };
  return { root, many: planner.many, subject, version: versionColumn, rowVersion, limited: planner.limited, narrower };
}

/** Makes the objects for voters and hooks from all columns of the root's table; a text is the reason why that is impossible. */
function subjectOf(selection: Selection, meta: EntityMetadata): MakeInstance | string {
  try {
    return planInstance(meta, selection.instanceColumns(rootTableAlias, null));
  } catch (error) {
    if (error instanceof NoInstance) return error.message;
    throw error;
  }
}
