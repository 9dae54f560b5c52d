import type { Application } from '../application.ts';
import { databaseLabel } from '../database/database-label.ts';
import { ApplicationFailure, messageOf } from './failure.ts';

/** Makes sure that the database answers, or says what to do. */
export async function reachDatabase({ mapper, declaration: { database } }: Application): Promise<void> {
  let reason: unknown;
  try {
    await mapper.connect();
    const check = await mapper.checkConnection();
    if (check.ok) return;
    reason = check.error ?? check.reason;
  } catch (error) {
    reason = error;
  }
  await mapper.close(true);
  const remedy = database.url.startsWith('sqlite:')
    ? 'check app_main.database.url, and that its directory can be written'
    : 'start the server, or check app_main.database.url';
  throw new ApplicationFailure(
    `cannot open the database ${databaseLabel(database.url)}: ${messageOf(reason)}; ${remedy}`,
    reason,
  );
}

/** The same application, which gives news of a database that was created and filled, and tells a failing seed from other faults. */
export function withDatabaseNews(application: Application, onNews: (line: string) => void): Application {
  const { declaration, seed } = application;
  const label = databaseLabel(declaration.database.url);
  return {
    ...application,
    // A seed is run for a new database only, so one that does nothing shows that it is new.
    seed: async (em) => {
      if (!seed) {
        onNews(`created the database ${label}`);
        return;
      }
      try {
        await seed(em);
        await em.flush();
      } catch (error) {
        throw new ApplicationFailure(`src/seed failed: ${messageOf(error)}; correct it and start again, nothing was kept`, error);
      }
      onNews(`created the database ${label} and filled it from src/seed`);
    },
  };
}
