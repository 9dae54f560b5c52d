import type { Executor, Statement } from '../../database/executor.ts';
import { takeNext } from '../../database/next-task.ts';
import { QueueTimeout } from '../../database/queue-timeout.ts';
import { StatementCosts } from '../../database/statement-costs.ts';
import type { StatementWatch } from '../../database/statement-watch.ts';
import { closedError } from '../../database/unavailable.ts';
import type { DatabaseDeclaration } from '../../declaration/types.ts';
import { isStale, PostgresLink } from './link.ts';

/** Compiled reads share a few connections, on each of which statements follow one another without waiting for answers. */
const shortLinks = 2;

/** Those that take long have connections of their own, one statement at a time on each, as others would wait behind them. */
const longLinks = 2;

/** Milliseconds that others may wait for a statement. */
const longest = 20;

/** The code of a statement that was ended for taking too long. */
const timedOut = '57014';

interface Task {
  /** When it began to wait; 0 where it does not. */
  readonly since: number;
  readonly statement: Statement;
  readonly parameters: readonly unknown[];
  readonly resolve: (rows: unknown[][]) => void;
  readonly reject: (error: Error) => void;
}

/** Sends prepared statements over a few connections apart from the mapper's pool. */
export function postgresExecutor(database: DatabaseDeclaration, watch: StatementWatch = {}): Executor {
  const costs = new StatementCosts();
  const links: (PostgresLink | undefined)[] = Array(shortLinks + longLinks).fill(undefined);
  const waiting: Task[] = [];
  const patience = new QueueTimeout(waiting, database.statementTimeout);
  /** What runs on each of the connections for what takes long. */
  const running: (Task | null)[] = Array(longLinks).fill(null);
  let next = 0;
  let closed = false;

  function open(position: number): PostgresLink {
    const link = new PostgresLink(database, () => forget(position, link), watch);
    links[position] = link;
    return link;
  }

  function forget(position: number, link: PostgresLink): void {
    // another may have taken its place by then
    if (links[position] === link) links[position] = undefined;
  }

  function send(position: number, task: Task, isRepeated = false): void {
    const { statement, parameters } = task;
    const link = links[position] ?? open(position);
    link.send(statement, parameters, (error, rows, took) => {
      if (!error || (error as { code?: string }).code === timedOut) costs.note(statement, parameters, took);
      if (error && isStale(error)) {
        if (links[position] === link) {
          links[position] = undefined;
          link.end().catch(() => undefined);
        }
        if (!isRepeated) {
          send(position, task, true);
          return;
        }
      }
      if (error) task.reject(error);
      else task.resolve(rows);
      if (position >= shortLinks) {
        running[position - shortLinks] = null;
        proceed();
      }
    });
  }

  /** The connection on which the fewest wait, and each in turn where there is no difference. */
  function shortLink(): number {
    next = (next + 1) % shortLinks;
    let best = next;
    for (let i = 1; i < shortLinks; i++) {
      const other = (next + i) % shortLinks;
      if ((links[other]?.pending ?? 0) < (links[best]?.pending ?? 0)) best = other;
    }
    return best;
  }

  /** Sends what takes long, as far as there are connections for it that have nothing to do. */
  function proceed(): void {
    for (let place = 0; place < longLinks && waiting.length > 0; place++) {
      if (running[place]) continue;
      const task = takeNext(waiting, running);
      running[place] = task;
      send(shortLinks + place, task);
    }
  }

  function isLong(statement: Statement, parameters: readonly unknown[]): boolean {
    const cost = costs.of(statement, parameters);
    return cost === undefined ? mayBeLong(statement) : cost > longest;
  }

  return {
    format: 'text',
    rows: (statement, parameters) =>
      new Promise((resolve, reject) => {
        if (closed) reject(closedError());
        else if (isLong(statement, parameters)) {
          waiting.push({ since: performance.now(), statement, parameters, resolve, reject });
          proceed();
          if (waiting.length > 0) patience.watch();
        } else send(shortLink(), { since: 0, statement, parameters, resolve, reject });
      }),
    underWay: () => links.reduce((sum, link) => sum + (link?.pending ?? 0), waiting.length),
    connections: () => {
      const open = links.filter((link) => link !== undefined);
      return { open: open.length, used: open.filter(({ pending }) => pending > 0).length, waiting: waiting.length };
    },
    async close() {
      closed = true;
      for (const task of waiting.splice(0)) task.reject(closedError());
      await Promise.allSettled(links.map((link) => link?.end()));
    },
  };
}

/** What counts looks at every row that it counts. How long that takes is known after the first time. */
function mayBeLong({ text }: Statement): boolean {
  return /\bcount\(/i.test(text);
}
