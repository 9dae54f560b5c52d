import type { SchemaMode } from '../../declaration/types.ts';
import { changesSince, type Migrated } from './create-migration.ts';
import { type MigrationFile, readFolder } from './folder.ts';
import { migrationStatus } from './history.ts';
import { MigrationError } from './migration-error.ts';
import { systemOf } from './snapshot.ts';

/** A hint about pending or missing migrations; null if there is nothing to do. */
export async function hintFor(migrated: Migrated, schema: SchemaMode): Promise<string | null> {
  const { directory, mapper } = migrated;
  const { files, shown } = readFolder(directory, systemOf(mapper));
  if (files.length === 0) return null;
  if (schema === 'update') {
    return `${shown} has migrations, and app_main.database.schema is update, which does not apply them; set it to migrate or check`;
  }
  const { pending } = await migrationStatus(mapper, directory);
  if (pending.length > 0) return applyPending(pending);
  return (await differ(migrated)) ? ahead : null;
}

const ahead = 'models and migrations differ; write a migration: declarest migrate create';

function applyPending(pending: readonly MigrationFile[]): string {
  const names = pending.map(({ name }) => name).join(', ');
  return `pending ${pending.length === 1 ? 'migration' : 'migrations'}: ${names}; apply with: declarest migrate up`;
}

/** The fix for a database that does not match the models; null if the application has no migrations. */
export async function remedyFor(migrated: Migrated): Promise<string | null> {
  const { directory, mapper } = migrated;
  const { files, shown } = readFolder(directory, systemOf(mapper));
  if (files.length === 0) return null;
  const { missing, pending } = await migrationStatus(mapper, directory);
  if (pending.length > 0) return applyPending(pending);
  // a migration that adds what a newer version has dropped would undo the migration of that version
  if (missing.length > 0)
    return `the database has migrations that this version of the application does not: ${missing.join(', ')}; start the version that has them`;
  const isAhead = await differ(migrated);
  if (isAhead) return `${ahead}, then apply it: declarest migrate up`;
  return isAhead === null
    ? `every migration is applied, and ${shown} has no snapshot. Run "declarest migrate check" where migrations are written, to see whether the models need another one`
    : 'every migration is applied, so the database was changed in another way. Undo that change by hand, ' +
        'or write a migration that does: declarest migrate create --empty --name repair';
}

/** Whether models and migrations differ; null if that is unknown, because an application can be deployed without its snapshot. */
async function differ(migrated: Migrated): Promise<boolean | null> {
  try {
    return (await changesSince(migrated)).length > 0;
  } catch (error) {
    if (error instanceof MigrationError) return null;
    throw error;
  }
}
