import type { ConnectionCounts, Executor, ReadLimits, Statement } from '../../database/executor.ts';
import { StatementCosts } from '../../database/statement-costs.ts';
import type { StatementWatch } from '../../database/statement-watch.ts';
import { TooLargeError } from '../../database/too-large.ts';
import { closedError } from '../../database/unavailable.ts';
import { isStale, type OnStatementEnd, PostgresLink } from './link.ts';
import { LinkPool } from './link-pool.ts';
import type { PostgresDatabase } from './pooling.ts';

/** Compiled reads share a few pipelined connections. */
const sharedLinks = 2;

/** Long reads have separate connections, one statement at a time on each: in a pipeline, others would wait behind them. */
const longLinks = 2;

/** Milliseconds beyond which a statement is long, and is not sent on a shared connection: others would wait behind it. */
const longThreshold = 20;

/**
 * Milliseconds beyond which statements have connections separate from those of other long ones. On a busy machine a short
 * statement may take long once.
 */
const veryLongThreshold = 250;

/**
 * Factor by which one long execution can raise the known cost of a statement. It may have waited for this process, or for a
 * processor.
 */
const maxCostGrowth = 10;

/** The code of a statement that exceeded the statement timeout. */
const timedOut = '57014';

/** How a statement is sent on a connection. */
export type SendOn = (
  link: PostgresLink,
  statement: Statement,
  parameters: readonly unknown[],
  mostBytes: number,
) => Promise<unknown[][]>;

const sendAsIs: SendOn = (link, statement, parameters, mostBytes) => link.send(statement, parameters, mostBytes);

export interface PostgresExecutor extends Executor {
  rows(statement: Statement, parameters: readonly unknown[], sendOn?: SendOn): Promise<unknown[][]>;
}

/** Sends prepared statements over a few connections apart from the mapper's pool. */
export function postgresExecutor(
  database: PostgresDatabase,
  watch: StatementWatch = {},
  { bytes }: ReadLimits = { bytes: Number.POSITIVE_INFINITY },
): PostgresExecutor {
  const costs = new StatementCosts();
  const answered: OnStatementEnd = (took, error, statement, parameters) => {
    // the remaining rows still arrive, and delay all statements behind this one
    if (error instanceof TooLargeError) costs.note(statement, parameters, Number.POSITIVE_INFINITY);
    else if ((error as { code?: string } | null)?.code === timedOut) costs.note(statement, parameters, took);
    else if (!error) costs.note(statement, parameters, took > longThreshold ? limitedCost(statement, parameters, took) : took);
    watch.answered?.(took, error !== null);
  };
  const openPool = (most: number) => new LinkPool(database, { answered, most, timeout: database.statementTimeout });
  const [longPool, veryLongPool] = [openPool(longLinks), openPool(longLinks)];
  // a pipeline that is never empty would keep its session from other clients of a pooler
  const shortPool = database.pooling?.isPooled ? openPool(database.pool) : null;
  const pools = [longPool, veryLongPool, ...(shortPool ? [shortPool] : [])];
  const links: (PostgresLink | undefined)[] = Array(sharedLinks).fill(undefined);
  let next = 0;
  let closed = false;

  function limitedCost(statement: Statement, parameters: readonly unknown[], took: number): number {
    const known = costs.of(statement, parameters);
    return known === undefined ? took : Math.min(took, Math.max(known, 1) * maxCostGrowth);
  }

  function open(position: number): PostgresLink {
    const link = new PostgresLink(database, () => forget(position, link), answered);
    links[position] = link;
    return link;
  }

  function forget(position: number, link: PostgresLink): void {
    // another connection may have replaced it by then
    if (links[position] === link) links[position] = undefined;
  }

  /** The connection with the fewest pending statements; in turn if they have equally many. */
  function leastUsed(): number {
    next = (next + 1) % sharedLinks;
    let best = next;
    for (let i = 1; i < sharedLinks; i++) {
      const other = (next + i) % sharedLinks;
      if ((links[other]?.pending ?? 0) < (links[best]?.pending ?? 0)) best = other;
    }
    return best;
  }

  function sendShared(statement: Statement, parameters: readonly unknown[], sendOn: SendOn): Promise<unknown[][]> {
    const position = leastUsed();
    const link = links[position] ?? open(position);
    return sendOn(link, statement, parameters, bytes).catch((error: unknown) => {
      if (!isStale(error)) throw error;
      if (links[position] === link) {
        links[position] = undefined;
        link.end().catch(() => undefined);
      }
      return sendOn(links[position] ?? open(position), statement, parameters, bytes);
    });
  }

  function sendAlone(pool: LinkPool, statement: Statement, parameters: readonly unknown[], sendOn: SendOn): Promise<unknown[][]> {
    const send = () => pool.use((link) => sendOn(link, statement, parameters, bytes), statement.name);
    return send().catch((error: unknown) => {
      if (!isStale(error)) throw error;
      return send();
    });
  }

  /** The connections for a statement; null: the shared ones. */
  function poolFor(statement: Statement, parameters: readonly unknown[]): LinkPool | null {
    const cost = costs.of(statement, parameters);
    if (cost === undefined) return mayBeLong(statement) ? veryLongPool : shortPool;
    return cost > veryLongThreshold ? veryLongPool : cost > longThreshold ? longPool : shortPool;
  }

  function poolCounts(): ConnectionCounts {
    const sum = (of: (counts: ConnectionCounts) => number) => pools.reduce((total, { counts }) => total + of(counts), 0);
    return { open: sum(({ open }) => open), used: sum(({ used }) => used), waiting: sum(({ waiting }) => waiting) };
  }

  return {
    format: 'text',
    rows(statement, parameters, sendOn = sendAsIs) {
      if (closed) return Promise.reject(closedError());
      const pool = poolFor(statement, parameters);
      return pool ? sendAlone(pool, statement, parameters, sendOn) : sendShared(statement, parameters, sendOn);
    },
    underWay: () => {
      const { used, waiting } = poolCounts();
      return links.reduce((sum, link) => sum + (link?.pending ?? 0), used + waiting);
    },
    connections: () => {
      const shared = links.filter((link) => link !== undefined);
      const { open, used, waiting } = poolCounts();
      return { open: shared.length + open, used: shared.filter(({ pending }) => pending > 0).length + used, waiting };
    },
    async close() {
      closed = true;
      await Promise.allSettled([...pools.map((pool) => pool.close()), ...links.map((link) => link?.end())]);
    },
  };
}

/**
 * A count reads every row that it counts, and a search for a part of a text reads every row up to the matching ones. The cost is
 * known after the first execution.
 */
function mayBeLong({ text }: Statement): boolean {
  return /\bcount\(|\blike\b|\bilike\b/i.test(text);
}
