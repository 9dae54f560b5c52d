import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Mapper } from '../mapper.ts';
import { readFolder } from './folder.ts';
import { differences, type MigrationPlan, type PlanOptions, planMigration, type Step } from './plan.ts';
import { dataOf, modelSchema, readSnapshot, systemOf, writeSnapshot } from './snapshot.ts';

/** An application whose models are compared with its migrations. */
export interface Migrated {
  readonly mapper: Mapper;
  readonly directory: string;
  /** PostgreSQL extensions that indexes for searches need. */
  readonly extensions: readonly string[];
}

export interface CreateOptions extends PlanOptions {
  readonly name?: string | undefined;
  /** Whether to write a migration without statements. */
  readonly empty: boolean;
}

export interface CreatedMigration extends MigrationPlan {
  readonly name: string;
  /** The path from the application's directory. */
  readonly shown: string;
}

/** The differences between the models and the migrations, one line each. No database is opened. */
export async function changesSince({ directory, extensions, mapper }: Migrated): Promise<string[]> {
  const system = systemOf(mapper);
  return differences(mapper, readSnapshot(readFolder(directory, system), system), extensions);
}

/** Writes the migration from the last one to the models; null if there is nothing to do. No database is opened. */
export async function createMigration(
  { directory, extensions, mapper }: Migrated,
  { empty, name, ...options }: CreateOptions,
): Promise<CreatedMigration | null> {
  const system = systemOf(mapper);
  const folder = readFolder(directory, system);
  const snapshot = readSnapshot(folder, system);
  const plan = empty ? { up: [], down: [], losses: [], notes: [] } : await planMigration(mapper, snapshot, extensions, options);
  if (!plan) return null;
  const className = `Migration${nextTimestamp(folder.files.map((file) => file.name))}${suffixOf(name, snapshot.migrations.length === 0)}`;
  mkdirSync(folder.path, { recursive: true });
  writeFileSync(join(folder.path, `${className}.ts`), migrationText(className, plan), { flag: 'wx' });
  const { migrations } = snapshot;
  writeSnapshot(folder, system, {
    migrations: [...migrations, className],
    extensions: [...new Set([...snapshot.extensions, ...extensions])],
    schema: empty ? snapshot.schema : dataOf(modelSchema(mapper)),
  });
  return { ...plan, name: className, shown: `${folder.shown}${className}.ts` };
}

/** `20261118104500`, later than the timestamp of every existing migration. */
function nextTimestamp(names: readonly string[]): string {
  const times = names.flatMap((name) => /^Migration(\d{14})/.exec(name)?.[1] ?? []).sort();
  const now = new Date().toISOString().replace(/\D/g, '').slice(0, 14);
  const last = times.at(-1) ?? '';
  return now > last ? now : String(Number(last) + 1);
}

function suffixOf(name: string | undefined, isFirst: boolean): string {
  const words = (name ?? (isFirst ? 'initial' : '')).replace(/[^\p{L}\p{N}]+/gu, '_').replace(/^_+|_+$/g, '');
  return words === '' ? '' : `_${words}`;
}

function migrationText(className: string, { down, losses, up }: MigrationPlan): string {
  return `import { Migration } from '@mikro-orm/migrations';

export class ${className} extends Migration {
  override async up(): Promise<void> {
${up.map(stepText).join('')}  }

  override async down(): Promise<void> {
${losses.map((line) => `    // ${line}\n`).join('')}${down.map(stepText).join('')}  }
}
`;
}

function stepText({ sql }: Step): string {
  return `    this.addSql(${literal(sql)});\n`;
}

/** A string literal in quotes that the text does not contain, if possible. */
function literal(text: string): string {
  const isPlain = !/[\n\\]/.test(text);
  if (!text.includes('`') && !text.includes('${') && isPlain) return `\`${text}\``;
  if (!text.includes("'") && isPlain) return `'${text}'`;
  if (!text.includes('"') && isPlain) return `"${text}"`;
  return `\`${text.replace(/[`\\]|\$\{/g, '\\$&')}\``;
}
