import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseDeclaration, SchemaMode } from '../declaration/types.ts';
import { dialectOf, type Seed } from '../dialect/dialect.ts';
import type { Mapper } from './mapper.ts';

export interface PreparationOptions {
  /** The application's directory, with its migrations. Default: the working directory. */
  readonly directory?: string;
  readonly seed: Seed;
  /** Extensions that indexes of a PostgreSQL database need. */
  readonly extensions?: readonly string[] | undefined;
  /** Called with each statement that changed the schema. */
  readonly onStatement?: ((sql: string) => void) | undefined;
  /** Called with each line about migrations: progress and warnings. */
  readonly onNews?: ((line: string) => void) | undefined;
}

/** Prepares the database as `database.schema` says, and seeds a new one. Throws if the database cannot be used. */
export async function prepareDatabase(mapper: Mapper, database: DatabaseDeclaration, options: PreparationOptions): Promise<void> {
  await mapper.connect();
  // a missing database fails the start, not the first request
  if (database.schema === 'none' || database.readOnly) await mapper.em.fork().execute('select 1');
  if (database.readOnly) return;
  const schema = await schemaMode(mapper, database, options);
  if (schema === 'update') await updateDatabase(mapper, database, options);
  if (schema === 'migrate') {
    const { applyMigrations } = await import('./migrations/apply.ts');
    await applyMigrations({ directory: '.', ...options, mapper, database });
  }
  if (schema === 'check' || schema === 'migrate') await checkSchema(mapper, database, options);
  const hint = await migrationHint(mapper, database, options);
  if (hint !== null) options.onNews?.(`warning: ${hint}`);
}

/** A database that accepts no changes, such as a replica, is compared with the models instead. */
async function schemaMode(mapper: Mapper, { schema }: DatabaseDeclaration, { onNews }: PreparationOptions): Promise<SchemaMode> {
  if ((schema !== 'update' && schema !== 'migrate') || !(await dialectOf(mapper).connections.isReadOnly(mapper))) return schema;
  onNews?.(`warning: the database accepts no changes, so schema: check is used instead of ${schema}`);
  return 'check';
}

async function updateDatabase(
  mapper: Mapper,
  { url }: DatabaseDeclaration,
  { extensions = [], onStatement = () => undefined, seed }: PreparationOptions,
): Promise<void> {
  if (await dialectOf(mapper).schema.isAsCreated(mapper)) return;
  const { updateSchema } = await import('./schema/update.ts');
  await updateSchema(mapper, { extensions, onStatement, seed, url });
}

/** A warning about pending or missing migrations; null if there is nothing to do. */
async function migrationHint(
  mapper: Mapper,
  { schema }: DatabaseDeclaration,
  { directory = '.', extensions = [] }: PreparationOptions,
): Promise<string | null> {
  if (!hasMigrations(directory)) return null;
  const { hintFor } = await import('./migrations/hint.ts');
  return hintFor({ mapper, directory, extensions }, schema);
}

function hasMigrations(directory: string): boolean {
  return existsSync(join(directory, 'migrations'));
}

/** Throws one error with everything that the models need and the database lacks, and with the fix. */
async function checkSchema(
  mapper: Mapper,
  { url }: DatabaseDeclaration,
  { directory = '.', extensions = [] }: PreparationOptions,
): Promise<void> {
  const { schemaComparison } = await import('./schema/compare.ts');
  const differences = await schemaComparison(mapper)();
  if (differences.length === 0) return;
  const { faultOf, lineOf, SchemaErrors } = await import('./schema/schema-errors.ts');
  if (hasMigrations(directory)) {
    const { remedyFor } = await import('./migrations/hint.ts');
    const remedy = await remedyFor({ mapper, directory, extensions });
    if (remedy !== null) throw new SchemaErrors(differences.map(faultOf), url, remedy);
  }
  throw new SchemaErrors(differences.map(lineOf), url);
}
