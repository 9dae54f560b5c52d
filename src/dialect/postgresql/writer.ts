import type { StatementWatch } from '../../database/statement-watch.ts';
import { again } from '../../database/transient.ts';
import type { Step, Writer } from '../../database/writer.ts';
import { isStale, type PostgresLink, reportTo } from './link.ts';
import { LinkPool } from './link-pool.ts';
import type { PostgresDatabase } from './pooling.ts';

/** Commits wait for the disk in parallel; more connections than this gain little. */
const mostLinks = 8;

/**
 * Sends prepared statements over connections with one transaction at a time, so that a locked row delays no other transaction.
 */
export function postgresWriter(database: PostgresDatabase, watch: StatementWatch = {}): Writer {
  const pool = new LinkPool(database, {
    answered: reportTo(watch),
    most: Math.min(mostLinks, database.pool),
    timeout: database.connectTimeout,
  });
  return {
    async change(steps) {
      const attempt = () => pool.use((link) => inSteps(link, steps));
      try {
        return await attempt();
      } catch (error) {
        // nothing was changed: the statement did not even begin
        return isStale(error) ? attempt() : again(error, attempt);
      }
    },
    underWay: () => pool.counts.waiting + pool.counts.used,
    connections: () => pool.counts,
    close: () => pool.close(),
  };
}

/** Whether no step needs the rows of another one, or any. */
function isSentAtOnce(steps: readonly Step[]): steps is readonly (Step & { readonly parameters: readonly unknown[] })[] {
  const last = steps.length - 1;
  return steps.every(({ mayBeEmpty, parameters }, i) => typeof parameters !== 'function' && (mayBeEmpty || i === last));
}

/** Sends each step at once, unless it needs the rows of the one before. */
async function inSteps(link: PostgresLink, steps: readonly Step[]): Promise<unknown[][]> {
  if (isSentAtOnce(steps)) return link.sendTogether(steps);
  const responses = [link.begin()];
  let rows: unknown[][] = [];
  for (const [i, { mayBeEmpty, parameters, statement }] of steps.entries()) {
    const response = link.send(statement, typeof parameters === 'function' ? parameters(rows) : parameters);
    responses.push(response);
    const next = steps[i + 1];
    if (!next || (mayBeEmpty && typeof next.parameters !== 'function')) continue;
    const [settled] = await Promise.allSettled([response]);
    if (settled.status === 'rejected') break;
    rows = settled.value;
    if (rows.length === 0 && !mayBeEmpty) break;
  }
  const last = responses.length - 1;
  // after a failure, the server rejects every further step, and turns this commit into a rollback
  const outcomes = await Promise.allSettled([...responses, link.commit()]);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  return (outcomes[last] as PromiseFulfilledResult<unknown[][]>).value;
}
