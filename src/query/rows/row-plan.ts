import type { EntityMetadata } from '@mikro-orm/core';
import type { Mapper } from '../../database/mapper.ts';
import type { FieldPlan } from '../../model/field-plan.ts';
import { versionOf } from '../../model/version.ts';
import { classConditions, keyColumn } from './association.ts';
import { type MakeInstance, NoInstance } from './instance.ts';
import { planInstance } from './instance-plan.ts';
import { type Embed, type ManySelection, RowPlanner, type RowSelection, readableTable, Selection } from './row-selection.ts';
import { versionColumns } from './row-version.ts';

/** The rows that a plan is about. */
export interface RootSelection extends RowSelection {
  /** The column of their key, */
  readonly key: string;
  /** and its name alone. */
  readonly keyName: string;
  /** The name of their table. */
  readonly tableName: string;
  /** Whether the selection reads a table, or can read it, other than as these rows. */
  reads(table: string): boolean;
}

/** Everything that is fetched for a field plan: a fixed number of statements. */
export interface RowPlan {
  readonly root: RootSelection;
  readonly many: readonly ManySelection[];
  /** Makes the object that voters and hooks are shown; a text says why none can be made. */
  readonly subject: MakeInstance | string;
  /** The column that holds the version of the root's rows; null where they have none, or nobody asked for it. */
  readonly version: number | null;
  /** The columns that tell later whether a row of the root was changed; null where nobody asked for them. */
  readonly rowVersion: readonly number[] | null;
  /** The classes whose rows are embedded only where the caller sees them, by the number of their set of keys. */
  readonly limited: readonly EntityMetadata[];
}

/** What a row plan is for, beyond its fields. */
export interface RowPlanOptions {
  /** Whether rows are made objects, for somebody to judge. */
  readonly withSubject?: boolean;
  /** Whether the version of a row is wanted, be it shown or not. */
  readonly withVersion?: boolean;
  /** Whether it is wanted what tells later whether a row was changed. */
  readonly withRowVersion?: boolean;
  /** Whether rows of exactly this class can be hidden from a caller, so that it takes a decision to embed them. */
  readonly isLimited?: (meta: EntityMetadata) => boolean;
  /** Serializes what code of a model gives; without it, such fields need entities. */
  readonly embed?: Embed | undefined;
}

export const rootTableAlias = 'e';

/** Makes the plan by which rows become JSON without entities, or throws `NotCompilable` with the reason. */
export function planRows(mapper: Mapper, meta: EntityMetadata, plan: FieldPlan, options: RowPlanOptions = {}): RowPlan {
  const planner = new RowPlanner(mapper, options.isLimited ?? (() => false), options.embed ?? null);
  const table = readableTable(mapper, meta);
  const selection = new Selection(planner);
  const object = selection.object(plan, meta, rootTableAlias, null);
  const subject = options.withSubject ? subjectOf(selection, meta) : 'nobody asked for one';
  const version = options.withVersion ? versionOf(meta) : null;
  const keyName = keyColumn(mapper, meta);
  const key = `${rootTableAlias}.${keyName}`;
  selection.add(key);
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
    key,
    keyName,
    tableName: table,
    reads: (other: string) => selection.reads(other),
  };
  return { root, many: planner.many, subject, version: versionColumn, rowVersion, limited: planner.limited };
}

/** Makes the objects that voters are shown, from all columns of the root's own table; a text says why there are none. */
function subjectOf(selection: Selection, meta: EntityMetadata): MakeInstance | string {
  try {
    return planInstance(meta, selection.instanceColumns(rootTableAlias, null));
  } catch (error) {
    if (error instanceof NoInstance) return error.message;
    throw error;
  }
}
