import { setTimeout as sleep } from 'node:timers/promises';
import type { Executor, Statement } from '../database/executor.ts';

/** Milliseconds after which a database that does not respond counts as unavailable. */
const timeout = 1000;

/** Milliseconds for which a result is reused, so that frequent checks cost nothing. */
const freshFor = 500;

const probe: Statement = { name: 'declarest_ready', text: 'select 1', wide: false };

/** Checks whether the database responds, at most once at a time. Never throws. */
export function databaseProbe(executor: Pick<Executor, 'rows'>): () => Promise<boolean> {
  let latest: Promise<boolean> | null = null;
  let freshUntil = 0;

  async function check(): Promise<boolean> {
    const responded = executor.rows(probe, []).then(
      () => true,
      () => false,
    );
    freshUntil = Number.POSITIVE_INFINITY;
    const isReady = await Promise.race([responded, sleep(timeout, false, { ref: false })]);
    freshUntil = performance.now() + freshFor;
    return isReady;
  }

  return () => {
    if (!latest || performance.now() >= freshUntil) latest = check();
    return latest;
  };
}
