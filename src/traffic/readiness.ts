import { setTimeout as sleep } from 'node:timers/promises';
import type { Executor, Statement } from '../database/executor.ts';

/** Milliseconds that the database has to respond. */
const patience = 1000;

/** Milliseconds for which a result is reused, so that frequent checks cost nothing. */
const fresh = 500;

const question: Statement = { name: 'declarest_ready', text: 'select 1', wide: false };

/** Checks whether the database responds, at most once at a time. Never throws. */
export function databaseProbe(executor: Pick<Executor, 'rows'>): () => Promise<boolean> {
  let asked: Promise<boolean> | null = null;
  let freshUntil = 0;

  async function ask(): Promise<boolean> {
    const answered = executor.rows(question, []).then(
      () => true,
      () => false,
    );
    freshUntil = Number.POSITIVE_INFINITY;
    const answers = await Promise.race([answered, sleep(patience, false, { ref: false })]);
    freshUntil = performance.now() + fresh;
    return answers;
  }

  return () => {
    if (!asked || performance.now() >= freshUntil) asked = ask();
    return asked;
  };
}
