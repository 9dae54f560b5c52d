import type { FastifyInstance } from 'fastify';
import type { AccessWatch } from '../access/access-watch.ts';
import type { StatementWatch } from '../database/statement-watch.ts';
import type { ServerDeclaration } from '../declaration/types.ts';
import { dialectName } from '../dialect/address.ts';
import type { Problem } from '../errors.ts';
import type { TrafficWatch } from '../traffic/gate.ts';
import type { RequestIds } from '../traffic/request-id.ts';
import type { Metrics, MetricsReport } from './metrics.ts';
import { requestLog } from './request-log.ts';
import { noteRequests } from './seen-requests.ts';
import type { Tracing } from './tracing.ts';

/** How one of several processes tells of all of them. */
export interface SharedMetrics {
  /** What the series of this process are marked with. */
  readonly labels: Readonly<Record<string, string>>;
  /** Takes what gives the metrics of this process, and gives what asks for those of all, as text. */
  share(own: () => Promise<MetricsReport>): () => Promise<string>;
}

/** Those who watch a server, as far as anybody wants to know. What nobody wants to know is not even looked at. */
export interface Telemetry {
  readonly watch: TrafficWatch | undefined;
  readonly statements: StatementWatch | undefined;
  readonly access: AccessWatch | undefined;
  readonly onProblem: ((found: Problem) => void) | undefined;
  readonly metrics: Metrics | null;
}

export interface TelemetryOptions {
  readonly ids: RequestIds | null;
  /** Paths that are asked for all the time. */
  readonly isQuiet: (url: string) => boolean;
  readonly shared?: SharedMetrics | undefined;
  /** Whether answers tell what their time was spent on. */
  readonly timing: boolean;
  /** Where an SDK of OpenTelemetry was registered. */
  readonly tracing: Tracing | null;
}

/** Sets up what is declared, before anything is mounted. */
export async function watchServer(
  app: FastifyInstance,
  { metrics: declared }: ServerDeclaration,
  { ids, isQuiet, shared, timing, tracing }: TelemetryOptions,
): Promise<Telemetry> {
  const metrics = declared ? new (await import('./metrics.ts')).Metrics(shared?.labels) : null;
  if (metrics) app.addHook('onClose', async () => metrics.close());
  const logged = isInfoLogged(app) ? requestLog(app.log, ids, isQuiet) : null;
  const watches = [logged, metrics?.requests, tracing].filter((watch) => watch !== null && watch !== undefined);
  if (watches.length > 0) noteRequests(app);
  const phases = timing || tracing ? (await import('./phases.ts')).followPhases(app, timing, tracing) : null;
  const problems = [metrics?.requests.problem, tracing?.problem].filter((told) => told !== undefined);
  return {
    metrics,
    watch: together(watches),
    access: phases?.access,
    statements: metrics || phases ? { ...metrics?.statements, ...(phases && { waits: phases.waits }) } : undefined,
    onProblem: problems.length > 0 ? (found) => void problems.map((tell) => tell(found)) : undefined,
  };
}

function isInfoLogged({ log }: FastifyInstance): boolean {
  return (log as { isLevelEnabled?(level: string): boolean }).isLevelEnabled?.('info') ?? false;
}

/** All of them as one; undefined where there are none. */
function together(watches: readonly TrafficWatch[]): TrafficWatch | undefined {
  if (watches.length <= 1) return watches[0];
  return {
    closed(response, since) {
      for (const watch of watches) watch.closed(response, since);
    },
    refused(request, found, reason) {
      for (const watch of watches) watch.refused(request, found, reason);
    },
    givenUp(found) {
      for (const watch of watches) watch.givenUp(found);
    },
  };
}

/** Where every copy of OpenTelemetry's API looks for what was registered. */
const registered = Symbol.for('opentelemetry.js.api.1');

/** What makes spans, where an application has brought an SDK of OpenTelemetry and registered it; else null, and nothing is loaded. */
export async function tracingOf(directory: string, databaseUrl: string): Promise<Tracing | null> {
  if (!(globalThis as { [registered]?: { readonly trace?: unknown } })[registered]?.trace) return null;
  const { loadOpenTelemetry } = await import('./opentelemetry.ts');
  const api = await loadOpenTelemetry(directory);
  if (!api) return null;
  const { Tracing: Spans } = await import('./tracing.ts');
  return new Spans(api, dialectName(databaseUrl));
}
