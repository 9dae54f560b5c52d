import { setTimeout as sleep } from 'node:timers/promises';
import { databaseErrors } from '../../dialect/errors.ts';
import type { Executor } from '../executor.ts';
import type { ReadText } from './compare.ts';
import type { Difference } from './differences.ts';
import { isMissingColumn } from './missing-column.ts';
import { faultOf } from './schema-errors.ts';

/** Milliseconds for which a comparison is reused. */
const maxAge = 1000;

/** Milliseconds that a readiness check waits for a comparison. */
const comparisonTimeout = 1000;

/** Milliseconds for which failures of requests with the same cause are logged once. */
const logInterval = 60_000;

/** The maximum number of causes for which the time of the last log line is stored. */
const maxCauses = 200;

interface MonitorOptions {
  readonly compare: () => Promise<readonly Difference[]>;
  /** Whether readiness checks compare even if no request has failed. */
  readonly isStrict: boolean;
  /** Called when the differences change; with an empty list when the database matches the models again. */
  readonly onChange: (differences: readonly Difference[]) => void;
}

interface Comparison {
  readonly beganAt: number;
  result: Promise<readonly Difference[]>;
  isOver: boolean;
}

/** Checks whether the database still matches the models while an application runs. */
export class SchemaMonitor {
  readonly #options: MonitorOptions;
  #differences: readonly Difference[] = [];
  #latest: Comparison | null = null;
  #known = '';
  /** When a failure of a request was logged, by its cause. */
  readonly #logged = new Map<string, number>();

  constructor(options: MonitorOptions) {
    this.#options = options;
  }

  /** The differences that may have caused an error; null if the cause is another one, such as SQL of the application. */
  async blame(error: unknown): Promise<readonly Difference[] | null> {
    const differences = await this.#compare(performance.now());
    return differences.length > 0 || isMissingColumn(error) ? differences : null;
  }

  /** Whether to log that a request failed: once a minute for each cause, as every request may fail. */
  isNews(cause: string): boolean {
    const now = performance.now();
    if (now - (this.#logged.get(cause) ?? Number.NEGATIVE_INFINITY) < logInterval) return false;
    if (this.#logged.size >= maxCauses) this.#logged.clear();
    this.#logged.set(cause, now);
    return true;
  }

  /** Whether the database matches the models, for readiness checks. */
  async fits(): Promise<boolean> {
    const { isStrict } = this.#options;
    if (!isStrict && this.#differences.length === 0) return true;
    const compared = this.#compare(performance.now() - maxAge).catch(() => this.#differences);
    const differences = await Promise.race([compared, sleep(comparisonTimeout, this.#differences, { ref: false })]);
    // without a check at startup, differences other than missing tables and columns may be intended
    return !differences.some(({ kind }) => isStrict || kind === 'table' || kind === 'column');
  }

  /** Compares once, for a warning; readiness does not change. */
  async glance(onDifferences: (differences: readonly Difference[]) => void): Promise<void> {
    const differences = await this.#options.compare();
    if (differences.length > 0) onDifferences(differences);
  }

  /**
   * The result of a comparison that began no earlier than `since`. If it found differences, it may also be up to `maxAge` old.
   * One comparison runs at a time.
   */
  async #compare(since: number): Promise<readonly Difference[]> {
    for (;;) {
      const isOld = !this.#latest || (this.#latest.isOver && !isRecent(this.#latest, since, this.#differences));
      const comparison = isOld ? this.#begin() : (this.#latest as Comparison);
      const differences = await comparison.result;
      if (isRecent(comparison, since, differences)) return differences;
    }
  }

  #begin(): Comparison {
    const result = this.#options.compare();
    const comparison: Comparison = { beganAt: performance.now(), result, isOver: false };
    this.#latest = comparison;
    comparison.result = result.then(
      (differences) => {
        comparison.isOver = true;
        this.#note(differences);
        return differences;
      },
      (error: unknown) => {
        if (this.#latest === comparison) this.#latest = null;
        throw error;
      },
    );
    return comparison;
  }

  #note(differences: readonly Difference[]): void {
    this.#differences = differences;
    const known = differences.map(faultOf).join('\n');
    if (known === this.#known) return;
    this.#known = known;
    this.#options.onChange(differences);
  }
}

function isRecent({ beganAt }: Comparison, since: number, differences: readonly Difference[]): boolean {
  return beganAt >= (differences.length > 0 ? Math.min(since, performance.now() - maxAge) : since);
}

/** Whether the schema may be the cause of an error, such as a missing table or column, or one of another type. */
export function mayBeSchemaFault(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 8; depth++) {
    if (isMissingColumn(cause) || databaseErrors.isSchemaFault(cause)) return true;
    cause = cause.cause ?? (cause as { previous?: unknown }).previous;
  }
  return false;
}

/** Reads the catalogue through an executor, whose connections the application's own queries do not use. */
export function readBy(executor: Pick<Executor, 'rows'>): ReadText {
  return async (statement) => String((await executor.rows(statement, []))[0]?.[0]);
}
