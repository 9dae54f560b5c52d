import type { ChooseDatabase } from '../../application.ts';
import { didYouMean, listed } from '../../declaration/suggest.ts';
import { type Command, directoryPositional, type Given, isGiven, optionValue } from '../command.ts';
import { ApplicationFailure, CallFailure, type ExitCode } from '../failure.ts';
import { type Io, say } from '../io.ts';
import { directoryArgument, openMigrated, withDatabase } from '../migrated-application.ts';
import { withProgress } from '../progress.ts';
import { statusLines, statusReport } from '../text/migration-text.ts';

const actions = { status, create, up, down, check } as const;

type Action = keyof typeof actions;

/** The actions that an option belongs to. */
const scopes: Readonly<Record<string, readonly Action[]>> = {
  name: ['create'],
  rename: ['create'],
  fill: ['create'],
  'allow-drop': ['create'],
  empty: ['create'],
  baseline: ['up'],
  json: ['status'],
};

export default {
  actions: {
    status: 'Show applied and pending migrations.',
    create: 'Write a migration from the last one to the models. Opens no database. Review the file before you apply it.',
    up: 'Apply pending migrations in one transaction. Waits for another process that is migrating.',
    down: 'Revert the last applied migration. Everything it added is dropped, with its data.',
    check: 'Report whether models and migrations differ. Opens no database.',
  },
  details: ['Renames are never guessed: "create" asks on a terminal, and otherwise needs --rename or --allow-drop.'],
  positionals: [{ name: 'ACTION', doc: 'One of status, create, up, down, check.', required: true }, directoryPositional],
  options: {
    name: { value: 'N', doc: 'create: a short description that becomes part of the file name.' },
    rename: {
      value: 'TABLE.OLD=NEW',
      doc: 'create: a renamed column; OLD=NEW for a table. Repeatable.',
      repeatable: true,
    },
    'allow-drop': { doc: 'create: drop tables and columns that are no longer in the models, with their data.' },
    fill: {
      value: 'TABLE.COLUMN=SQL',
      doc: 'create: the value for existing rows of a column that becomes required. Repeatable.',
      repeatable: true,
    },
    empty: { doc: 'create: write a migration without statements, for example for a data change.' },
    baseline: { doc: 'up: record the first migration as applied, because its tables already exist.' },
    json: { doc: 'status: print the status as JSON.' },
  },
  exitCodes: { 0: 'success', 1: 'a migration failed; with check: models and migrations differ', 2: 'wrong command line' },
  example: 'declarest migrate create my-application --name add-phone',

  async run(given, io) {
    const { ACTION = '' } = given.positionals;
    const names = Object.keys(actions) as Action[];
    const action = names.find((name) => name === ACTION);
    if (!action) throw new CallFailure(`unknown action "${ACTION}";${didYouMean(ACTION, names)} actions: ${listed(names)}`);
    for (const option of Object.keys(given.options)) {
      const scope = scopes[option];
      if (scope && !scope.includes(action))
        throw new CallFailure(`--${option} belongs to "declarest migrate ${scope.join(', ')}", not to "${action}"`);
    }
    return asFailures(() => actions[action](given, io));
  },
} satisfies Command;

/** Reports migration errors without a stack. */
async function asFailures(work: () => Promise<ExitCode>): Promise<ExitCode> {
  const { MigrationError } = await import('../../database/migrations/migration-error.ts');
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    throw error.isCall ? new CallFailure(error.message) : new ApplicationFailure(error.message, error.cause ?? error);
  }
}

async function status(given: Given, io: Io): Promise<ExitCode> {
  const { application, status: found } = await openStatus(given, io);
  if (isGiven(given, 'json')) say(io.stdout, JSON.stringify(statusReport(found), null, 2));
  else {
    const create = `declarest migrate create${directoryArgument(given)}`;
    for (const line of statusLines(found, application.declaration.database.url, create)) say(io.stdout, line);
  }
  return 0;
}

async function openStatus(given: Given, io: Io) {
  const { migrationStatus, statusOf } = await import('../../database/migrations/history.ts');
  const { isAbsent } = await import('../../dialect/address.ts');
  const application = await openMigrated(given, io, (declared) => ({ ...declared, readOnly: true }));
  const { declaration, directory, mapper } = application;
  // a database that does not exist is not created for this
  if (isAbsent(declaration.database.url, directory)) return { application, status: statusOf(mapper, directory, []) };
  return { application, status: await withDatabase(application, () => migrationStatus(mapper, directory)) };
}

async function create(given: Given, io: Io): Promise<ExitCode> {
  const application = await openMigrated(given, io);
  const { createMigration } = await import('../../database/migrations/create-migration.ts');
  const { options } = given;
  const created = await createMigration(application, {
    name: optionValue(given, 'name'),
    renames: options.rename ?? [],
    fills: options.fill ?? [],
    allowDrop: isGiven(given, 'allow-drop'),
    empty: isGiven(given, 'empty'),
    ask: io.ask,
  });
  if (!created) {
    say(io.stdout, 'nothing to do: the migrations match the models');
    return 0;
  }
  say(io.stdout, `created ${created.shown}`);
  for (const { sql } of created.up) say(io.stdout, `  ${sql}`);
  for (const note of created.notes) say(io.stderr, `note: ${note}`);
  const next = created.up.length > 0 ? 'review it, then apply it' : 'write its statements, then apply it';
  say(io.stdout, `${next}: declarest migrate up${directoryArgument(given)}`);
  return 0;
}

/** A migration may take as long as it needs, and a missing database is created. */
const migrating: ChooseDatabase = (declared) => ({ ...declared, schema: 'migrate', statementTimeout: 0 });

async function up(given: Given, io: Io): Promise<ExitCode> {
  const { withDatabaseNews } = await import('../database-start.ts');
  const { applyMigrations } = await import('../../database/migrations/apply.ts');
  const { databaseLabel } = await import('../../database/database-label.ts');
  const application = await openMigrated(given, io, migrating);
  const { declaration, directory, mapper } = application;
  const news: string[] = [];
  const { seed } = withDatabaseNews(application, (line) => news.push(line));
  const baseline = isGiven(given, 'baseline');
  const applied = await withProgress(io, 'applying migrations', (pause) => {
    const onNews = (line: string) => {
      pause();
      say(/^(warning|waiting)\b/.test(line) ? io.stderr : io.stdout, line);
    };
    return withDatabase(application, () =>
      applyMigrations({ mapper, directory, database: declaration.database, seed, baseline, onNews }),
    );
  });
  for (const line of news) say(io.stdout, line);
  const label = databaseLabel(declaration.database.url);
  const what = applied.length === 1 ? '1 migration' : `${applied.length} migrations`;
  if (applied.length > 0) say(io.stdout, `applied ${what} to ${label}`);
  else if (!baseline) say(io.stdout, `nothing to apply: ${label} has every migration`);
  return 0;
}

async function down(given: Given, io: Io): Promise<ExitCode> {
  const { revertMigration } = await import('../../database/migrations/apply.ts');
  const { databaseLabel } = await import('../../database/database-label.ts');
  const application = await openMigrated(given, io, migrating);
  const { declaration, directory, mapper } = application;
  const reverted = await withProgress(io, 'reverting a migration', (pause) => {
    const onNews = (line: string) => {
      pause();
      say(io.stderr, line);
    };
    return withDatabase(application, () =>
      revertMigration({ mapper, directory, database: declaration.database, seed: null, onNews }),
    );
  });
  say(
    io.stdout,
    reverted === null ? `nothing to revert: ${databaseLabel(declaration.database.url)} has no migration` : `reverted ${reverted}`,
  );
  return 0;
}

async function check(given: Given, io: Io): Promise<ExitCode> {
  const application = await openMigrated(given, io);
  const { changesSince } = await import('../../database/migrations/create-migration.ts');
  const changes = await changesSince(application);
  if (changes.length === 0) {
    say(io.stdout, 'ok: the migrations match the models');
    return 0;
  }
  say(io.stderr, 'models and migrations differ:');
  for (const line of changes) say(io.stderr, `  ${line}`);
  say(io.stderr, `write a migration: declarest migrate create${directoryArgument(given)}`);
  return 1;
}
