import type { Application, ChooseDatabase } from '../application.ts';
import { dialectOf } from '../dialect/dialect.ts';
import type { Given } from './command.ts';
import { ApplicationFailure } from './failure.ts';
import type { Io } from './io.ts';
import { openApplication } from './open-application.ts';

export interface MigratedApplication extends Application {
  readonly extensions: readonly string[];
}

/** Loads an application with everything that its schema has, indexes of searches included. No database is opened. */
export async function openMigrated(given: Given, io: Io, choose?: ChooseDatabase): Promise<MigratedApplication> {
  const application = await openApplication(given.positionals.dir, io, choose);
  const { addSearchIndexes } = await import('../query/list/search-index.ts');
  return { ...application, extensions: addSearchIndexes(application.mapper, application.declaration.apis) };
}

/** Runs work that needs the database, and closes it. */
export async function withDatabase<Result>(application: Application, work: () => Promise<Result>): Promise<Result> {
  const { reachDatabase } = await import('./database-start.ts');
  const away = await reachDatabase(application);
  try {
    if (away !== null) throw new ApplicationFailure(`${away}; ${dialectOf(application.mapper).connections.remedy}`);
    return await work();
  } finally {
    await application.mapper.close(true);
  }
}

/** The directory of a call, as a part of another call. */
export function directoryArgument({ positionals: { dir } }: Given): string {
  return dir === undefined ? '' : ` ${dir}`;
}
