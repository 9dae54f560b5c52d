import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadDefault } from '../../declaration/modules/modules.ts';
import type { Report } from '../../declaration/report.ts';
import type { Source } from '../../declaration/source.ts';
import { type OrmSetup, readOrm } from './read-orm.ts';

export interface DeclaredOrm extends OrmSetup {
  /** The module of the configuration without its extension, for qualified names of models. */
  readonly name: string;
}

/**
 * The existing MikroORM application that an application uses: an instance, or the configuration at `app_main.orm`. Null if it
 * cannot be used; then the report has the reason.
 */
export async function declaredOrm(
  instance: unknown,
  source: Source,
  directory: string,
  report: Report,
): Promise<DeclaredOrm | null> {
  const at = ['app_main', 'orm'];
  const { database, orm } = (source.value.app_main ?? {}) as { database?: { url?: unknown }; orm?: unknown };
  const file = typeof orm === 'string' ? orm : null;
  if (instance !== undefined && file !== null)
    report.add(at, 'the application was given a MikroORM instance as well; remove app_main.orm, or the option "orm"');
  if (typeof database === 'object' && database !== null && database.url !== undefined)
    report.add(['app_main', 'database', 'url'], 'the MikroORM configuration has the database; remove database.url, or orm');
  try {
    const given = instance ?? (await loadConfig(directory, file as string));
    return {
      ...(await readOrm(given, { directory, prefersTs: /ts$/.test(file ?? '') })),
      name: (file ?? 'orm').replace(/\.[^.]+$/, ''),
    };
  } catch (error) {
    report.add(at, `${file ?? 'orm'} cannot be used: ${(error as Error).message}`);
    return null;
  }
}

/** The default export of a configuration module; a function is called. */
async function loadConfig(directory: string, file: string): Promise<unknown> {
  if (!existsSync(resolve(directory, file))) throw new Error(`the file does not exist in ${directory}`);
  const value = await loadDefault(directory, file);
  if (value === undefined) throw new Error('it must have a default export: export default defineConfig({ … })');
  return typeof value === 'function' ? value() : value;
}
