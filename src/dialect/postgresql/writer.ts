import type { Statement } from '../../database/executor.ts';
import { QueueTimeout } from '../../database/queue-timeout.ts';
import type { StatementWatch } from '../../database/statement-watch.ts';
import { again } from '../../database/transient.ts';
import { closedError } from '../../database/unavailable.ts';
import type { Send, Step, Work, Writer } from '../../database/writer.ts';
import type { DatabaseDeclaration } from '../../declaration/types.ts';
import { isStale, PostgresLink } from './link.ts';

/** Commits that wait for the disk do so side by side; beyond that, one more connection gains little. */
const mostLinks = 8;

const begin: Statement = { name: 'begin', text: 'begin', wide: false };
const commit: Statement = { name: 'commit', text: 'commit', wide: false };

const rollback: Statement = { name: 'rollback', text: 'rollback', wide: false };

interface Task {
  readonly since: number;
  /** Uses a connection, and tells whether nothing is left on it. */
  readonly run: (link: PostgresLink) => Promise<boolean>;
  readonly reject: (error: unknown) => void;
}

/** Sends prepared statements over connections that have one transaction at a time, so that nobody waits behind a row that someone else holds. */
export function postgresWriter(database: DatabaseDeclaration, watch: StatementWatch = {}): Writer {
  const idle: PostgresLink[] = [];
  const links = new Set<PostgresLink>();
  const waiting: Task[] = [];
  const patience = new QueueTimeout(waiting, database.connectTimeout);
  let closed = false;

  function open(): PostgresLink {
    const link: PostgresLink = new PostgresLink(database, () => forget(link), watch);
    links.add(link);
    return link;
  }

  function forget(link: PostgresLink): void {
    links.delete(link);
    const position = idle.indexOf(link);
    if (position >= 0) idle.splice(position, 1);
  }

  /** Gives a connection back, or ends it if something of the transaction may be left on it. */
  function giveBack(link: PostgresLink, isClean: boolean): void {
    if (!isClean) {
      forget(link);
      link.end().catch(() => undefined);
    } else if (links.has(link)) idle.push(link);
    proceed();
  }

  function proceed(): void {
    while (waiting.length > 0) {
      const link = idle.pop() ?? (links.size < Math.min(mostLinks, database.pool) ? open() : undefined);
      if (!link) return;
      (waiting.shift() as Task).run(link).then((isClean) => giveBack(link, isClean));
    }
  }

  /** Does something on a connection of its own, when there is one. */
  function withLink<Result>(use: (link: PostgresLink) => Promise<Result>, isClean: (error: unknown) => boolean): Promise<Result> {
    return new Promise((resolve, reject) => {
      const run = (link: PostgresLink) =>
        use(link).then(
          (result) => {
            resolve(result);
            return true;
          },
          (error: unknown) => {
            reject(error);
            return isClean(error);
          },
        );
      if (closed) reject(closedError());
      else {
        waiting.push({ since: performance.now(), run, reject });
        proceed();
        if (waiting.length > 0) patience.watch();
      }
    });
  }

  function attempt(steps: readonly Step[]): Promise<unknown[][]> {
    return withLink((link) => transaction(link, steps), isUndone);
  }

  return {
    async change(steps) {
      try {
        return await attempt(steps);
      } catch (error) {
        // nothing was changed: the statement did not even begin
        if (isStale(error as Error)) return attempt(steps);
        return again(withoutUndone(error), () => attempt(steps).catch(throwWithoutUndone));
      }
    },
    async transaction(work) {
      const attempt = () => withLink((link) => inTransaction(link, work), isUndone);
      try {
        return await attempt();
      } catch (error) {
        return again(withoutUndone(error), () => attempt().catch(throwWithoutUndone));
      }
    },
    underWay: () => waiting.length + links.size - idle.length,
    connections: () => ({ open: links.size, used: links.size - idle.length, waiting: waiting.length }),
    async close() {
      closed = true;
      for (const task of waiting.splice(0)) task.reject(closedError());
      await Promise.allSettled([...links].map((link) => link.end()));
    },
  };
}

async function transaction(link: PostgresLink, steps: readonly Step[]): Promise<unknown[][]> {
  const [only] = steps;
  try {
    // a statement alone is a transaction of its own
    if (steps.length === 1 && only) return await send(link, only.statement, only.parameters as readonly unknown[]);
    let rows: unknown[][] = [];
    await send(link, begin, []);
    for (const { statement, parameters, mayBeEmpty } of steps) {
      rows = await send(link, statement, typeof parameters === 'function' ? parameters(rows) : parameters);
      if (rows.length === 0 && !mayBeEmpty) break;
    }
    await send(link, commit, []);
    return rows;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    if (steps.length > 1) await send(link, rollback, []);
    throw new Undone('rolled back', { cause: error });
  }
}

/** Carries an error of a transaction that was rolled back in order. */
class Undone extends Error {}

function isUndone(error: unknown): boolean {
  return error instanceof Undone;
}

function withoutUndone(error: unknown): unknown {
  return error instanceof Undone ? error.cause : error;
}

function throwWithoutUndone(error: unknown): never {
  throw withoutUndone(error);
}

/** Nothing here waits for an answer that it does not need: what is sent before it has been answered before it. */
async function inTransaction<Result>(link: PostgresLink, work: (send: Send) => Promise<Work<Result>>): Promise<Result> {
  const begun = send(link, begin, []);
  begun.catch(() => undefined);
  let done: Work<Result>;
  try {
    done = await work((statement, parameters) => send(link, statement, parameters));
  } catch (error) {
    await begun;
    await send(link, rollback, []);
    throw new Undone('rolled back', { cause: error });
  }
  const { changes, result } = done;
  const sent = [begun, ...changes.map(({ statement, parameters }) => send(link, statement, parameters)), send(link, commit, [])];
  const outcomes = await Promise.allSettled(sent);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  return result;
}

function send(link: PostgresLink, statement: Statement, parameters: readonly unknown[]): Promise<unknown[][]> {
  return new Promise((resolve, reject) => {
    link.send(statement, parameters, (error, rows) => (error ? reject(error) : resolve(rows)));
  });
}

/** Whether the server refused the statement, or undid the transaction, and the connection is as good as before. */
function isRefusal(error: unknown): boolean {
  return /^(22|23|40001|40P01|42P10)/.test((error as { code?: string }).code ?? '');
}
