import { dirname, join } from 'node:path';
import type { Mapper, RequestEntityManager } from '../mapper.ts';
import { schemaComparison } from '../schema/compare.ts';
import { faultOf } from '../schema/schema-errors.ts';
import type { MigrationFile } from './folder.ts';
import { MigrationError } from './migration-error.ts';
import { openMigration, statementsIn } from './run-migration.ts';
import { snapshotFile, systemOf } from './snapshot.ts';

const creation = /\bcreate table (?:if not exists )?((?:["`]?[^\s"`(.]+["`]?\.)?["`]?[^\s"`(]+["`]?)/gi;

/** The tables that a migration creates. */
async function createdBy(mapper: Mapper, file: MigrationFile, em: RequestEntityManager): Promise<string[]> {
  const statements = await statementsIn(await openMigration(mapper, file), file, 'up', em);
  return statements.flatMap((sql) =>
    typeof sql === 'string'
      ? [...sql.matchAll(creation)].map(([, name = '']) => name.replace(/["`]/g, '').split('.').at(-1) as string)
      : [],
  );
}

/** Refuses to run the first migration on a database that has its tables already. */
export async function refuseExisting(
  mapper: Mapper,
  file: MigrationFile,
  em: RequestEntityManager,
  tables: readonly string[],
): Promise<void> {
  const existing = (await createdBy(mapper, file, em)).filter((name) => tables.includes(name));
  if (existing.length === 0) return;
  throw new MigrationError(
    `no migration is applied, but the database already has tables that ${file.name} creates: ${existing.join(', ')}. Nothing was changed. ` +
      'If the schema was created without migrations, record the first one as applied: declarest migrate up --baseline',
  );
}

/** Refuses to record a migration if the database lacks a table that it creates. */
export async function refuseMissing(
  mapper: Mapper,
  file: MigrationFile,
  em: RequestEntityManager,
  tables: readonly string[],
): Promise<void> {
  const missing = (await createdBy(mapper, file, em)).filter((name) => !tables.includes(name));
  if (missing.length === 0) return;
  throw notAsRecorded(
    file,
    missing.map((name) => `the table ${name} does not exist`),
    systemOf(mapper),
  );
}

/** Refuses to record the only migration if the database lacks something that the models need. */
export async function refuseDifferent(mapper: Mapper, file: MigrationFile): Promise<void> {
  const differences = await schemaComparison(mapper)();
  if (differences.length > 0) throw notAsRecorded(file, differences.map(faultOf), systemOf(mapper));
}

function notAsRecorded({ name, shown }: MigrationFile, faults: readonly string[], system: string): MigrationError {
  const snapshot = join(dirname(shown), snapshotFile(system));
  return new MigrationError(
    [
      `${name} cannot be recorded as applied, because the database does not have what it creates:`,
      ...faults,
      'Nothing was changed. Make the two match, then run the command again:',
      '- change the database: by hand, or start once with app_main.database.schema set to update, which adds missing tables and columns',
      `- change the models: remove ${shown} and ${snapshot}, declare the models as the database has them, and run "declarest migrate create"; make further changes in a second migration`,
    ].join('\n'),
  );
}
