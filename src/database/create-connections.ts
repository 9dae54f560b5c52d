import { dialectOf } from '../dialect/dialect.ts';
import type { Cursors } from './cursor.ts';
import type { Executor, ReadLimits } from './executor.ts';
import type { Mapper } from './mapper.ts';
import { awaited, type StatementWatch } from './statement-watch.ts';
import type { Writer } from './writer.ts';

/** Sends the compiled reads of an application. */
export function createExecutor(mapper: Mapper, watch: StatementWatch, limits: ReadLimits): Executor {
  const executor = dialectOf(mapper).connections.executor(watch, limits);
  if (!watch.sent && !watch.waits) return executor;
  return {
    ...executor,
    rows(statement, parameters) {
      watch.sent?.(statement.text, parameters);
      return awaited(watch, statement.text, () => executor.rows(statement, parameters));
    },
  };
}

/** Opens the cursors of an application's exports. */
export function createCursors(mapper: Mapper, watch: StatementWatch): Cursors {
  const cursors = dialectOf(mapper).connections.cursors(watch);
  return {
    async open(statement, parameters, size) {
      watch.sent?.(statement.text, parameters);
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
    close: () => cursors.close(),
  };
}

/** Sends the compiled changes of an application. */
export function createWriter(mapper: Mapper, watch: StatementWatch): Writer {
  const writer = dialectOf(mapper).connections.writer(watch);
  if (!watch.sent && !watch.waits) return writer;
  return {
    ...writer,
    change(steps) {
      // only the database knows parameters that depend on the step before
      for (const { statement, parameters } of steps)
        watch.sent?.(statement.text, typeof parameters === 'function' ? [] : parameters);
      // steps that are sent together are awaited together, the commit included
      return awaited(watch, steps.map(({ statement }) => statement.text).join('; '), () => writer.change(steps));
    },
  };
}
