import { dirname, join } from 'node:path';
import { discardRemedy } from '../../dialect/address.ts';
import type { Mapper, RequestEntityManager } from '../mapper.ts';
import { schemaComparison } from '../schema/compare.ts';
import { faultOf } from '../schema/schema-errors.ts';
import { isAddition } from '../schema/update.ts';
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

/** A database that has tables, but no applied migration. */
interface ExistingDatabase {
  readonly mapper: Mapper;
  readonly url: string;
  readonly em: RequestEntityManager;
  readonly tables: readonly string[];
  /** Whether the first migration is the only one. */
  readonly isOnly: boolean;
}

/** Refuses to run the first migration on a database that has its tables already. */
export async function refuseExisting(database: ExistingDatabase, file: MigrationFile): Promise<void> {
  const { em, mapper, tables } = database;
  const existing = (await createdBy(mapper, file, em)).filter((name) => tables.includes(name));
  if (existing.length === 0) return;
  const head = `no migration is applied, but the database already has tables that ${file.name} creates: ${existing.join(', ')}`;
  const gaps = await gapsIn(database, file);
  if (gaps.faults.length > 0) throw differs(`${head}. It does not have everything:`, gaps, database, file);
  throw new MigrationError(
    `${head}. Nothing was changed. If the schema was created without migrations, record the first one as applied: declarest migrate up --baseline`,
  );
}

/** Refuses to record the first migration if the database lacks something that it creates. */
export async function refuseDifferent(database: ExistingDatabase, file: MigrationFile): Promise<void> {
  const gaps = await gapsIn(database, file);
  if (gaps.faults.length === 0) return;
  const head = `${file.name} cannot be recorded as applied, because the database does not have what it creates:`;
  throw differs(head, gaps, database, file);
}

/** What a database lacks of the first migration. */
interface Gaps {
  readonly faults: readonly string[];
  /** Whether `schema: update` can add all of it. */
  readonly canBeAdded: boolean;
}

/** Missing tables. Without further migrations, the database must match the models. */
async function gapsIn({ em, isOnly, mapper, tables }: ExistingDatabase, file: MigrationFile): Promise<Gaps> {
  const differences = isOnly ? await schemaComparison(mapper)() : [];
  const canBeAdded = (await Promise.all(differences.map((one) => isAddition(mapper, one)))).every(Boolean);
  if (differences.length > 0) return { faults: differences.map(faultOf), canBeAdded };
  const missing = (await createdBy(mapper, file, em)).filter((name) => !tables.includes(name));
  return { faults: missing.map((name) => `the table ${name} does not exist`), canBeAdded };
}

function differs(
  head: string,
  { canBeAdded, faults }: Gaps,
  { mapper, url }: ExistingDatabase,
  { shown }: MigrationFile,
): MigrationError {
  const snapshot = join(dirname(shown), snapshotFile(systemOf(mapper)));
  return new MigrationError(
    [
      head,
      ...faults,
      'Nothing was changed. Choose one:',
      `- discard all data, for example in development: ${discardRemedy(url)}, then run "declarest migrate up"`,
      // update refuses to start for anything else, and would send its user back here
      canBeAdded
        ? '- change the database: by hand, or start once with app_main.database.schema set to update, which adds missing tables and columns; then run "declarest migrate up --baseline"'
        : '- change the database by hand, then run "declarest migrate up --baseline"',
      `- change the models: remove ${shown} and ${snapshot}, declare the models as the database has them, and run "declarest migrate create" and "declarest migrate up --baseline"; make further changes in a second migration`,
    ].join('\n'),
  );
}
