import { readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Migration } from '@mikro-orm/migrations';
import { resolveFromHere } from '../../declaration/modules/module-resolution.ts';
import { withPackage } from '../../dialect/missing-package.ts';
import { MigrationError } from './migration-error.ts';

/** Database systems: their names in files and folders, with those in messages. */
export const systems = { sqlite: 'SQLite', postgresql: 'PostgreSQL' } as const;

export interface MigrationFile {
  /** The file name without its extension, as it is recorded in the database. */
  readonly name: string;
  readonly path: string;
  /** The path from the application's directory. */
  readonly shown: string;
}

/** The folder of an application's migrations. */
export interface MigrationFolder {
  readonly path: string;
  readonly shown: string;
  /** In the order of their names. */
  readonly files: readonly MigrationFile[];
}

/** The folder `migrations`, or its subfolder that is named after the database system. */
export function readFolder(directory: string, system: string): MigrationFolder {
  const common = join(directory, 'migrations');
  const own = join(common, system);
  const path = statSync(own, { throwIfNoEntry: false })?.isDirectory() ? own : common;
  const files = new Map<string, MigrationFile>();
  // a TypeScript source comes after its compiled file, and replaces it
  for (const file of namesIn(path).filter((name) => /(?<!\.d)\.m?[jt]s$/.test(name))) {
    const name = file.replace(/\.m?[jt]s$/, '');
    files.set(name, { name, path: join(path, file), shown: relative(directory, join(path, file)) });
  }
  return { path, shown: `${relative(directory, path)}/`, files: [...files.values()].sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

type MigrationClass = new (...parameters: ConstructorParameters<typeof Migration>) => Migration;

/** The class that a migration exports. */
export async function loadMigration({ path, shown }: MigrationFile): Promise<MigrationClass> {
  resolveFromHere();
  let exported: Record<string, unknown>;
  try {
    exported = await withPackage('@mikro-orm/migrations', 'a migration', () => import(pathToFileURL(path).href));
  } catch (error) {
    throw new MigrationError(`${shown} cannot be loaded: ${(error as Error)?.message ?? error}`, { cause: error });
  }
  const found = Object.values(exported).find(
    (value): value is MigrationClass => typeof value === 'function' && typeof value.prototype?.up === 'function',
  );
  if (!found) throw new MigrationError(`${shown} must export a class that extends Migration of @mikro-orm/migrations`);
  return found;
}
