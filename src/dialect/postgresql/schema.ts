import type { Mapper, RequestEntityManager } from '../../database/mapper.ts';
import { additionsTo } from '../../database/schema-additions.ts';
import type { DatabaseDeclaration } from '../../declaration/types.ts';
import type { SchemaTools, Seed } from '../dialect.ts';

export function postgresSchema(database: DatabaseDeclaration): SchemaTools {
  return Object.freeze<SchemaTools>({
    prepare: (mapper, seed, extensions) => prepareAlone(database, () => prepare(mapper, seed, extensions)),
    // two processes that create one table or index conflict in spite of "if not exists"
    async lockTable(em, table) {
      await em.execute('select pg_advisory_xact_lock(hashtext(?), hashtext(current_schema()))', [table]);
    },
    collation,
  });
}

async function collation(em: RequestEntityManager): Promise<string> {
  const [found] = await em.execute(
    "select lower('Ä') = 'ä' as own, exists (select 1 from pg_collation where collname = 'und-x-icu') as icu",
  );
  const { icu, own } = found as { icu: boolean; own: boolean };
  return own || !icu ? '' : ' collate "und-x-icu"';
}

async function prepare(mapper: Mapper, seed: Seed, extensions: readonly string[]): Promise<void> {
  const sql = await withoutLoss(await additionsTo(mapper), mapper);
  await mapper.em.fork().transactional(async (em) => {
    const tables = await em.execute('select 1 from information_schema.tables where table_schema = current_schema() limit 1');
    for (const extension of extensions) await em.execute(`create extension if not exists ${extension}`);
    if (sql.trim() !== '') await em.execute(sql);
    if (tables.length === 0) await seed?.(em);
  });
}

/** Processes that start together wait for one another. The lock goes with its connection, however the process ends. */
async function prepareAlone({ url, connectTimeout }: DatabaseDeclaration, prepare: () => Promise<void>): Promise<void> {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectTimeout });
  // a connection that breaks takes its lock with it, and what is done under it fails by itself
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query("select pg_advisory_lock(hashtext('declarest'), hashtext(current_schema()))");
    await prepare();
  } finally {
    await client.end();
  }
}

const typeChange = /^alter table (\S+) alter column ("[^"]+") type (.+?)(?: using .*)?;$/gm;
const integers = ['smallint', 'integer', 'bigint'];
const texts = ['character varying', 'text'];

/**
 * What the mapper calls safe drops nothing, but it casts a column to another type, which may cut its values. Here a type
 * is only widened; a column that is wider than the model stays so, and any other change of type is refused.
 */
async function withoutLoss(sql: string, mapper: Mapper): Promise<string> {
  let kept = sql;
  for (const [statement, table = '', column = '', type = ''] of sql.matchAll(typeChange)) {
    const [name, schema] = table.replaceAll('"', '').split('.').reverse();
    const [current] = await mapper.em.fork().execute(
      `select data_type as type, character_maximum_length as length from information_schema.columns
       where table_schema = coalesce(?, current_schema()) and table_name = ? and column_name = ?`,
      [schema ?? null, name, column.replaceAll('"', '')],
    );
    const change = changeOf(current as { type: string; length: number | null }, type);
    if (change === 'refused') {
      throw new Error(
        `the column ${table}.${column} is of the type ${current?.type} and its model wants ${type}; such a change may lose data ` +
          'and is never made at start: make it yourself, or set app_main.database.schema to none',
      );
    }
    kept = kept.replace(statement, change === 'widened' ? `alter table ${table} alter column ${column} type ${type};` : '');
  }
  return kept;
}

function changeOf(current: { type: string; length: number | null }, wanted: string): 'widened' | 'kept' | 'refused' {
  const [, word = '', size] = /^([a-z ]+)(?:\((\d+)\))?$/i.exec(wanted) ?? [];
  const type = { int: 'integer', varchar: 'character varying' }[word] ?? word;
  if (integers.includes(type) && integers.includes(current.type)) {
    return integers.indexOf(type) > integers.indexOf(current.type) ? 'widened' : 'kept';
  }
  if (!texts.includes(type) || !texts.includes(current.type)) return 'refused';
  const lengthOf = (length: unknown) => (length === undefined || length === null ? Number.POSITIVE_INFINITY : Number(length));
  return lengthOf(size) >= lengthOf(current.length) ? 'widened' : 'kept';
}
