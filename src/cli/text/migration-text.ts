import { databaseLabel } from '../../database/database-label.ts';
import type { MigrationStatus } from '../../database/migrations/history.ts';
import { aligned } from './layout.ts';

/** A line for each applied and pending migration, then their problems. */
export function statusLines({ applied, folder, late, missing, pending }: MigrationStatus, url: string, create: string): string[] {
  const rows = [
    ...applied.map(({ appliedAt, name }) => ['applied', name, appliedAt]),
    ...pending.map(({ name }) => ['pending', name, '']),
  ];
  return [
    ...aligned(rows, '').map((line) => line.trimEnd()),
    ...missing.map((name) => `missing: ${name} is applied, but it is not in ${folder}`),
    ...late.map((name) => `out of order: ${name} is pending, and older than a migration that is applied`),
    `${databaseLabel(url)}: ${applied.length} applied, ${pending.length} pending`,
    ...(rows.length === 0 ? [`${folder} has no migration; write the first one: ${create}`] : []),
  ];
}

export function statusReport({ applied, late, missing, pending }: MigrationStatus) {
  return { applied, pending: pending.map(({ name }) => name), missing, late };
}
