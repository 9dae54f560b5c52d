import { dialectOf } from '../dialect/dialect.ts';
import type { Executor } from './executor.ts';
import type { Mapper } from './mapper.ts';
import { awaited, type StatementWatch } from './statement-watch.ts';
import type { OnStatement } from './statements-of.ts';

/** What sends the compiled statements of an application; only the driver in use is loaded. */
export async function createExecutor(
  mapper: Mapper,
  onStatement: OnStatement | undefined,
  watch: StatementWatch = {},
): Promise<Executor> {
  const executor = await dialectOf(mapper).connections.executor(watch);
  if (!onStatement && !watch.waits) return executor;
  return {
    ...executor,
    rows(statement, parameters) {
      onStatement?.(statement.text, parameters);
      return awaited(watch, statement.text, () => executor.rows(statement, parameters));
    },
  };
}
