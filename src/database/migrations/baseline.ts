import type { Mapper, RequestEntityManager } from '../mapper.ts';
import { schemaComparison } from '../schema/compare.ts';
import { lineOf } from '../schema/schema-errors.ts';
import type { MigrationFile } from './folder.ts';
import { MigrationError } from './migration-error.ts';
import { openMigration, statementsIn } from './run-migration.ts';

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
  const there = (await createdBy(mapper, file, em)).filter((name) => tables.includes(name));
  if (there.length === 0) return;
  throw new MigrationError(
    `no migration is applied, but the database already has tables that ${file.name} creates: ${there.join(', ')}. Nothing was changed. ` +
      'If the schema was made without migrations, record the first one as applied: declarest migrate up --baseline',
  );
}

/** Checks that a database has every table that a migration would create. */
export async function tablesOf(
  mapper: Mapper,
  file: MigrationFile,
  em: RequestEntityManager,
  tables: readonly string[],
): Promise<void> {
  const missing = (await createdBy(mapper, file, em)).filter((name) => !tables.includes(name));
  if (missing.length === 0) return;
  throw new MigrationError(
    `${file.name} cannot be recorded as applied: the database has no table ${missing.join(', ')}. Nothing was changed`,
  );
}

/** Refuses a database that does not have what the models need. */
export async function refuseDifferent(mapper: Mapper): Promise<void> {
  const differences = await schemaComparison(mapper)();
  if (differences.length === 0) return;
  throw new MigrationError(
    [
      'the database differs from the models, so that no migration can be recorded:',
      ...differences.map(lineOf),
      'nothing was changed',
    ].join('\n'),
  );
}
