import type { DatabaseDeclaration } from '../../declaration/types.ts';
import { dialectOf, type Seed } from '../../dialect/dialect.ts';
import { type MigrationTools, migrationTable } from '../../dialect/migration-tools.ts';
import type { Mapper, RequestEntityManager } from '../mapper.ts';
import { refuseDifferent, refuseExisting } from './baseline.ts';
import type { MigrationFile } from './folder.ts';
import { readFolder } from './folder.ts';
import { MigrationHistory, type MigrationStatus, statusOf } from './history.ts';
import { MigrationError } from './migration-error.ts';
import { FailedMigration, isEmptyMigration, openMigration, runMigration } from './run-migration.ts';
import { checkSystem, systemOf } from './snapshot.ts';

export interface ApplyOptions {
  readonly mapper: Mapper;
  readonly directory: string;
  readonly database: DatabaseDeclaration;
  readonly seed: Seed;
  /** Records the first migration without running it, because the database has its tables already. */
  readonly baseline?: boolean;
  /** Called with a line for each migration, and with one if Declarest waits for another process. */
  readonly onNews?: ((line: string) => void) | undefined;
}

interface Run {
  readonly applied: string[];
  /** The migration that needs to run outside of a transaction. */
  readonly next: MigrationFile | null;
}

const waiting = 'waiting for another process that is changing the database';

/**
 * Applies pending migrations in the order of their names, and returns the names of the applied ones. All of them are one
 * transaction: if one fails or the process is killed, the database is unchanged. A migration that is not transactional ends the
 * transaction before it.
 */
export async function applyMigrations(options: ApplyOptions): Promise<string[]> {
  const { directory, mapper } = options;
  const tools = await dialectOf(mapper).migrations();
  checkSystem(readFolder(directory, systemOf(mapper)), systemOf(mapper));
  const news = options.onNews ?? (() => undefined);
  const applied: string[] = [];
  for (;;) {
    const { next, ...run } = await inTransaction(options, tools, applied, async (em, emit) =>
      pendingOnes(options, tools, em, emit),
    );
    applied.push(...run.applied);
    if (!next || !tools.alone) return applied;
    const name = await tools.alone(options.database, () => runOutside(options, tools, next));
    if (name !== null) {
      applied.push(name);
      news(`applied ${name}, outside of a transaction`);
    }
  }
}

/** Passes lines on after the commit only, so that they never report a change that was rolled back. */
async function inTransaction<Result>(
  { mapper, onNews = () => undefined }: ApplyOptions,
  tools: MigrationTools,
  before: readonly string[],
  work: (em: RequestEntityManager, emit: (line: string) => void) => Promise<Result>,
): Promise<Result> {
  const lines: string[] = [];
  try {
    const result = await tools.transaction(
      mapper,
      () => onNews(waiting),
      (em) => work(em, (line) => lines.push(line)),
    );
    for (const line of lines) onNews(line);
    return result;
  } catch (error) {
    throw error instanceof FailedMigration ? failure(error, before) : error;
  }
}

function failure({ cause, file, message, statement }: FailedMigration, before: readonly string[]): MigrationError {
  const outcome = before.length > 0 ? `${before.join(', ')} stay applied, nothing else was changed` : 'nothing was changed';
  const where = statement === null ? '' : `\nstatement: ${statement}`;
  return new MigrationError(`${message}${where}\n${outcome}; fix ${file.shown} and run it again`, { cause });
}

async function pendingOnes(
  { baseline, database: { url }, directory, mapper, seed }: ApplyOptions,
  tools: MigrationTools,
  em: RequestEntityManager,
  emit: (line: string) => void,
): Promise<Run> {
  const tables = await tools.tables(em);
  const history = new MigrationHistory(em, tools);
  const status = statusOf(mapper, directory, await history.open(tables));
  const isEmpty = tables.every((name) => name === migrationTable);
  for (const line of warningsOf(status)) emit(line);
  const [first] = status.pending;
  const isFirst = status.applied.length === 0 && first !== undefined && !isEmpty;
  const existing = { mapper, url, em, tables, isOnly: status.pending.length === 1 };
  if (isFirst && !baseline) await refuseExisting(existing, first);
  if (baseline && !isFirst) throw new MigrationError(noBaseline(status));
  const applied: string[] = [];
  let next: MigrationFile | null = null;
  for (const file of status.pending) {
    if (baseline && file === first) {
      await refuseDifferent(existing, file);
      await history.add(file.name);
      emit(`recorded ${file.name} as applied, without running it`);
      continue;
    }
    const migration = await openMigration(mapper, file);
    if (!migration.isTransactional() && tools.alone) {
      next = file;
      break;
    }
    const start = performance.now();
    const count = await runMigration(migration, file, 'up', em, tools);
    await history.add(file.name);
    applied.push(file.name);
    if (isEmptyMigration(migration)) emit(emptyWarning(file));
    emit(
      `applied ${file.name} (${count} ${count === 1 ? 'statement' : 'statements'}, ${Math.round(performance.now() - start)} ms)`,
    );
  }
  if (isEmpty && next === null && applied.length > 0) await seed?.(em);
  return { applied, next };
}

function noBaseline({ applied, pending }: MigrationStatus): string {
  if (applied.length > 0)
    return '--baseline needs a database without applied migrations, and this one has some; leave out --baseline';
  if (pending.length === 0) return 'no migration exists yet; create one with: declarest migrate create';
  return '--baseline needs a database that already has tables, and this one is empty; leave out --baseline';
}

function warningsOf({ folder, late, missing }: MigrationStatus): string[] {
  return [
    ...missing.map((name) => `warning: ${name} is applied, but it is not in ${folder}`),
    ...late.map((name) => `warning: ${name} is older than a migration that is applied already`),
  ];
}

function emptyWarning({ name }: MigrationFile): string {
  return `warning: ${name} has no statements, but is now recorded as applied. To add statements: declarest migrate down, write them, declarest migrate up`;
}

/** Runs one migration without a transaction; null if another process has done so meanwhile. */
async function runOutside(
  { directory, mapper }: ApplyOptions,
  tools: MigrationTools,
  file: MigrationFile,
  how: 'up' | 'down' = 'up',
): Promise<string | null> {
  const em = mapper.em.fork();
  const history = new MigrationHistory(em, tools);
  const { pending } = statusOf(mapper, directory, await history.open([migrationTable]));
  const isPending = pending.some(({ name }) => name === file.name);
  if (isPending !== (how === 'up')) return null;
  try {
    await runMigration(await openMigration(mapper, file), file, how, em, tools);
  } catch (error) {
    if (!(error instanceof FailedMigration)) throw error;
    const where = error.statement === null ? '' : `\nstatement: ${error.statement}`;
    const outcome = `${file.name} is not transactional: what it did before this statement stays`;
    throw new MigrationError(`${error.message}${where}\n${outcome}`, { cause: error.cause });
  }
  await (how === 'up' ? history.add(file.name) : history.remove(file.name));
  return file.name;
}

/** Reverts the migration that was applied last, and returns its name; null if none is applied. */
export async function revertMigration(options: ApplyOptions): Promise<string | null> {
  const { directory, mapper } = options;
  const tools = await dialectOf(mapper).migrations();
  const { name, outside } = await inTransaction(options, tools, [], async (em) => {
    const history = new MigrationHistory(em, tools);
    const { applied, folder } = statusOf(mapper, directory, await history.open(await tools.tables(em)));
    const last = applied.at(-1);
    if (!last) return { name: null, outside: null };
    const file = readFolder(directory, systemOf(mapper)).files.find((each) => each.name === last.name);
    if (!file)
      throw new MigrationError(`${last.name} was applied last, but it is not in ${folder}; restore its file to revert it`);
    const migration = await openMigration(mapper, file);
    if (!migration.isTransactional() && tools.alone) return { name: null, outside: file };
    await runMigration(migration, file, 'down', em, tools);
    await history.remove(file.name);
    return { name: file.name, outside: null };
  });
  if (!outside || !tools.alone) return name;
  return tools.alone(options.database, () => runOutside(options, tools, outside, 'down'));
}
