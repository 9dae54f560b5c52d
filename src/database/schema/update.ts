import { discardRemedy } from '../../dialect/address.ts';
import { dialectOf, type Seed } from '../../dialect/dialect.ts';
import type { Mapper, RequestEntityManager } from '../mapper.ts';
import { additionsTo } from './additions.ts';
import type { WantedColumn } from './catalogue.ts';
import { schemaComparison } from './compare.ts';
import { type Difference, hasDefault } from './differences.ts';
import { faultOf, lineOf, SchemaErrors } from './schema-errors.ts';

export interface UpdateOptions {
  readonly seed: Seed;
  /** Extensions that indexes of a PostgreSQL database need. */
  readonly extensions: readonly string[];
  /** Called with each statement after all of them are committed. */
  readonly onStatement: (sql: string) => void;
  /** The address of the database, for messages. */
  readonly url: string;
}

/** The statements of an update, and the differences that it cannot fix. */
interface Plan {
  readonly statements: readonly string[];
  readonly refusals: readonly string[];
  /** Whether a new column is required, and existing rows have no value for it. */
  readonly needsValues: boolean;
}

/**
 * Adds tables, columns and indexes that the models have and the database lacks, and seeds a new database. If anything else is
 * needed or an addition fails, nothing is changed, and one error with all such problems is thrown.
 */
export async function updateSchema(mapper: Mapper, { extensions, onStatement, seed, url }: UpdateOptions): Promise<void> {
  const { schema } = dialectOf(mapper);
  const compare = schemaComparison(mapper);
  const plan = async (): Promise<Plan> => {
    const others: Difference[] = [];
    for (const difference of await compare()) if (!(await isAddition(mapper, difference))) others.push(difference);
    const excepted = others.flatMap(({ column, kind, table }) =>
      column && kind === 'column' ? [{ table, column: column.name }] : [],
    );
    return {
      statements: await additionsTo(mapper, excepted),
      refusals: others.map((one) => (isRequired(one) ? `${faultOf(one)}; rows exist and would have no value` : lineOf(one))),
      needsValues: others.some(isRequired),
    };
  };
  let ran: readonly string[] = [];
  await schema.change(mapper, plan, async (em, { needsValues, refusals, statements }, isNew) => {
    const wanted = [...(await schema.missingExtensions(em, extensions)), ...statements];
    const failures = [...refusals];
    for (const sql of wanted) failures.push(...(await trial(em, sql)));
    if (failures.length > 0) throw new SchemaErrors(failures, url, needsValues ? valuesRemedy(url) : null);
    if (isNew) await seed?.(em);
    ran = wanted;
  });
  for (const sql of ran) onStatement(sql);
}

/** Runs a statement in a savepoint, so that the transaction can continue if it fails. Returns the error. */
async function trial(em: RequestEntityManager, sql: string): Promise<string[]> {
  await em.execute('savepoint addition');
  try {
    await em.execute(sql);
    await em.execute('release savepoint addition');
    return [];
  } catch (error) {
    await em.execute('rollback to savepoint addition');
    const cause = ((error as { previous?: Error }).previous ?? (error as Error)).message.replace(/\s*\n\s*/g, ' ');
    return [`${sql} failed: ${cause}; change the rows or the table first`];
  }
}

/** Whether an update can add what is missing. */
export async function isAddition(mapper: Mapper, { column, kind, table }: Difference): Promise<boolean> {
  if (kind === 'table') return true;
  if (kind !== 'column' || table.isView || !column) return false;
  return !needsRows(column) || !(await hasRows(mapper, table));
}

/** Whether existing rows would have no value in a new column. */
function needsRows(column: WantedColumn): boolean {
  return !column.nullable && !hasDefault(column) && !column.generated && !column.autoincrement;
}

async function hasRows(mapper: Mapper, { name, schema }: Difference['table']): Promise<boolean> {
  const platform = mapper.driver.getPlatform();
  const parts = schema === null ? [name] : [schema, name];
  const table = parts.map((part) => platform.quoteIdentifier(part)).join('.');
  return (await mapper.em.fork().execute(`select 1 from ${table} limit 1`)).length > 0;
}

/** Whether a difference that cannot be added is a new and required column of a table with rows. */
function isRequired({ kind, table }: Difference): boolean {
  return kind === 'column' && !table.isView;
}

function valuesRemedy(url: string): string {
  return [
    'Existing rows need a value in every new required column. Choose one:',
    `- discard all data, for example in development: ${discardRemedy(url)}, then start again`,
    '- give the property a default',
    '- make the property nullable, start again, set its value in every row, then make it required',
  ].join('\n');
}
