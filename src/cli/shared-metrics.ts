import type { Worker } from 'node:cluster';
import { type Family, familyOf } from '../telemetry/exposition.ts';
import type { SharedMetrics } from '../telemetry/telemetry.ts';

/** Milliseconds that a process may take to tell its metrics. One that is busy for longer is left out, and marked as such. */
const patience = 1000;

/** Milliseconds that the process which looks after the others may take to tell those of all. */
const longPatience = 2 * patience;

/** A worker asks for the metrics of all; each is asked for its own; whoever asked is told all of them. */
type Message =
  | { readonly metrics: 'ask' | 'give'; readonly id: number }
  | { readonly metrics: 'given' | 'all'; readonly id: number; readonly families: readonly Family[] };

function isMessage(message: unknown): message is Message {
  return typeof message === 'object' && message !== null && 'metrics' in message;
}

/** The metrics of a process that is one of several: whichever of them is asked tells those of all. */
export function workerMetrics(name: string): SharedMetrics {
  return { labels: { worker: name }, share: shareWithOthers };
}

function shareWithOthers(own: () => readonly Family[]): () => Promise<readonly Family[]> {
  const waiting = new Map<number, (families: readonly Family[]) => void>();
  let last = 0;
  process.on('message', (message) => {
    if (!isMessage(message)) return;
    if (message.metrics === 'give') send({ metrics: 'given', id: message.id, families: own() });
    if (message.metrics === 'all') waiting.get(message.id)?.(message.families);
  });
  const send = (message: Message) => void (process.connected && process.send?.(message));
  return () =>
    new Promise((resolve) => {
      const id = ++last;
      const settle = (families: readonly Family[]) => {
        clearTimeout(timer);
        waiting.delete(id);
        resolve(families);
      };
      const timer = setTimeout(() => settle(own()), longPatience);
      waiting.set(id, settle);
      send({ metrics: 'ask', id });
    });
}

/** Passes on what workers ask each other. */
export class MetricsRelay {
  readonly #workers = new Map<string, Worker>();
  readonly #collecting = new Map<number, (name: string, families: readonly Family[]) => void>();
  #last = 0;

  /** A worker was started; another of the same name, if there was one, has ended. */
  add(name: string, worker: Worker): void {
    this.#workers.set(name, worker);
    worker.on('message', (message: unknown) => {
      if (!isMessage(message)) return;
      if (message.metrics === 'given') this.#collecting.get(message.id)?.(name, message.families);
      if (message.metrics === 'ask') {
        const { id } = message;
        this.#collect().then((families) => tell(worker, { metrics: 'all', id, families }));
      }
    });
  }

  async #collect(): Promise<readonly Family[]> {
    const id = ++this.#last;
    const given = new Map<string, readonly Family[]>();
    const asked = [...this.#workers].filter(([, worker]) => tell(worker, { metrics: 'give', id }));
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, patience);
      this.#collecting.set(id, (name, families) => {
        given.set(name, families);
        if (given.size < asked.length) return;
        clearTimeout(timer);
        resolve();
      });
    });
    this.#collecting.delete(id);
    const up = [...this.#workers.keys()].map((worker) => [{ worker }, given.has(worker) ? 1 : 0] as const);
    const told = familyOf({ name: 'worker_up', help: '1 where the process told its metrics.', type: 'gauge' }, up, {});
    return [told, ...[...given].sort(([one], [other]) => Number(one) - Number(other)).flatMap(([, families]) => families)];
  }
}

/** Whether there is anybody to tell. */
function tell(worker: Worker, message: Message): boolean {
  if (!worker.isConnected()) return false;
  // one that ends meanwhile is noticed elsewhere
  worker.send(message, () => undefined);
  return true;
}
