import type { DatabaseDeclaration } from '../declaration/types.ts';
import { dialectName } from './address.ts';
import type { DialectSetup } from './dialect.ts';
import { withPackage } from './missing-package.ts';

/** Chooses a dialect by the URL of the database. Only the driver in use is loaded. */
export async function chooseDialect(database: DatabaseDeclaration, directory: string): Promise<DialectSetup> {
  if (dialectName(database.url) === 'sqlite') {
    const { setUpSqlite } = await import('./sqlite/dialect.ts');
    return setUpSqlite(database, directory);
  }
  const { setUpPostgres } = await withPackage('@mikro-orm/postgresql', 'PostgreSQL', () => import('./postgresql/dialect.ts'));
  return setUpPostgres(database);
}
