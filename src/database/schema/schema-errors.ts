import { databaseLabel } from '../database-label.ts';
import type { Difference } from './differences.ts';

/** Everything that keeps an application from using a database, one line each. */
export class SchemaErrors extends Error {
  readonly lines: readonly string[];
  /** How many there are, and where. */
  readonly summary: string;

  /** @param hint What else to know, such as pending migrations. */
  constructor(lines: readonly string[], url: string, hint: string | null = null) {
    const count = `${lines.length} ${lines.length === 1 ? 'difference' : 'differences'}`;
    const summary = `${count} between the models and the database ${databaseLabel(url)}; nothing was changed`;
    super([...lines, summary, ...(hint === null ? [] : [hint])].join('\n'));
    this.name = 'SchemaErrors';
    this.lines = lines;
    this.summary = summary;
  }
}

export function lineOf({ fault, remedy, subject }: Pick<Difference, 'fault' | 'remedy' | 'subject'>): string {
  return `${subject}: ${fault}; ${remedy}`;
}
