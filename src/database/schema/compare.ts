import { dialectOf } from '../../dialect/dialect.ts';
import type { Statement } from '../executor.ts';
import type { Mapper } from '../mapper.ts';
import { type Difference, differencesOf } from './differences.ts';
import { wantedTables } from './wanted-tables.ts';

/** Runs a statement and returns the text in the first column of its first row. */
export type ReadText = (statement: Statement) => Promise<string>;

/** Compares the models of an application with its database, by one statement. */
export function schemaComparison(mapper: Mapper): (read?: ReadText) => Promise<readonly Difference[]> {
  const { schema } = dialectOf(mapper);
  const wanted = wantedTables(mapper);
  const statement: Statement = { name: 'declarest_catalogue', text: schema.catalogue(wanted), wide: false };
  return async (read = (one) => readByMapper(mapper, one)) => differencesOf(mapper, wanted, schema.tables(await read(statement)));
}

async function readByMapper(mapper: Mapper, { text }: Statement): Promise<string> {
  const [row] = await mapper.em.fork().execute(text);
  return (row as { catalogue: string }).catalogue;
}
