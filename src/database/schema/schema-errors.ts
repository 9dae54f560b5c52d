import { databaseLabel } from '../database-label.ts';
import type { Difference } from './differences.ts';

/**
 * The message for the log at run time. It has no fix for each difference: adding a column that a newer version has dropped would
 * undo the migration of that version.
 */
export const outOfDate =
  'the database does not match the models of this process. If a newer version has migrated the database, replace this process; otherwise migrate the database';

/** Everything that keeps an application from using a database, one line each. */
export class SchemaErrors extends Error {
  readonly lines: readonly string[];
  /** The number of differences, and the database. */
  readonly summary: string;

  /** @param remedy The fix, if it is the same for all of them. */
  constructor(lines: readonly string[], url: string, remedy: string | null = null) {
    const count = `${lines.length} ${lines.length === 1 ? 'difference' : 'differences'}`;
    const summary = `${count} between the models and the database ${databaseLabel(url)}; nothing was changed`;
    super([...lines, summary, ...(remedy === null ? [] : [remedy])].join('\n'));
    this.name = 'SchemaErrors';
    this.lines = lines;
    this.summary = summary;
  }
}

export function lineOf({ remedy, ...difference }: Pick<Difference, 'fault' | 'remedy' | 'subject'>): string {
  return `${faultOf(difference)}; ${remedy}`;
}

/** A difference without a remedy. */
export function faultOf({ fault, subject }: Pick<Difference, 'fault' | 'subject'>): string {
  return `${subject}: ${fault}`;
}
