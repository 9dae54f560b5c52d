import type { Application, ChooseDatabase } from '../application.ts';
import { dialectOf } from '../dialect/dialect.ts';
import type { Given } from './command.ts';
import { ApplicationFailure } from './failure.ts';
import type { Io } from './io.ts';
import { openApplication } from './open-application.ts';

export interface MigratedApplication extends Application {
  readonly extensions: readonly string[];
}

/** Loads an application with its complete schema, including the search indexes. No database is opened. */
export async function openMigrated(given: Given, io: Io, choose?: ChooseDatabase): Promise<MigratedApplication> {
  const application = await openApplication(given.positionals.dir, io, choose);
  const { addSearchIndexes } = await import('../query/list/search-index.ts');
  return { ...application, extensions: addSearchIndexes(application.mapper, application.declaration.apis) };
}

/** Runs work that needs the database, and closes it. */
export async function withDatabase<Result>(application: Application, work: () => Promise<Result>): Promise<Result> {
  const { reachDatabase } = await import('./database-start.ts');
  const trouble = await reachDatabase(application);
  try {
    if (trouble !== null) throw new ApplicationFailure(`${trouble}; ${dialectOf(application.mapper).connections.remedy}`);
    return await work();
  } finally {
    await application.mapper.close(true);
  }
}

/** The directory argument of this call, for a command line in a message. */
export function directoryArgument({ positionals: { dir } }: Given): string {
  return dir === undefined ? '' : ` ${dir}`;
}
