import type { FastifyInstance } from 'fastify';
import type { StatementWatch } from '../database/statement-watch.ts';
import type { ServerDeclaration } from '../declaration/types.ts';
import type { Problem } from '../errors.ts';
import type { TrafficWatch } from '../traffic/gate.ts';
import type { RequestIds } from '../traffic/request-id.ts';
import type { Family, Labels } from './exposition.ts';
import type { Metrics } from './metrics.ts';
import { requestLog } from './request-log.ts';
import { noteRequests } from './seen-requests.ts';

/** How one of several processes tells of all of them. */
export interface SharedMetrics {
  /** What the series of this process are marked with. */
  readonly labels: Labels;
  /** Takes what gives the metrics of this process, and gives what asks for those of all. */
  share(own: () => readonly Family[]): () => Promise<readonly Family[]>;
}

/** Those who watch a server, as far as anybody wants to know. What nobody wants to know is not even looked at. */
export interface Telemetry {
  readonly watch: TrafficWatch | undefined;
  readonly statements: StatementWatch | undefined;
  readonly onProblem: ((found: Problem) => void) | undefined;
  readonly metrics: Metrics | null;
}

export interface TelemetryOptions {
  readonly ids: RequestIds | null;
  /** Paths that are asked for all the time. */
  readonly isQuiet: (url: string) => boolean;
  readonly shared?: SharedMetrics | undefined;
}

/** Sets up what is declared, before anything is mounted. */
export async function watchServer(
  app: FastifyInstance,
  { metrics: declared }: ServerDeclaration,
  { ids, isQuiet, shared }: TelemetryOptions,
): Promise<Telemetry> {
  const metrics = declared ? new (await import('./metrics.ts')).Metrics(shared?.labels) : null;
  if (metrics) app.addHook('onClose', async () => metrics.close());
  const watches = [...(isInfoLogged(app) ? [requestLog(app.log, ids, isQuiet)] : []), ...(metrics ? [metrics.requests] : [])];
  if (watches.length > 0) noteRequests(app);
  return { metrics, watch: together(watches), statements: metrics?.statements, onProblem: metrics?.requests.problem };
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
