import { setTimeout as sleep } from 'node:timers/promises';
import type { Application } from '../application.ts';
import { databaseLabel } from '../database/database-label.ts';
import { dialectOf } from '../dialect/dialect.ts';
import { databaseErrors } from '../dialect/errors.ts';
import { isUnavailable } from '../response/problem-document.ts';
import { ApplicationFailure, messageOf } from './failure.ts';

/** Milliseconds between two attempts to reach a database. */
const pause = 500;

/**
 * Checks that the database is reachable; null if it is. Returns the reason if it may become reachable later. Otherwise throws a
 * failure with the remedy.
 */
export async function reachDatabase({ mapper, declaration: { database } }: Application): Promise<string | null> {
  let reason: unknown;
  try {
    await mapper.connect();
    const check = await mapper.checkConnection();
    if (check.ok) return null;
    reason = check.error ?? check.reason;
  } catch (error) {
    reason = error;
  }
  const trouble = `cannot open the database ${databaseLabel(database.url)}: ${messageOf(reason)}`;
  const { inProcess, remedy } = dialectOf(mapper).connections;
  if (!inProcess && mayRecover(reason)) return trouble;
  await mapper.close(true);
  throw new ApplicationFailure(`${trouble}; ${remedy}`, reason);
}

/** Whether an unreachable database may become reachable later. */
function mayRecover(reason: unknown): boolean {
  if (!isUnavailable(reason)) return false;
  for (let cause = reason; cause instanceof Error; cause = cause.cause) {
    if (databaseErrors.isFinal(cause)) return false;
  }
  return true;
}

/** Waits until the database is reachable; false if the process was stopped first. */
export async function untilReached(application: Application, stopped: Promise<void>): Promise<boolean> {
  const isStopped = stopped.then(() => true);
  for (;;) {
    if (await Promise.race([isStopped, sleep(pause, false)])) return false;
    if ((await reachDatabase(application)) === null) return true;
  }
}

/** The same application, which reports schema changes and a new database to `onNews`. A failing seed gets its own message. */
export function withDatabaseNews(application: Application, onNews: (line: string) => void): Application {
  const { declaration, seed } = application;
  const label = databaseLabel(declaration.database.url);
  return {
    ...application,
    onSchemaChange: (sql) => onNews(`schema: ${sql.replace(/\s*\n\s*/g, ' ')}`),
    onMigration: onNews,
    // A seed runs only on a new database, so it also reports one if the application has no seed.
    seed: async (em) => {
      if (!seed) {
        onNews(`created the database ${label}`);
        return;
      }
      try {
        await seed(em);
        await em.flush();
      } catch (error) {
        throw new ApplicationFailure(
          `src/seed failed: ${messageOf(error)}; fix it and start again (the new database was discarded)`,
          error,
        );
      }
      onNews(`created the database ${label} and ran src/seed`);
    },
  };
}
