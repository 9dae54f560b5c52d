import { LruCache } from '../../database/lru-cache.ts';
import { type StatementWatch, timed } from '../../database/statement-watch.ts';
import type { Step, Writer } from '../../database/writer.ts';
import type { SqliteFileDialect } from './kysely-dialect.ts';
import { PreparedReads } from './reads/prepared-reads.ts';
import { hasConsequences } from './reads/read-plan.ts';
import { NoThreads, type ReaderThreads } from './reads/reader-threads.ts';

const planCacheSize = 500;

/**
 * Runs prepared statements on the writing connection, in turn with all other writers; or in a thread, if a change may take long.
 */
export function sqliteWriter(
  dialect: Pick<SqliteFileDialect, 'init' | 'isReadOnly' | 'threads' | 'turn' | 'write' | 'writer' | 'writesUnderWay'>,
  watch: StatementWatch = {},
): Writer {
  let prepared: PreparedReads | null = null;
  const plans = new LruCache<boolean>(planCacheSize);

  function change(steps: readonly Step[]): Promise<unknown[][]> {
    return dialect.write((db) => {
      // statements belong to the connection that they were prepared on
      if (prepared?.db !== db) prepared = new PreparedReads(db, 'arrays', { watch });
      let rows: unknown[][] = [];
      for (const { statement, parameters, mayBeEmpty } of steps) {
        rows = prepared.rows(statement, typeof parameters === 'function' ? parameters(rows) : parameters);
        if (rows.length === 0 && !mayBeEmpty) break;
      }
      return rows;
    });
  }

  const mayTakeLong = ({ mayTakeLong: isExpected, statement: { name, text } }: Step) =>
    isExpected || plans.get(name, () => hasConsequences(text, dialect.writer));

  return {
    async change(steps) {
      await dialect.init();
      if (!dialect.threads || dialect.isReadOnly || !steps.some(mayTakeLong)) return change(steps);
      await dialect.turn.take();
      try {
        return await timed(watch, () => changeInThread(dialect.threads as ReaderThreads, steps));
      } catch (error) {
        if (!(error instanceof NoThreads)) throw error;
      } finally {
        dialect.turn.give();
      }
      return change(steps);
    },
    underWay: () => dialect.writesUnderWay,
    // the connection is the mapper's, which closes it
    close: async () => undefined,
  };
}

async function changeInThread(threads: ReaderThreads, steps: readonly Step[]): Promise<unknown[][]> {
  const thread = threads.take();
  try {
    await threads.ask(thread, { write: 'begin immediate' });
    let rows: unknown[][] = [];
    for (const { statement, parameters, mayBeEmpty } of steps) {
      const values = typeof parameters === 'function' ? parameters(rows) : parameters;
      rows = (await threads.ask(thread, { write: { statement, parameters: values, as: 'arrays' } })) as unknown[][];
      if (rows.length === 0 && !mayBeEmpty) break;
    }
    await threads.ask(thread, { write: 'commit' });
    return rows;
  } catch (error) {
    await threads.ask(thread, { write: 'rollback' }).catch(() => undefined);
    throw error;
  } finally {
    threads.giveBack(thread);
  }
}
