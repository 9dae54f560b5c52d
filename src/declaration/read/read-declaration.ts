import { type CheckContext, check } from '../check.ts';
import { unreadable } from '../placeholders.ts';
import type { Report } from '../report.ts';
import { appMain, routes, type WrittenAppMain } from '../schema.ts';
import type { Source } from '../source.ts';
import type { Catalog, DatabaseDeclaration, Declaration, OpenApiDeclaration, ServerDeclaration } from '../types.ts';
import { readApis } from './read-apis.ts';
import { readRateLimit } from './read-rate-limit.ts';
import { readRoutes } from './read-routes.ts';
import { readSecurity } from './read-security.ts';

/**
 * Checks all that was written, reports all that is wrong, and returns what can be used:
 * an API, key or route entry with an error in it is left out, any other wrong value is replaced by its default.
 */
export function readDeclaration(source: Source, catalog: Catalog, report: Report, options: { production: boolean }): Declaration {
  const context: CheckContext = { report, catalog };
  const written = checkAppMain(source.value.app_main, context);
  const entries = source.value.routes === unreadable ? null : check(routes, source.value.routes, ['routes'], context);
  return Object.freeze({
    apis: readApis(written, report),
    routes: entries ? readRoutes(entries, catalog, report) : Object.freeze([]),
    database: readDatabase(written.database),
    security: readSecurity(written.security, catalog, report, options),
    server: readServer(written.server),
    exports: Object.freeze({ atOnce: written.exports.at_once, stallTimeout: written.exports.stall_timeout }),
    openapi: readOpenApi(written.openapi),
    formats: Object.freeze([...written.formats]),
  });
}

function checkAppMain(value: unknown, context: CheckContext): WrittenAppMain {
  const written = check(appMain, value ?? {}, ['app_main'], context) ?? check(appMain, {}, ['app_main'], context);
  return written as WrittenAppMain;
}

function readDatabase(written: WrittenAppMain['database']): DatabaseDeclaration {
  const {
    url,
    pool,
    connect_timeout: connectTimeout,
    statement_timeout: statementTimeout,
    prepared_statements: preparedStatements,
  } = written;
  const schema = written.schema ?? (url.startsWith('sqlite:') ? 'update' : 'none');
  return Object.freeze({ url, schema, pool, connectTimeout, statementTimeout, preparedStatements });
}

function readOpenApi(written: WrittenAppMain['openapi']): OpenApiDeclaration {
  return Object.freeze({ ...written, docs: written.path === null ? null : written.docs });
}

function readServer(written: WrittenAppMain['server']): ServerDeclaration {
  const { host, port, health, idempotency } = written;
  return Object.freeze({
    host,
    port,
    baseUrl: written.base_url,
    bodyLimit: written.body_limit,
    jsonDepth: written.json_depth,
    urlLimit: written.url_limit,
    headerLimit: written.header_limit,
    maxParameters: written.max_parameters,
    parameterLimit: written.parameter_limit,
    headerTimeout: written.header_timeout,
    requestTimeout: written.request_timeout,
    handlerTimeout: written.handler_timeout,
    keepAliveTimeout: written.keep_alive_timeout,
    maxConcurrent: written.max_concurrent,
    busyConcurrent: written.busy_concurrent,
    shutdownTimeout: written.shutdown_timeout,
    trustProxy: Object.freeze([...written.trust_proxy]),
    rateLimit: written.rate_limit && readRateLimit('default', written.rate_limit),
    rateLimitStore: written.rate_limit?.store ?? 'memory',
    idempotency: idempotency && Object.freeze({ ttl: idempotency.ttl, answerLimit: idempotency.answer_limit }),
    requireIfMatch: written.require_if_match,
    health: Object.freeze({ live: health?.live ?? null, ready: health?.ready ?? null }),
    requestIdHeader: written.request_id,
    metrics: written.metrics && Object.freeze({ ...written.metrics }),
    timing: written.timing,
    log: Object.freeze({ level: written.log.level, redact: Object.freeze([...written.log.redact]) }),
  });
}
