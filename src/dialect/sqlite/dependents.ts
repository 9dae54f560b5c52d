import type { RequestEntityManager } from '../../database/mapper.ts';
import type { RemovedRows } from '../dialect.ts';

/** Rows that are removed at once. Fewer are left to the statement that removes what they refer to. */
const stepSize = 250;

/** Deeper rows are left to the statement that removes the rows above them, as are those that refer to each other in a circle. */
const mostLevels = 20;

/** What happens to rows of a table if a row that they refer to is removed. */
interface Reference {
  readonly table: string;
  readonly rule: 'CASCADE' | 'SET NULL';
  readonly columns: readonly string[];
  readonly target: string;
  readonly targetColumns: readonly string[];
}

/**
 * Removes the rows that SQLite would remove with some rows, and clears references, in steps: one statement would do all of it in one
 * turn of the event loop. The entity manager is in a transaction. If a step fails, the statement that removes the rows decides: only
 * it checks the constraints when all of them are gone.
 */
export async function removeDependents(em: RequestEntityManager, { condition, params, table }: RemovedRows): Promise<void> {
  const references = await referencesIn(em);
  const name = table.toLowerCase();
  if (!references.has(name)) return;
  const rows = await rowids(em, `select cast(rowid as text) as id from ${quoted(table)} where ${condition}`, params);
  if ((await fewerThan(em, references, name, rows, stepSize)) !== null) return;
  await em.execute('savepoint dependents', [], 'run');
  try {
    await removeBelow(em, references, name, rows, 1);
  } catch {
    await em.execute('rollback to dependents', [], 'run');
  }
  await em.execute('release dependents', [], 'run');
}

/**
 * The references that cascade or are cleared, by the table that they refer to. Those without an index are left out: each step would
 * read their whole table. So are tables without a `rowid`, and those in which it is another column.
 */
async function referencesIn(em: RequestEntityManager): Promise<ReadonlyMap<string, readonly Reference[]>> {
  const parts = await em.execute<Record<'child' | 'id' | 'from' | 'to' | 'target' | 'rule', string>[]>(
    `select m.name as child, f.id, f."from", f."to", f."table" as target, f.on_delete as rule
    from sqlite_master m, pragma_foreign_key_list(m.name) f, pragma_foreign_keys k
    where m.type = 'table' and k.foreign_keys and f.on_delete in ('CASCADE', 'SET NULL')
    and not exists (select 1 from pragma_table_info(m.name) where lower(name) = 'rowid')
    and not exists (select 1 from pragma_table_info(f."table") where lower(name) = 'rowid')
    and not exists (select 1 from pragma_table_list where schema = 'main' and wr and lower(name) in (lower(m.name), lower(f."table")))
    order by 1, 2, f.seq`,
  );
  const first = await em.execute<Record<'child' | 'name', string>[]>(
    `select m.name as child, i.name from sqlite_master m, pragma_index_list(m.name) l, pragma_index_info(l.name) i
    where m.type = 'table' and not l.partial and i.seqno = 0
    union select m.name, c.name from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table' and c.pk = 1`,
  );
  const indexed = new Set(first.map(({ child, name }) => JSON.stringify([child, name])));
  const all = [...Map.groupBy(parts, ({ child, id }) => JSON.stringify([child, id])).values()].flatMap((columns): Reference[] => {
    const [{ child, rule, target }] = columns as [(typeof parts)[number]];
    const isUsable = columns.every(({ to }) => to) && columns.some(({ from }) => indexed.has(JSON.stringify([child, from])));
    if (!isUsable) return [];
    const [own, others] = [columns.map(({ from }) => from), columns.map(({ to }) => to)];
    return [{ table: child, rule: rule as Reference['rule'], columns: own, target, targetColumns: others }];
  });
  return Map.groupBy(all, ({ target }) => target.toLowerCase());
}

/** The part of a number that the rows below some rows leave over; null if they are as many or more. */
async function fewerThan(
  em: RequestEntityManager,
  references: ReadonlyMap<string, readonly Reference[]>,
  table: string,
  above: readonly string[],
  most: number,
): Promise<number | null> {
  let rest = most;
  for (const reference of references.get(table) ?? []) {
    const found = await referring(em, reference, above, rest);
    rest -= found.length;
    if (rest <= 0) return null;
    if (found.length === 0 || reference.rule !== 'CASCADE') continue;
    const below = await fewerThan(em, references, reference.table.toLowerCase(), found, rest);
    if (below === null) return null;
    rest = below;
  }
  return rest;
}

async function removeBelow(
  em: RequestEntityManager,
  references: ReadonlyMap<string, readonly Reference[]>,
  table: string,
  above: readonly string[],
  level: number,
): Promise<void> {
  for (const reference of level > mostLevels ? [] : (references.get(table) ?? [])) {
    const own = quoted(reference.table);
    const change =
      reference.rule === 'CASCADE'
        ? `delete from ${own}`
        : `update ${own} set ${reference.columns.map((column) => `${quoted(column)} = null`).join(', ')}`;
    let before: string | undefined;
    for (;;) {
      const found = await referring(em, reference, above, stepSize);
      // a trigger can keep a row
      if (found.length === 0 || found[0] === before) break;
      [before] = found;
      if (reference.rule === 'CASCADE') await removeBelow(em, references, reference.table.toLowerCase(), found, level + 1);
      await em.execute(
        `${change} where rowid in (select cast(value as integer) from json_each(?))`,
        [JSON.stringify(found)],
        'run',
      );
    }
  }
}

/** The rows that refer to some rows, by their identifiers as text: these can exceed 2^53. */
function referring(
  em: RequestEntityManager,
  { columns, table, target, targetColumns }: Reference,
  above: readonly string[],
  limit: number,
): Promise<readonly string[]> {
  const isReferring = columns.map((column, i) => `c.${quoted(column)} = p.${quoted(targetColumns[i] as string)}`).join(' and ');
  // a cross join keeps the order of its tables
  const from = `json_each(?) k cross join ${quoted(target)} p on p.rowid = cast(k.value as integer) cross join ${quoted(table)} c on ${isReferring}`;
  return rowids(em, `select cast(c.rowid as text) as id from ${from} limit ${limit}`, [JSON.stringify(above)]);
}

async function rowids(em: RequestEntityManager, sql: string, params: readonly unknown[]): Promise<readonly string[]> {
  const rows = await em.execute<{ id: string }[]>(sql, [...params]);
  return rows.map(({ id }) => id);
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
