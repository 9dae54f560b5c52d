import { join } from 'node:path';
import type { Dataset } from './data/datasets.ts';
import type { Dialect } from './dialects.ts';
import * as dialects from './dialects.ts';
import { exampleDirectory } from './install.ts';
import type { Options } from './options.ts';
import type { ServerCommand } from './server-process.ts';
import { secret, tokenWith } from './tokens.ts';
import { type Task, tasksOf, type WorkName, works } from './works.ts';

export type Database = 'postgresql' | 'sqlite';

/** The URLs of the filled databases. */
export type Urls = Readonly<Record<Dataset, Readonly<Partial<Record<Database, string>>>>>;

export interface Contestant {
  readonly name: string;
  readonly title: string;
  readonly database: Database;
  readonly data: Dataset;
  readonly dialect: Dialect;
  /** The folder of bench/peers with its packages. */
  readonly peer?: string;
  readonly command: Omit<ServerCommand, 'env' | 'log'>;
  /** Its workloads with --quick. */
  readonly quick: readonly WorkName[];
  readonly kind: 'declarest' | 'by hand' | 'framework';
  readonly env?: Readonly<Record<string, string>>;
}

const here = import.meta.dirname;

/** Workloads of the main ratios, which take a few minutes. */
const quickWorks: Readonly<Record<string, readonly WorkName[]>> = {
  'fastify-pg': ['E', 'LF', 'LFU', 'LS', 'L', 'W', 'P'],
  'declarest-pg': ['E', 'LS', 'L', 'W', 'P'],
  'declarest-pg-members': ['LF'],
  'declarest-pg-guarded': ['E', 'LFU'],
  'http-sqlite': ['E', 'LF', 'W'],
  'declarest-sqlite': ['E', 'W'],
  'declarest-sqlite-members': ['LF'],
  'example-by-hand-pg': ['XE', 'XC', 'XW'],
  'declarest-example-pg': ['XE', 'XC', 'XW'],
  'tenant-by-hand-pg': ['TE', 'TLM', 'TW'],
  'declarest-tenant-pg': ['TE', 'TLM', 'TW'],
};

function byHand(name: string, title: string, database: Database, file: string, env = {}): Contestant {
  return {
    name,
    title,
    database,
    data: 'people',
    quick: quickWorks[name] ?? [],
    env,
    kind: 'by hand',
    dialect: name.startsWith('fastify') ? dialects.byHand : withoutUsers,
    peer: 'by-hand',
    command: { args: [file], cwd: join(here, 'peers', 'by-hand'), probe: { path: '/people/7' } },
  };
}

/** Only the Fastify contestant reads tokens, and sorts. */
const { LFU: _, LS: __, ...openWorks } = dialects.byHand.ask;
const withoutUsers: Dialect = { ...dialects.byHand, ask: openWorks };
const { G: ___, ...crudWorks } = openWorks;
const crudOnly: Dialect = { ...dialects.byHand, ask: crudWorks };

function framework(name: string, title: string, database: Database, peer: string, file: string, dialect: Dialect): Contestant {
  const probe = { path: '/people/7' };
  return {
    name,
    title,
    database,
    data: 'people',
    dialect,
    peer,
    quick: [],
    kind: 'framework',
    command: { args: [file], cwd: join(here, 'peers', peer), probe },
  };
}

const installed = join(here, 'apps', 'node_modules', 'declarest');

/** Arguments of Node that serve an application with the installed package, as users do. */
export function serveCommand(directory: string, { reads, profile }: Pick<Options, 'reads' | 'profile'>): string[] {
  const profiling = profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : [];
  if (reads !== 'default') return [...profiling, join(here, 'apps', 'serve.ts'), directory, '{port}', reads];
  return [...profiling, join(installed, 'bin', 'declarest.js'), 'serve', directory, '--port', '{port}'];
}

type App = 'people' | 'members' | 'guarded' | 'signed' | 'grouped';

function declarest(options: Options, database: Database, app: App): Contestant {
  const directory = join(here, 'apps', app);
  const short = database === 'sqlite' ? 'sqlite' : 'pg';
  const token = tokenWith({ center: 1, roles: ['ROLE_STAFF'] });
  const variants = {
    people: { suffix: '', title: 'Declarest', dialect: dialects.declarest, path: '/api/person/7.json' },
    members: {
      suffix: '-members',
      title: 'Declarest, fixed condition',
      dialect: dialects.declarestMembers,
      path: '/api/member.json',
    },
    guarded: {
      suffix: '-guarded',
      title: 'Declarest, token and voter',
      dialect: dialects.declarestGuarded,
      path: '/api/person/7.json',
    },
    signed: {
      suffix: '-signed',
      title: 'Declarest, token',
      dialect: dialects.declarestSigned,
      path: '/api/person/7.json',
    },
    grouped: {
      suffix: '-grouped',
      title: 'Declarest, token and two groups by role',
      dialect: dialects.declarestSigned,
      path: '/api/person/7.json',
    },
  };
  const { suffix, title, dialect, path } = variants[app];
  const name = `declarest-${short}${suffix}`;
  return {
    name,
    title: `${title}, ${database === 'sqlite' ? 'SQLite' : 'PostgreSQL'}`,
    database,
    data: 'people',
    dialect,
    quick: quickWorks[name] ?? [],
    kind: 'declarest',
    command: {
      args: serveCommand(directory, options),
      cwd: directory,
      probe: { path, headers: { authorization: `Bearer ${token}` } },
    },
  };
}

/** Applications whose requests all have a token: the example, and one with many tenants. */
const sets = {
  example: {
    title: 'example',
    probed: 'XE',
    directory: exampleDirectory,
    byHand: dialects.exampleByHand,
    declarest: dialects.declarestExample,
  },
  tenant: {
    title: 'tenant',
    probed: 'TE',
    directory: join(here, 'apps', 'tenant'),
    byHand: dialects.tenantByHand,
    declarest: dialects.declarestTenant,
  },
} as const;

/** Hand-written code and Declarest over the same rows with the same checks. */
function pair(options: Options, data: keyof typeof sets, database: Database): Contestant[] {
  const { title, probed, directory, byHand, declarest } = sets[data];
  const short = database === 'sqlite' ? 'sqlite' : 'pg';
  const handWritten = `${data}-by-hand-${short}`;
  const ours = `declarest-${data}-${short}`;
  return [
    {
      name: handWritten,
      title: `Fastify + ${short === 'pg' ? 'pg' : 'node:sqlite'} by hand, ${title}`,
      database,
      data,
      dialect: byHand,
      quick: quickWorks[handWritten] ?? [],
      kind: 'by hand',
      env: { PIPELINED: '4' },
      peer: 'by-hand',
      command: { args: [join(data, 'server.ts')], cwd: join(here, 'peers', 'by-hand'), probe: probeOf(byHand, probed) },
    },
    {
      name: ours,
      title: `Declarest, ${title}, ${short === 'pg' ? 'PostgreSQL' : 'SQLite'}`,
      database,
      data,
      dialect: declarest,
      quick: quickWorks[ours] ?? [],
      kind: 'declarest',
      command: { args: serveCommand(directory, options), cwd: directory, probe: probeOf(declarest, probed) },
    },
  ];
}

/** The first request of a workload. */
function probeOf({ ask }: Dialect, work: WorkName): ServerCommand['probe'] {
  const [task] = tasksOf(works[work], 1);
  const [request] = ask[work]?.(task as Task) ?? [];
  return { path: request?.path ?? '/', headers: { authorization: `Bearer ${request?.token}` } };
}

export function contestantsFor(options: Options): Contestant[] {
  return [
    byHand('fastify-pg', 'Fastify + pg by hand, pipelined', 'postgresql', 'fastify.ts', { PIPELINED: '4' }),
    byHand('fastify-pg-pooled', 'Fastify + pg by hand, pool only', 'postgresql', 'fastify.ts'),
    byHand('http-pg', 'node:http + pg by hand', 'postgresql', 'node-http.ts'),
    declarest(options, 'postgresql', 'people'),
    declarest(options, 'postgresql', 'members'),
    declarest(options, 'postgresql', 'guarded'),
    declarest(options, 'postgresql', 'signed'),
    declarest(options, 'postgresql', 'grouped'),
    byHand('http-sqlite', 'node:http + node:sqlite by hand', 'sqlite', 'node-http.ts'),
    declarest(options, 'sqlite', 'people'),
    declarest(options, 'sqlite', 'members'),
    declarest(options, 'sqlite', 'guarded'),
    declarest(options, 'sqlite', 'signed'),
    declarest(options, 'sqlite', 'grouped'),
    framework('mikro-orm-pg', 'Fastify + MikroORM', 'postgresql', 'mikro-orm', 'app.ts', crudOnly),
    framework('nest', 'NestJS + @dataui/crud', 'postgresql', 'nest', 'dist/app.js', dialects.nest),
    framework('feathers', 'Feathers + knex', 'postgresql', 'feathers', 'app.ts', dialects.feathers),
    framework('loopback', 'LoopBack 4', 'postgresql', 'loopback', 'dist/app.js', dialects.loopback),
    framework('mikro-orm-sqlite', 'Fastify + MikroORM, SQLite', 'sqlite', 'mikro-orm', 'app.ts', crudOnly),
    ...pair(options, 'example', 'postgresql'),
    ...pair(options, 'example', 'sqlite'),
    ...pair(options, 'tenant', 'postgresql'),
    ...pair(options, 'tenant', 'sqlite'),
  ].filter((contestant) => {
    const { name, quick } = contestant;
    return isChosen(options, name, contestantNames, quick.length > 0) && worksFor(options, contestant).length > 0;
  });
}

/** Distinguishes names of contestants from those of workloads in --only. */
const contestantNames = /^[a-z]/;
const workNames = /^[A-Z]/;

const workList = Object.keys(works) as WorkName[];

export function worksFor(options: Options, { dialect, quick }: Contestant): WorkName[] {
  return workList.filter((name) => dialect.ask[name] && isChosen(options, name, workNames, quick.includes(name)));
}

/** --only takes precedence over --quick. */
function isChosen({ only, quick }: Options, name: string, kind: RegExp, isQuick: boolean): boolean {
  const relevant = only.filter((chosen) => kind.test(chosen));
  if (relevant.length === 0) return isQuick || !quick;
  return relevant.some((chosen) => name === chosen || name.startsWith(`${chosen}-`));
}

/** The environment variables of a server. */
export function environmentFor(urls: Urls, { data, database, env }: Contestant): Record<string, string> {
  return { DATABASE_URL: urlOf(urls, data, database), JWT_SECRET: secret, ...env };
}

export function urlOf(urls: Urls, data: Dataset, database: Database): string {
  const url = urls[data][database];
  if (url === undefined) throw new Error(`no ${database} database was filled for the dataset "${data}"`);
  return url;
}
