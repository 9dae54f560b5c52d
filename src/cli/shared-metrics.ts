import type { Worker } from 'node:cluster';
import { AggregatorRegistry, Gauge, Registry } from 'prom-client';
import type { MetricsReport } from '../telemetry/metrics.ts';
import type { SharedMetrics } from '../telemetry/telemetry.ts';

/** Milliseconds that a process may take to tell its metrics. One that is busy for longer is left out, and marked as such. */
const patience = 1000;

/** Milliseconds that the process which looks after the others may take to tell those of all. */
const longPatience = 2 * patience;

/** A worker asks for the metrics of all; each is asked for its own; whoever asked is told all of them. */
type Message =
  | { readonly metrics: 'ask' | 'give'; readonly id: number }
  | { readonly metrics: 'given'; readonly id: number; readonly report: MetricsReport }
  | { readonly metrics: 'all'; readonly id: number; readonly text: string };

function isMessage(message: unknown): message is Message {
  return typeof message === 'object' && message !== null && 'metrics' in message;
}

/** The metrics of a process that is one of several: whichever of them is asked tells those of all. */
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
      const timer = setTimeout(() => own().then((report) => textOf([report]).then(settle)), longPatience);
      waiting.set(id, settle);
      send({ metrics: 'ask', id });
    });
}

/** Passes on what workers ask each other. */
export class MetricsRelay {
  readonly #workers = new Map<string, Worker>();
  readonly #collecting = new Map<number, (name: string, report: MetricsReport) => void>();
  #last = 0;

  /** A worker was started; another of the same name, if there was one, has ended. */
  add(name: string, worker: Worker): void {
    this.#workers.set(name, worker);
    worker.on('message', (message: unknown) => {
      if (!isMessage(message)) return;
      if (message.metrics === 'given') this.#collecting.get(message.id)?.(name, message.report);
      if (message.metrics === 'ask') {
        const { id } = message;
        this.#collect().then((text) => tell(worker, { metrics: 'all', id, text }));
      }
    });
  }

  async #collect(): Promise<string> {
    const id = ++this.#last;
    const given = new Map<string, MetricsReport>();
    const asked = [...this.#workers].filter(([, worker]) => tell(worker, { metrics: 'give', id }));
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, patience);
      this.#collecting.set(id, (name, report) => {
        given.set(name, report);
        if (given.size < asked.length) return;
        clearTimeout(timer);
        resolve();
      });
    });
    this.#collecting.delete(id);
    const registry = new Registry();
    const up = new Gauge({
      name: 'worker_up',
      help: '1 where the process told its metrics.',
      labelNames: ['worker'],
      registers: [registry],
    });
    for (const worker of this.#workers.keys()) up.set({ worker }, given.has(worker) ? 1 : 0);
    const sorted = [...given].sort(([one], [other]) => Number(one) - Number(other));
    return textOf([await registry.getMetricsAsJSON(), ...sorted.map(([, report]) => report)]);
  }
}

/** Metrics of several processes, whose labels tell them apart. */
function textOf(reports: MetricsReport[]): Promise<string> {
  return AggregatorRegistry.aggregate(reports).metrics();
}

/** Whether there is anybody to tell. */
function tell(worker: Worker, message: Message): boolean {
  if (!worker.isConnected()) return false;
  // one that ends meanwhile is noticed elsewhere
  worker.send(message, () => undefined);
  return true;
}
