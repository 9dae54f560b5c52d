import { dialectOf } from '../dialect/dialect.ts';
import type { Cursors } from './cursor.ts';
import type { Executor } from './executor.ts';
import type { Mapper } from './mapper.ts';
import { awaited, type StatementWatch } from './statement-watch.ts';
import type { Writer } from './writer.ts';

/** What sends the compiled statements of an application; only the driver in use is loaded. */
export async function createExecutor(mapper: Mapper, watch: StatementWatch): Promise<Executor> {
  const executor = await dialectOf(mapper).connections.executor(watch);
  return watch.sent || watch.waits ? { ...executor, rows: watchedRows(executor.rows, watch) } : executor;
}

/** What opens the cursors of an application's exports. It is made, and its driver loaded, when the first of them is asked for. */
export function createCursors(mapper: Mapper, watch: StatementWatch): Cursors {
  let made: Promise<Cursors> | null = null;
  return {
    async open(statement, parameters, size) {
      made ??= dialectOf(mapper).connections.cursors(watch);
      watch.sent?.(statement.text, parameters);
      const cursors = await made;
      const cursor = await awaited(watch, statement.text, () => cursors.open(statement, parameters, size));
      return {
        next: (count) => cursor.next(count),
        rows(wanted, values) {
          watch.sent?.(wanted.text, values);
          return cursor.rows(wanted, values);
        },
        close: () => cursor.close(),
      };
    },
    close: async () => (await made)?.close(),
  };
}

/** What sends the compiled changes of an application; only the driver in use is loaded. */
export async function createWriter(mapper: Mapper, watch: StatementWatch): Promise<Writer> {
  const writer = await dialectOf(mapper).connections.writer(watch);
  return watch.sent || watch.waits ? watchedWriter(writer, watch) : writer;
}

/** What is sent together is waited for together, the commit included. */
function watchedWriter(writer: Writer, watch: StatementWatch): Writer {
  return {
    ...writer,
    change(steps) {
      // what depends on the step before is known to the database only
      for (const { statement, parameters } of steps)
        watch.sent?.(statement.text, typeof parameters === 'function' ? [] : parameters);
      return awaited(watch, steps.map(({ statement }) => statement.text).join('; '), () => writer.change(steps));
    },
  };
}

function watchedRows(rows: Executor['rows'], watch: StatementWatch): Executor['rows'] {
  return (statement, parameters) => {
    watch.sent?.(statement.text, parameters);
    return awaited(watch, statement.text, () => rows(statement, parameters));
  };
}
