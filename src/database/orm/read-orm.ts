import {
  Configuration,
  type EntityManager,
  type EntityMetadata,
  type FilterDef,
  loadEnvironmentVars,
  MikroORM,
  type Options,
  Utils,
} from '@mikro-orm/core';
import { connectionOf } from './connection.ts';
import { anotherCopy } from './errors.ts';
import { isModel } from './is-model.ts';

/** The parts of an existing MikroORM instance or configuration that Declarest uses. */
export interface OrmSetup {
  /** Options of the mapper. */
  readonly options: Partial<Options>;
  /** Classes and schemas. */
  readonly entities: readonly unknown[];
  /** Filters of the configuration, which are not part of a model. */
  readonly filters: Readonly<Record<string, FilterDef>>;
  /** Parameters of filters that were set on the instance. */
  readonly filterParams: ReadonlyMap<string, Record<string, unknown>>;
  /** The default schema of all tables; null means that of the connection. */
  readonly schema: string | null;
  readonly url: string;
  /** Options of `pg` that a URL cannot contain. */
  readonly driverOptions: Readonly<Record<string, unknown>>;
  /** Whether all reads and writes have to go through MikroORM: the application rewrites statements, or wants its constructors called. */
  readonly needsMapper: boolean;
}

/** Options that apply in Declarest as well. All other options have their default value: compiled statements depend on it. */
const kept = [
  'baseDir',
  'charset',
  'collate',
  'colors',
  'compiledFunctions',
  'debug',
  'embeddables',
  'entityRepository',
  'findExactlyOneOrFailHandler',
  'findOneOrFailHandler',
  'forceEntityConstructor',
  'highlighter',
  'ignoreDeprecations',
  'logger',
  'loggerFactory',
  'metadataCache',
  'metadataProvider',
  'namingStrategy',
  'onQuery',
  'resultCache',
  'routines',
  'schemaGenerator',
  'slowQueryLoggerFactory',
  'slowQueryThreshold',
  'timezone',
  'verbose',
] as const satisfies readonly (keyof Options)[];

interface ReadingOptions {
  /** The directory from which relative paths start. */
  readonly directory: string;
  /** Whether `entitiesTs` is used rather than `entities`. */
  readonly prefersTs: boolean;
}

/** Reads an instance of MikroORM, or its options. Throws an error that names what is not supported. */
export async function readOrm(given: unknown, { directory, prefersTs }: ReadingOptions): Promise<OrmSetup> {
  if (given instanceof MikroORM) return readInstance(given);
  if (isInstance(given)) throw new Error(anotherCopy('the MikroORM instance'));
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new Error('it must be the options of MikroORM, such as the result of defineConfig, or an instance of MikroORM');
  const options = given as Options;
  const found = loadEnvironmentVars();
  const merged = options.preferEnvVars ? Utils.merge({ ...options }, found) : Utils.merge(found, options);
  // the application may have further models
  const config = new Configuration({
    ...merged,
    baseDir: options.baseDir ?? directory,
    discovery: { ...options.discovery, warnWhenNoEntities: false },
  } as Options);
  return setupOf(config, await entitiesOf(config, prefersTs));
}

async function readInstance(orm: MikroORM): Promise<OrmSetup> {
  const metas = [...orm.getMetadata().getAll().values()];
  // MikroORM also finds models that others refer to, and adds pivot tables, which are not models
  const found = metas.map((meta) => meta.class).filter(isModel);
  const given = orm.config.get('entities').filter((entity) => typeof entity !== 'string');
  const setup = await setupOf(orm.config, [...given, ...found]);
  // a fork has the filters and parameters of the instance; the instance itself refuses to be asked
  const em = orm.em.fork({ disableContextResolution: true });
  await refuseAddedFilters(em, orm.config, metas);
  const names = [...Object.keys(setup.filters), ...metas.flatMap(({ filters }) => Object.keys(filters ?? {}))];
  const params = names.flatMap((name) => {
    const set = em.getFilterParams(name) as Record<string, unknown> | undefined;
    return set ? [[name, set] as const] : [];
  });
  const subscribers = new Set([...(setup.options.subscribers ?? []), ...orm.em.getEventManager().getSubscribers()]);
  return { ...setup, options: { ...setup.options, subscribers: [...subscribers] }, filterParams: new Map(params) };
}

/** MikroORM does not tell the filters of `em.addFilter`, and leaving them out would show rows that they hide. */
async function refuseAddedFilters(em: EntityManager, config: Configuration, metas: readonly EntityMetadata[]): Promise<void> {
  for (const meta of metas) {
    if (meta.embeddable) continue;
    const known = [...Object.keys(config.get('filters')), ...Object.keys(meta.filters ?? {})];
    const off = Object.fromEntries(known.map((name) => [name, false]));
    const where = {};
    const applied = await em.applyFilters(meta.class as never, where, off, 'read').catch(() => null);
    if (applied === where) continue;
    throw new Error(
      `a filter of ${meta.className} was added by em.addFilter, which Declarest cannot read; declare it in "filters" of the MikroORM options`,
    );
  }
}

async function setupOf(config: Configuration, entities: readonly unknown[]): Promise<OrmSetup> {
  const all = config.getAll();
  if (all.forceUtcTimezone === false)
    throw new Error('forceUtcTimezone: false is not supported; Declarest reads and writes times in UTC');
  const rewritesStatements = all.onQuery !== new Configuration({}, false).get('onQuery');
  const constructs = Boolean(all.forceEntityConstructor);
  const { driverOptions, url } = await connectionOf(config);
  const options: Record<string, unknown> = { subscribers: all.subscribers };
  for (const name of kept) if (all[name] !== undefined) options[name] = all[name];
  if (!rewritesStatements) delete options.onQuery;
  const { skipSyncDiscovery: _, ...discovery } = all.discovery;
  const standard = config.getPlatform().getDefaultSchemaName();
  return {
    options: { ...options, discovery } as Partial<Options>,
    entities,
    filters: all.filters as Readonly<Record<string, FilterDef>>,
    filterParams: new Map(),
    schema: all.schema && all.schema !== standard ? all.schema : null,
    url,
    driverOptions,
    needsMapper: rewritesStatements || constructs,
  };
}

/** The entities of a configuration: classes and schemas as they are, and those that modules at the given paths export. */
async function entitiesOf(config: Configuration, prefersTs: boolean): Promise<unknown[]> {
  const { entities, entitiesTs } = config.getAll();
  const targets = config.get('preferTs', prefersTs) && entitiesTs.length > 0 ? entitiesTs : entities;
  const paths = targets.filter((target) => typeof target === 'string');
  const others = targets.filter((target) => typeof target !== 'string');
  if (paths.length === 0) return others;
  const { discoverEntities } = await import('@mikro-orm/core/file-discovery');
  return [...others, ...(await discoverEntities(paths as string[], { baseDir: config.get('baseDir') as string }))];
}

function isInstance(given: unknown): boolean {
  const { config, getMetadata } = (given ?? {}) as { config?: { getAll?: unknown }; getMetadata?: unknown };
  return typeof getMetadata === 'function' && typeof config?.getAll === 'function';
}
