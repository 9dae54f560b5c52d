import type { SchemaMode } from '../../declaration/types.ts';
import { changesSince, type Migrated } from './create-migration.ts';
import { readFolder } from './folder.ts';
import { migrationStatus } from './history.ts';
import { MigrationError } from './migration-error.ts';
import { systemOf } from './snapshot.ts';

/** What to do about migrations that are pending or missing; null if there is nothing to do. */
export async function hintFor(migrated: Migrated, schema: SchemaMode): Promise<string | null> {
  const { directory, mapper } = migrated;
  const { files, shown } = readFolder(directory, systemOf(mapper));
  if (files.length === 0) return null;
  if (schema === 'update') {
    return `${shown} has migrations, and app_main.database.schema is update, which does not apply them; set it to migrate or check`;
  }
  const { pending } = await migrationStatus(mapper, directory);
  if (pending.length > 0) {
    const names = pending.map(({ name }) => name).join(', ');
    return `pending ${pending.length === 1 ? 'migration' : 'migrations'}: ${names}; apply with: declarest migrate up`;
  }
  return (await differ(migrated)) ? 'models and migrations differ; write a migration: declarest migrate create' : null;
}

async function differ(migrated: Migrated): Promise<boolean> {
  try {
    return (await changesSince(migrated)).length > 0;
  } catch (error) {
    // without its snapshot an application can still be deployed
    if (error instanceof MigrationError) return false;
    throw error;
  }
}
