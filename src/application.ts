import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type EntityManager, EntitySchema, type MikroORM } from '@mikro-orm/core';
import { type Authenticator, isAuthenticatorClass } from './access/authenticator.ts';
import { checkHeadRoles, checkLoadedRoutes, checkPublic, checkRole, checkRoles } from './access/check-roles.ts';
import { isVoterClass, type Voter } from './access/voter.ts';
import { createVoterRegistry, type VoterRegistry } from './access/voter-registry.ts';
import type { ApiController, Model } from './actions/controller/api-controller.ts';
import { type ControllerClass, isOverridden } from './actions/controller/controller-class.ts';
import { checkBulk } from './actions/start/bulk-parts.ts';
import { checkControllers, checkDenormalizers, checkNormalizers } from './actions/start/check-controllers.ts';
import { checkLists } from './actions/start/check-lists.ts';
import { checkLoads } from './actions/start/check-loads.ts';
import { checkDeclaredParameters } from './actions/start/check-parameters.ts';
import { checkNested } from './actions/start/nested-plan.ts';
import { createMapper, type MapperOptions } from './database/create-mapper.ts';
import type { Mapper } from './database/mapper.ts';
import type { DeclaredOrm } from './database/orm/declared-orm.ts';
import { isModel } from './database/orm/is-model.ts';
import type { OnStatement } from './database/statements-of.ts';
import type { AppMain, Routes } from './declaration/define-apis.ts';
import { catalogFromCode, loadCatalog, loadConfigModules, loadContainer, withModels } from './declaration/modules/modules.ts';
import { type Creatable, type Create, checkedCreate } from './declaration/names/create.ts';
import { modeOf } from './declaration/read/mode.ts';
import { readDeclaration } from './declaration/read/read-declaration.ts';
import { Report, type Warning } from './declaration/report.ts';
import { codeSource, type ReportedError, type Source } from './declaration/source.ts';
import type { Catalog, DatabaseDeclaration, Declaration } from './declaration/types.ts';
import { missingModule } from './dialect/address.ts';
import { MissingPackage } from './dialect/missing-package.ts';
import { checkGroups } from './model/check-groups.ts';
import { checkModels, idRequirementOf } from './model/check-models.ts';
import { registerNormalizations } from './model/normalization.ts';
import { isOfOtherCopy, otherCopyMessage } from './model/other-copy.ts';
import { noteAccessors } from './model/own-code.ts';
import { checkPrivateMembers, useConstructors } from './model/private-members.ts';
import { checkRoutes } from './route/check-routes.ts';
import { loadRoutes } from './route/load-routes.ts';
import { allowedMethods } from './route/match.ts';
import type { RouteRecord } from './route/record.ts';
import { type Denormalizer, isDenormalizerClass } from './serialization/denormalizer.ts';
import { isNormalizerClass, type Normalizer, normalizationsOf } from './serialization/normalizer.ts';

/** An application on disk. */
export interface DirectoryOptions extends CommonOptions {
  readonly directory: string;
}

/** A class with any constructor parameters. An abstract class is accepted as a base class, and never instantiated. */
type ClassOf<Instance> = abstract new (...args: never[]) => Instance;

/** An application in code. */
export interface CodeOptions extends CommonOptions {
  /** The base of relative file names, such as the database's. Default: the working directory. */
  readonly directory?: string;
  readonly app_main: AppMain;
  readonly routes?: Routes;
  /** Not required if `orm` has all models. */
  readonly models?: readonly Model[];
  readonly controllers?: readonly ClassOf<ApiController>[];
  readonly voters?: readonly ClassOf<Voter>[];
  readonly denormalizers?: readonly ClassOf<Denormalizer>[];
  readonly normalizers?: readonly ClassOf<Normalizer>[];
  readonly authenticators?: readonly ClassOf<Authenticator>[];
  /** Route-loading services by their id. */
  readonly services?: Readonly<Record<string, unknown>>;
  /** Run once after a new database was created. */
  readonly seed?: (em: EntityManager) => unknown;
}

interface CommonOptions {
  /** Default: `process.env`. */
  readonly env?: NodeJS.ProcessEnv;
  /** Replaces `app_main.database.url`, for tests and tools. */
  readonly databaseUrl?: string;
  /** The MikroORM instance of the host, whose configuration and models are used. It is neither changed nor closed. */
  // biome-ignore lint/suspicious/noExplicitAny: an instance with any driver and entity manager
  readonly orm?: MikroORM<any, any, any>;
  /** Called with every statement that is sent to the database: its text, and its parameters separately. */
  readonly onStatement?: OnStatement;
  /** Creates instances of controllers, voters and so on. Default: the export of `src/container`, or `new` without arguments. */
  readonly create?: Create;
}

export type ApplicationOptions = DirectoryOptions | CodeOptions;

/** With options for tests of the framework itself. */
export type InternalOptions = ApplicationOptions & {
  /** False: every read and write uses MikroORM's entities, for comparison. */
  readonly compiledReads?: boolean;
};

/** An application with a valid declaration. Nothing of it runs yet. */
export interface Application {
  readonly directory: string;
  readonly production: boolean;
  readonly declaration: Declaration;
  /** The declaration as it was written, with its file positions. */
  readonly source: Source;
  readonly catalog: Catalog;
  readonly mapper: Mapper;
  readonly voters: VoterRegistry;
  /** Makes instances of classes of the application. */
  readonly create: Create;
  readonly records: readonly RouteRecord[];
  readonly warnings: readonly Warning[];
  readonly seed: ((em: EntityManager) => unknown) | null;
  readonly compiledReads: boolean;
  /** Called with every statement that changes the schema at startup. Default: it is logged. */
  readonly onSchemaChange?: (sql: string) => void;
  /** Called with each message about migrations at startup. Default: it is logged. */
  readonly onMigration?: (line: string) => void;
  readonly onStatement: OnStatement | undefined;
}

interface Written extends Pick<Application, 'source' | 'catalog' | 'seed'> {
  readonly faults: readonly ReportedError[];
  /** The export of `src/container`. */
  readonly container?: Create | undefined;
}

/** Replaces the database that an application declares. */
export type ChooseDatabase = (declared: DatabaseDeclaration, directory: string) => DatabaseDeclaration;

/** Reads an application and checks all of it; throws every error of its declaration at once. */
export async function loadApplication(
  options: InternalOptions,
  chooseDatabase: ChooseDatabase = (declared) => declared,
): Promise<Application> {
  const env = options.env ?? process.env;
  const production = modeOf(env) === 'production';
  const directory = resolve(options.directory ?? '.');
  const {
    source,
    catalog: written,
    container,
    faults,
    seed,
  } = 'app_main' in options ? writtenInCode(options) : await writtenOnDisk(directory, env);
  const report = new Report(source, faults);
  const orm = await ormOf(options, source, directory, report);
  // without its models, nearly every declaration would be reported
  if (report.touches(['app_main', 'orm'])) report.throwIfAny();
  const catalog = orm ? withModels(written, orm.entities, orm.name) : written;
  const create = checkedCreate(options.create ?? container);

  const read = readDeclaration(source, catalog, report, { production, orm });
  const { databaseUrl: url } = options;
  const driving = orm && { driverOptions: orm.driverOptions };
  const declared: DatabaseDeclaration = url
    ? { ...read.database, url, schema: 'update', replicas: [] }
    : { ...read.database, ...driving };
  const database = Object.freeze(chooseDatabase(declared, directory));
  const declaration: Declaration = Object.freeze({ ...read, database });
  const made = instancesOf(catalog.voters, isVoterClass, create, report);
  const unmade = catalog.voters.filter(({ value }) => !made.some((voter) => voter.constructor === value));
  const voters = createVoterRegistry({
    voters: made,
    unmade: unmade.flatMap(({ value }) => (isVoterClass(value) ? value.roles : [])),
    strategy: declaration.security.strategy,
    roleHierarchy: declaration.security.roleHierarchy,
  });
  for (const { name, qualifiedName, value } of catalog.voters) {
    if (isVoterClass(value) && typeof value.prototype.vote !== 'function')
      report.add([qualifiedName], `${name} must have a method vote(role, subject, user)`);
  }
  checkRoles(declaration.apis, voters, report);
  for (const { path, role } of declaration.groups) checkRole(role, [...path, 'role'], voters, report);
  checkPublic(declaration.apis, declaration.security.requireRole, report);
  checkDeclaredParameters(declaration.apis, report);
  checkHeadRoles(declaration.apis, (path, message) => report.warn(path, message));

  const mapper = await discover(declaration, catalog, { directory, onStatement: options.onStatement, orm }, report);
  if (mapper) {
    registerNormalizations(mapper, normalizationsOf(catalog.normalizers, create));
    checkModels(declaration.apis, mapper, report, (type) => isOverridden(type as ControllerClass, 'validate'));
    checkPrivateMembers(mapper, report);
    checkControllers(declaration.apis, mapper, report);
    checkGroups(declaration.apis, declaration.groups, mapper, report);
    checkLists(declaration.apis, mapper, report);
    checkBulk(declaration.apis, report);
    checkNested(declaration.apis, mapper, report);
    checkDenormalizers(catalog, declaration.apis, mapper, report);
    checkLoads(catalog, declaration.apis, mapper, report);
    checkNormalizers(catalog, mapper, report);
    if (declaresBodies(declaration) && report.errors.length === 0) {
      const { checkDeclaredBodies } = await import('./openapi/declared-bodies.ts');
      checkDeclaredBodies({ catalog, declaration, directory, mapper }, report);
    }
  }
  const records = await loadRoutes(declaration, catalog, create, report, (api) => mapper && idRequirementOf(api, mapper));
  const loaded = records.filter(({ definition }) => definition !== null);
  checkLoadedRoutes(loaded, voters, declaration.security.requireRole, report);
  checkMetrics(declaration, voters, records, report);
  checkRoutes(records, report, (record) => isSound(record, report));
  if (records.some(({ action }) => Object.keys(action?.operationIds ?? {}).length > 0)) {
    const { checkOperationIds } = await import('./openapi/operation-ids.ts');
    checkOperationIds(records, report);
  }
  report.throwIfAny();
  return Object.freeze({
    directory,
    production,
    declaration,
    source,
    catalog,
    mapper: mapper as Mapper,
    voters,
    create,
    records,
    warnings: report.warnings,
    seed,
    compiledReads: (options.compiledReads ?? true) && !orm?.needsMapper,
    onStatement: options.onStatement,
  });
}

/** Checks the role and the path of the metrics. */
function checkMetrics(
  { openapi, server: { health, metrics }, security }: Declaration,
  voters: VoterRegistry,
  records: readonly RouteRecord[],
  report: Report,
): void {
  if (!metrics) return;
  const at = ['app_main', 'server', 'metrics'];
  checkRole(metrics.role, [...at, 'role'], voters, report);
  if (metrics.role === null && security.requireRole)
    report.add([...at, 'role'], 'security.require_role is on, and the metrics are public; name a role');
  const others = [health.live, health.ready, openapi.path, openapi.docs];
  const taken = allowedMethods(records, metrics.path).length > 0 || others.includes(metrics.path);
  if (taken) report.add([...at, 'path'], `another route already uses ${metrics.path}; choose another path`);
}

export function declaresBodies({ apis }: Pick<Declaration, 'apis'>): boolean {
  return apis.some(({ actions }) => actions.some(({ body }) => body !== null));
}

/** Whether all parts of a route's name and path are valid; otherwise both contain fallback values. */
function isSound({ api, action }: RouteRecord, report: Report): boolean {
  const parts = [
    ...['name', 'base_path'].map((key) => [...(api?.path ?? []), key]),
    ...['path', 'methods', 'single-collection'].map((key) => [...(action?.path ?? []), key]),
  ];
  return api === null || !parts.some((path) => report.touches(path));
}

function writtenInCode(options: CodeOptions): Written {
  const source = codeSource({ app_main: options.app_main, ...(options.routes && { routes: options.routes }) });
  return { source, catalog: catalogFromCode(options), faults: [], seed: options.seed ?? null };
}

async function writtenOnDisk(directory: string, env: NodeJS.ProcessEnv): Promise<Written> {
  const { catalog, faults } = await loadCatalog(directory, {
    models: isModel,
    voters: isVoterClass,
    denormalizers: isDenormalizerClass,
    normalizers: isNormalizerClass,
    authenticators: isAuthenticatorClass,
  });
  // loaded here only: an application in code needs no YAML parser
  const { readYamlSource } = await import('./declaration/yaml-source.ts');
  const config = await loadConfigModules(directory);
  const container = await loadContainer(directory);
  const source = readYamlSource(directory, { env, modules: config.modules });
  return {
    source,
    catalog,
    faults: [...faults, ...config.faults, ...container.faults],
    seed: await loadSeed(directory),
    container: container.create,
  };
}

/** The existing MikroORM application that is used, loaded only if there is one. */
async function ormOf(
  { orm: instance }: InternalOptions,
  source: Source,
  directory: string,
  report: Report,
): Promise<DeclaredOrm | null> {
  const { orm: file } = (source.value.app_main ?? {}) as { orm?: unknown };
  if (!instance && typeof file !== 'string') return null;
  const { declaredOrm } = await import('./database/orm/declared-orm.ts');
  return declaredOrm(instance, source, directory, report);
}

async function loadSeed(directory: string): Promise<Written['seed']> {
  const file = ['seed.ts', 'seed.js'].map((name) => join(directory, 'src', name)).find(existsSync);
  if (!file) return null;
  return async (em) => {
    const { default: seed } = await import(pathToFileURL(file).href);
    if (typeof seed !== 'function')
      throw new Error('src/seed must have a function as its default export: export default async (em) => { … }');
    await seed(em);
  };
}

async function discover(
  declaration: Declaration,
  catalog: Catalog,
  options: Omit<MapperOptions, 'entities'>,
  report: Report,
): Promise<Mapper | null> {
  const missing = missingModule(declaration.database.url);
  if (missing !== null) {
    report.add(['app_main', 'database', 'url'], missing);
    return null;
  }
  const foreign = catalog.models.find(({ value }) => isOfOtherCopy(value));
  if (foreign) {
    report.add([foreign.qualifiedName], otherCopyMessage(options.directory));
    return null;
  }
  for (const { value } of catalog.models) noteAccessors(EntitySchema.is(value) ? value.meta.class : value);
  try {
    const mapper = await createMapper(declaration.database, {
      ...options,
      entities: catalog.models.map(({ value }) => value),
    });
    useConstructors(mapper);
    return mapper;
  } catch (error) {
    const path = error instanceof MissingPackage ? ['app_main', 'database', 'url'] : ['src/models'];
    report.add(path, (error as Error).message);
    return null;
  }
}

/** One instance of each class of a kind. An error of a constructor is added to the report, or thrown without a report. */
export function instancesOf<Instance extends object>(
  exported: Catalog['voters'],
  isKind: (value: unknown) => value is Creatable<Instance>,
  create: Create,
  report?: Report,
): Instance[] {
  return exported.flatMap(({ name, qualifiedName, value }) => {
    if (!isKind(value)) return [];
    try {
      return [create(value)];
    } catch (error) {
      if (!report) throw error;
      report.add([qualifiedName], `${name} cannot be created: ${(error as Error)?.message ?? error}`);
      return [];
    }
  });
}
