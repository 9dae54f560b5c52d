import { camelCased } from '../camel-case.ts';
import { type CheckContext, check } from '../check.ts';
import { unreadable } from '../placeholders.ts';
import { deepFreeze } from '../plain-object.ts';
import type { Report } from '../report.ts';
import { appMain, crudLoader, routes, type WrittenAppMain } from '../schema/schema.ts';
import { compressDefaults } from '../schema/settings-schema.ts';
import type { Source } from '../source.ts';
import type { Catalog, DatabaseDeclaration, Declaration, ExplorerDeclaration, SchemaMode, ServerDeclaration } from '../types.ts';
import { readApis, readRateLimit } from './read-apis.ts';
import { readCors } from './read-cors.ts';
import { readBoundGroups } from './read-groups.ts';
import { readRoutes } from './read-routes.ts';
import { readSecurity } from './read-security.ts';

interface ReadOptions {
  readonly production: boolean;
  /** The MikroORM configuration of the application, which has its database; null if there is none. */
  readonly orm?: { readonly url: string; readonly needsMapper?: boolean } | null;
}

/**
 * Checks the whole declaration, reports all errors, and returns the usable parts:
 * an API, key or route entry with an error in it is left out, any other wrong value is replaced by its default.
 */
export function readDeclaration(source: Source, catalog: Catalog, report: Report, options: ReadOptions): Declaration {
  const context: CheckContext = { report, catalog };
  const written = checkAppMain(source.value.app_main, context);
  const { database, exports, formats, openapi } = camelCased(written);
  const entries = source.value.routes === unreadable ? null : check(routes, source.value.routes, ['routes'], context);
  const routeEntries = entries ? readRoutes(entries, catalog, report) : [];
  return deepFreeze({
    apis: readApis(written, report, routeEntries.find(({ service }) => service === crudLoader.service)?.prefix),
    groups: readBoundGroups(written.groups),
    routes: routeEntries,
    database: readDatabase(database, options, report),
    security: readSecurity(written.security, catalog, report, options),
    server: readServer(written.server, report),
    exports,
    openapi: { ...openapi, docs: openapi.path === null ? null : openapi.docs },
    explorer: readExplorer(written, report),
    formats,
  });
}

/** The explorer reads the OpenAPI document. */
function readExplorer({ explorer, openapi }: WrittenAppMain, report: Report): ExplorerDeclaration {
  const needed = openapi.enabled === false ? 'openapi.enabled is false' : openapi.path === null ? 'openapi.path is null' : null;
  if (explorer && needed !== null) {
    const message = `the explorer needs the OpenAPI document, and ${needed}; serve the document, or set explorer to false`;
    report.add(['app_main', 'explorer'], message);
  }
  if (typeof explorer === 'object' && explorer !== null) return { enabled: true, login: explorer.login };
  return { enabled: explorer, login: null };
}

function readDatabase(
  database: ReturnType<typeof camelCased<WrittenAppMain>>['database'],
  { orm, production }: ReadOptions,
  report: Report,
): DatabaseDeclaration {
  const url = orm?.url ?? database.url;
  // the schema of an existing application belongs to that application
  const isOwned = production || Boolean(orm);
  const replicas = readReplicas(database.replicas, url, Boolean(orm?.needsMapper), report);
  return { ...database, url, schema: database.schema ?? defaultSchema(url, isOwned), replicas };
}

function readReplicas(
  written: readonly (string | null)[],
  primary: string,
  needsMapper: boolean,
  report: Report,
): readonly string[] {
  const at = ['app_main', 'database', 'replicas'];
  const replicas = written.filter((url) => url !== null);
  // entries that were reported already are missing in the list
  const unusable = report.touches(at) ? -1 : written.findIndex((url) => url !== null && !URL.canParse(url));
  if (unusable >= 0) report.add([...at, unusable], 'the address cannot be read; write postgresql://user:password@host:5432/name');
  if (replicas.length > 0 && primary.startsWith('sqlite:'))
    report.add(at, 'SQLite has no replicas; remove replicas, or set database.url to a PostgreSQL server');
  if (replicas.length > 0 && needsMapper)
    report.add(
      at,
      'the MikroORM configuration has onQuery or forceEntityConstructor, so that every read uses the primary; remove these, or replicas',
    );
  return replicas;
}

/** A database in memory is new with every start: there is nothing to compare. */
function defaultSchema(url: string, isOwned: boolean): SchemaMode {
  return url === 'sqlite::memory:' || (url.startsWith('sqlite:') && !isOwned) ? 'update' : 'check';
}

function checkAppMain(value: unknown, context: CheckContext): WrittenAppMain {
  const written = check(appMain, value ?? {}, ['app_main'], context) ?? check(appMain, {}, ['app_main'], context);
  return written as WrittenAppMain;
}

function readServer(
  { compress, cors, health, rate_limit, request_id, ...written }: WrittenAppMain['server'],
  report: Report,
): ServerDeclaration {
  return {
    ...camelCased(written),
    compress: compress === true ? compressDefaults : compress || null,
    cors: cors && readCors(cors, report),
    rateLimit: rate_limit && readRateLimit('default', rate_limit),
    rateLimitStore: rate_limit?.store ?? 'memory',
    health: health ?? { live: null, ready: null },
    requestIdHeader: request_id,
  };
}
