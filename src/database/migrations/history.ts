import { TableNotFoundException } from '@mikro-orm/core';
import { dialectOf } from '../../dialect/dialect.ts';
import { type AppliedMigration, type MigrationTools, migrationTable } from '../../dialect/migration-tools.ts';
import type { Mapper, RequestEntityManager } from '../mapper.ts';
import { type MigrationFile, readFolder } from './folder.ts';
import { systemOf } from './snapshot.ts';

/** The migrations of an application, and those of its database. */
export interface MigrationStatus {
  readonly folder: string;
  /** In the order of application. */
  readonly applied: readonly AppliedMigration[];
  readonly pending: readonly MigrationFile[];
  /** Recorded in the database, and not in the folder. */
  readonly missing: readonly string[];
  /** Pending ones that are older than an applied one. */
  readonly late: readonly string[];
}

/** Compares the folder with the database, and changes nothing. */
export async function migrationStatus(mapper: Mapper, directory: string): Promise<MigrationStatus> {
  const tools = await dialectOf(mapper).migrations();
  return statusOf(mapper, directory, await appliedIn(mapper.em.fork(), tools));
}

export function statusOf(mapper: Mapper, directory: string, applied: readonly AppliedMigration[]): MigrationStatus {
  const { files, shown } = readFolder(directory, systemOf(mapper));
  const done = new Set(applied.map(({ name }) => name));
  const known = new Set(files.map(({ name }) => name));
  const pending = files.filter(({ name }) => !done.has(name));
  const last = files.findLast(({ name }) => done.has(name))?.name ?? '';
  return {
    folder: shown,
    applied,
    pending,
    missing: [...done].filter((name) => !known.has(name)),
    late: pending.map(({ name }) => name).filter((name) => name < last),
  };
}

async function appliedIn(em: RequestEntityManager, { selectApplied }: MigrationTools): Promise<AppliedMigration[]> {
  try {
    return await readApplied(em, selectApplied);
  } catch (error) {
    if (error instanceof TableNotFoundException) return [];
    throw error;
  }
}

async function readApplied(em: RequestEntityManager, sql: string): Promise<AppliedMigration[]> {
  const rows = await em.execute<{ name: string; applied_at: string }[]>(sql);
  return rows.map(({ applied_at: appliedAt, name }) => ({ name: name.replace(/\.m?[jt]s$/, ''), appliedAt }));
}

/** The records of applied migrations, within a transaction. */
export class MigrationHistory {
  readonly #em: RequestEntityManager;
  readonly #tools: MigrationTools;

  constructor(em: RequestEntityManager, tools: MigrationTools) {
    this.#em = em;
    this.#tools = tools;
  }

  /** Creates the table of the records if it is missing. */
  async open(tables: readonly string[]): Promise<readonly AppliedMigration[]> {
    if (!tables.includes(migrationTable)) await this.#em.execute(this.#tools.createTable);
    return readApplied(this.#em, this.#tools.selectApplied);
  }

  async add(name: string): Promise<void> {
    await this.#em.execute(`insert into ${migrationTable} (name) values (?)`, [name]);
  }

  async remove(name: string): Promise<void> {
    // MikroORM may have recorded it with its extension
    await this.#em.execute(`delete from ${migrationTable} where name in (?, ?, ?)`, [name, `${name}.ts`, `${name}.js`]);
  }
}
