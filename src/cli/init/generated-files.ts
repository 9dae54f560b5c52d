import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../package-root.ts';
import type { ModelNames } from './names.ts';
import { type PackageManagerName, packageManager, type Replacement } from './package-managers.ts';

interface DatabaseChoice {
  /** The commands before the first start. */
  readonly firstSteps: readonly string[];
  /** The templates are written for SQLite in development. */
  readonly replacements: readonly Replacement[];
}

/** The databases in development. */
export const databases = {
  sqlite: { firstSteps: [], replacements: [] },
  postgresql: {
    firstSteps: ['docker compose up -d db     # or set DATABASE_URL to your server'],
    replacements: [
      ['default:sqlite:var/app.db:', 'default:postgresql://app:app@127.0.0.1:5432/app:'],
      ['    schema: update\n', '    schema: migrate\n'],
      ['npm install\nnpm run dev\n', 'npm install\ndocker compose up -d db     # or set DATABASE_URL\nnpm run dev\n'],
      [
        'Development uses SQLite, in `var/app.db`. Declarest adds missing tables and columns when it starts. Production uses PostgreSQL with migrations. After',
        'The application uses PostgreSQL with migrations. `compose.yaml` has a server for development. The tests use SQLite in memory. After',
      ],
      ['DATABASE_URL=postgresql://app:app@127.0.0.1:5432/app npx declarest migrate', 'npx declarest migrate'],
      ['DATABASE_URL=postgresql://app@127.0.0.1/app npx declarest migrate', 'npx declarest migrate'],
      ['The production server applies', 'The server applies'],
      [
        'SQLite works in production as well: set `schema: migrate` for development too, create the folder `migrations/sqlite`, run `npx declarest migrate create` without `DATABASE_URL`, and start with `DATABASE_URL=sqlite:var/app.db`.\n\n',
        '',
      ],
      ['to try requests;', 'to try requests, with a database (`docker compose up -d db`);'],
    ],
  },
} satisfies Record<string, DatabaseChoice>;

export type Database = keyof typeof databases;

export const databaseNames = Object.keys(databases) as Database[];

/** All that distinguishes one new application from another. */
export interface Choices {
  /** The name of the package. */
  readonly name: string;
  readonly model: ModelNames;
  /** The database in development. Production uses PostgreSQL. */
  readonly database: Database;
  readonly manager: PackageManagerName;
  /** The version of the package manager, if it is known. */
  readonly managerVersion?: string | undefined;
  /** The specifier of `declarest` in package.json: a version, a tag or a file. */
  readonly declarest: string;
  readonly time: Date;
}

/** Versions of the packages in a new application, besides Declarest. The packages of MikroORM fit only if all have one version. */
export const dependencies = {
  '@mikro-orm/core': '7.2.1',
  '@mikro-orm/migrations': '7.2.1',
  '@mikro-orm/postgresql': '7.2.1',
  '@mikro-orm/sql': '7.2.1',
  fastify: '^5.12.8',
} as const;

export const devDependencies = { '@types/node': '^24.19.2', typescript: '^7.0.2' } as const;

/** The files of a new application, by their paths. */
export function generatedFiles(choices: Choices): ReadonlyMap<string, string> {
  const { files } = packageManager(choices.manager);
  const rename = renaming(choices);
  const rewrite = rewriting(choices);
  return new Map([
    ['package.json', manifestText(choices)],
    ...Object.entries(files),
    ...templates().map(([path, text]) => [rename(path), rename(rewrite(text))] as const),
  ]);
}

/** Files of `assets/init`. Some names begin with `dot-`, because npm does not publish a file such as `.gitignore`. */
function templates(): [path: string, text: string][] {
  const folder = join(packageRoot, 'assets', 'init');
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((file) => [
      file
        .slice(folder.length + 1)
        .replaceAll('\\', '/')
        .replaceAll(/(^|\/)dot-/g, '$1.'),
      readFileSync(file, 'utf8'),
    ]);
}

/** The templates are an application with the model `SampleItem`. */
function renaming({ name, model, time }: Choices): (text: string) => string {
  const names: Readonly<Record<string, string>> = {
    SampleItem: model.type,
    'sample-item': model.kebab,
    sample_item: model.snake,
    SAMPLE_ITEM: model.upper,
    'sample-app': name,
    // in the name of the first migration
    '20260101000000': time.toISOString().replaceAll(/\D/g, '').slice(0, 14),
  };
  return replacing(Object.entries(names));
}

function rewriting({ database, manager }: Choices): (text: string) => string {
  const forDatabase = replacing(databases[database].replacements);
  const forManager = replacing(packageManager(manager).replacements);
  return (text) => forManager(forDatabase(text));
}

/** Replaces in one pass, so that no replacement is replaced again. */
function replacing(replacements: readonly Replacement[]): (text: string) => string {
  if (replacements.length === 0) return (text) => text;
  const known = new Map(replacements);
  const pattern = new RegExp([...known.keys()].map((from) => from.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&')).join('|'), 'g');
  return (text) => text.replaceAll(pattern, (found) => known.get(found) as string);
}

function manifestText({ name, manager, managerVersion, declarest }: Choices): string {
  const { version } = packageManager(manager);
  const manifest = {
    name,
    version: '0.1.0',
    private: true,
    type: 'module',
    engines: { node: '>=22.18' },
    ...(version && { packageManager: `${manager}@${managerVersion ?? version}` }),
    scripts: { start: 'declarest serve', dev: 'declarest dev', test: 'node --test', check: 'declarest check && tsc' },
    dependencies: Object.fromEntries(Object.entries({ ...dependencies, declarest }).sort(([a], [b]) => (a < b ? -1 : 1))),
    devDependencies,
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
