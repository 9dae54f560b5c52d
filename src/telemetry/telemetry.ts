import type { FastifyInstance } from 'fastify';
import type { AccessWatch } from '../access/access-watch.ts';
import type { StatementWatch } from '../database/statement-watch.ts';
import type { Declaration, ServerDeclaration } from '../declaration/types.ts';
import type { Problem } from '../errors.ts';
import type { TrafficWatch } from '../traffic/gate.ts';
import type { RequestIds } from '../traffic/request-id.ts';
import type { Metrics, MetricsReport } from './metrics.ts';
import { requestLog } from './request-log.ts';
import { attachRequests } from './seen-requests.ts';
import type { Tracing } from './tracing.ts';

/** The metrics of several processes that serve together. */
export interface SharedMetrics {
  /** Labels of the series of this process. */
  readonly labels: Readonly<Record<string, string>>;
  /** Takes the metrics of this process, and returns those of all processes as text. */
  share(own: () => Promise<MetricsReport>): () => Promise<string>;
}

/** The watches that a server's declaration enables. Without a watch, nothing is measured. */
export interface Telemetry {
  readonly watch: TrafficWatch | undefined;
  readonly statements: StatementWatch | undefined;
  readonly access: AccessWatch | undefined;
  readonly onProblem: ((found: Problem) => void) | undefined;
  readonly metrics: Metrics | null;
}

interface TelemetryOptions {
  readonly ids: RequestIds | null;
  /** Paths that are polled, such as health checks. */
  readonly isQuiet: (url: string) => boolean;
  readonly shared?: SharedMetrics | undefined;
  /** Whether responses have a `Server-Timing` header. */
  readonly timing: boolean;
  /** Null unless an SDK of OpenTelemetry was registered. */
  readonly tracing: Tracing | null;
}

/** Sets up the declared telemetry, before anything is mounted. */
export async function watchServer(
  app: FastifyInstance,
  { metrics: declared }: ServerDeclaration,
  { ids, isQuiet, shared, timing, tracing }: TelemetryOptions,
): Promise<Telemetry> {
  const metrics = declared ? new (await import('./metrics.ts')).Metrics(shared?.labels) : null;
  if (metrics) app.addHook('onClose', async () => metrics.close());
  const logged = isInfoLogged(app) ? requestLog(app.log, ids, isQuiet) : null;
  const watches = [logged, metrics?.requests, tracing].filter((watch) => watch !== null && watch !== undefined);
  if (watches.length > 0) attachRequests(app);
  const phases = timing || tracing ? (await import('./phases.ts')).followPhases(app, timing, tracing) : null;
  const problems = [metrics?.requests.problem, tracing?.problem].filter((report) => report !== undefined);
  return {
    metrics,
    watch: together(watches),
    access: phases?.access,
    statements: metrics || phases ? { ...metrics?.statements, ...(phases && { waits: phases.waits }) } : undefined,
    onProblem: problems.length > 0 ? (found) => void problems.map((report) => report(found)) : undefined,
  };
}

function isInfoLogged({ log }: FastifyInstance): boolean {
  return (log as { isLevelEnabled?(level: string): boolean }).isLevelEnabled?.('info') ?? false;
}

/** All watches as one; undefined if there are none. */
function together(watches: readonly TrafficWatch[]): TrafficWatch | undefined {
  if (watches.length <= 1) return watches[0];
  return {
    closed: (...args) => watches.forEach((watch) => void watch.closed(...args)),
    refused: (...args) => watches.forEach((watch) => void watch.refused?.(...args)),
    givenUp: (...args) => watches.forEach((watch) => void watch.givenUp?.(...args)),
  };
}

/** The key under which every copy of OpenTelemetry's API stores the registered SDK. */
const registered = Symbol.for('opentelemetry.js.api.1');

/** Creates spans if the application registered an SDK of OpenTelemetry; otherwise null, and nothing is loaded. */
export async function tracingOf(directory: string, declaration: Declaration): Promise<Tracing | null> {
  if (!(globalThis as { [registered]?: { readonly trace?: unknown } })[registered]?.trace) return null;
  return (await import('./tracing.ts')).loadTracing(directory, declaration);
}
