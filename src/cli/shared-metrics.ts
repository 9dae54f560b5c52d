import type { Worker } from 'node:cluster';
import { AggregatorRegistry, Gauge, Registry } from 'prom-client';
import type { MetricsReport } from '../telemetry/metrics.ts';
import type { SharedMetrics } from '../telemetry/telemetry.ts';

/** Milliseconds that a worker has to send its metrics. A slower worker is left out, and has 0 in `worker_up`. */
const workerTimeout = 1000;

/** Milliseconds that the primary process has to send the metrics of all workers. */
const totalTimeout = 2 * workerTimeout;

/** A worker asks the primary process. It requests the metrics of all workers, and sends their sum back. */
type Message =
  | { readonly metrics: 'ask' | 'give'; readonly id: number }
  | { readonly metrics: 'given'; readonly id: number; readonly report: MetricsReport }
  | { readonly metrics: 'all'; readonly id: number; readonly text: string };

function isMessage(message: unknown): message is Message {
  return typeof message === 'object' && message !== null && 'metrics' in message;
}

/** The metrics of one of several workers: each of them responds with the metrics of all. */
export function workerMetrics(name: string): SharedMetrics {
  return { labels: { worker: name }, share: shareWithOthers };
}

function shareWithOthers(own: () => Promise<MetricsReport>): () => Promise<string> {
  const waiting = new Map<number, (text: string) => void>();
  let last = 0;
  process.on('message', (message) => {
    if (!isMessage(message)) return;
    if (message.metrics === 'give') own().then((report) => send({ metrics: 'given', id: message.id, report }));
    if (message.metrics === 'all') waiting.get(message.id)?.(message.text);
  });
  const send = (message: Message) => void (process.connected && process.send?.(message));
  return () =>
    new Promise((resolve) => {
      const id = ++last;
      const settle = (text: string) => {
        clearTimeout(timer);
        waiting.delete(id);
        resolve(text);
      };
      const timer = setTimeout(() => own().then((report) => textOf([report]).then(settle)), totalTimeout);
      waiting.set(id, settle);
      send({ metrics: 'ask', id });
    });
}

/** Collects the metrics of all workers for any worker that asks. Returns the function that is called with each started worker. */
export function relayMetrics(): (name: string, worker: Worker) => void {
  const workers = new Map<string, Worker>();
  const collecting = new Map<number, (name: string, report: MetricsReport) => void>();
  let last = 0;

  async function collect(): Promise<string> {
    const id = ++last;
    const given = new Map<string, MetricsReport>();
    const requested = [...workers].filter(([, worker]) => sendTo(worker, { metrics: 'give', id }));
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, workerTimeout);
      collecting.set(id, (name, report) => {
        given.set(name, report);
        if (given.size < requested.length) return;
        clearTimeout(timer);
        resolve();
      });
    });
    collecting.delete(id);
    const registry = new Registry();
    const help = '1 if the process reported its metrics.';
    const up = new Gauge({ name: 'worker_up', help, labelNames: ['worker'], registers: [registry] });
    for (const worker of workers.keys()) up.set({ worker }, given.has(worker) ? 1 : 0);
    const sorted = [...given].sort(([one], [other]) => Number(one) - Number(other));
    return textOf([await registry.getMetricsAsJSON(), ...sorted.map(([, report]) => report)]);
  }

  return (name, worker) => {
    // another worker of the same name has ended
    workers.set(name, worker);
    worker.on('message', (message: unknown) => {
      if (!isMessage(message)) return;
      const { id } = message;
      if (message.metrics === 'given') collecting.get(id)?.(name, message.report);
      if (message.metrics === 'ask') collect().then((text) => sendTo(worker, { metrics: 'all', id, text }));
    });
  };
}

/** The metrics of several processes, distinguished by labels. */
function textOf(reports: MetricsReport[]): Promise<string> {
  return AggregatorRegistry.aggregate(reports).metrics();
}

/** Sends a message to a worker; false if it is disconnected. */
function sendTo(worker: Worker, message: Message): boolean {
  if (!worker.isConnected()) return false;
  // the exit of a worker is handled elsewhere
  worker.send(message, () => undefined);
  return true;
}
