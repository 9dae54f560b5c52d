import { dialectOf } from '../dialect/dialect.ts';
import type { Statement } from './executor.ts';
import type { Mapper } from './mapper.ts';
import { awaited, type StatementWatch } from './statement-watch.ts';
import type { OnStatement } from './statements-of.ts';
import type { Writer } from './writer.ts';

/** What sends the compiled changes of an application; only the driver in use is loaded. */
export async function createWriter(
  mapper: Mapper,
  onStatement: OnStatement | undefined,
  watch: StatementWatch = {},
): Promise<Writer> {
  const writer = await dialectOf(mapper).connections.writer(watch);
  const heard = onStatement ? heardBy(writer, onStatement) : writer;
  return watch.waits ? awaitedBy(heard, watch) : heard;
}

function heardBy(writer: Writer, onStatement: OnStatement): Writer {
  return {
    ...writer,
    change(steps) {
      // what depends on the step before is known to the database only
      for (const { statement, parameters } of steps)
        onStatement(statement.text, typeof parameters === 'function' ? [] : parameters);
      return writer.change(steps);
    },
    transaction: (work) =>
      writer.transaction(async (send) => {
        const done = await work((statement, parameters) => {
          onStatement(statement.text, parameters);
          return send(statement, parameters);
        });
        for (const { statement, parameters } of done.changes) onStatement(statement.text, parameters);
        return done;
      }),
  };
}

/** What is sent together is waited for together, the commit included. */
function awaitedBy(writer: Writer, watch: StatementWatch): Writer {
  const textOf = (steps: readonly { readonly statement: Statement }[]) => steps.map(({ statement }) => statement.text).join('; ');
  return {
    ...writer,
    change: (steps) => awaited(watch, textOf(steps), () => writer.change(steps)),
    async transaction(work) {
      let end: ((error?: unknown) => void) | undefined;
      try {
        const result = await writer.transaction(async (send) => {
          const done = await work((statement, parameters) => awaited(watch, statement.text, () => send(statement, parameters)));
          end = watch.waits?.([textOf(done.changes), 'commit'].filter((text) => text !== '').join('; '));
          return done;
        });
        end?.();
        return result;
      } catch (error) {
        end?.(error);
        throw error;
      }
    },
  };
}
