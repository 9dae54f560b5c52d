import type { Executor, Statement } from '../database/executor.ts';

/** Milliseconds for which the database may take to answer a question that takes it none. */
const patience = 1000;

/** Milliseconds for which an answer is good, so that those who ask often do no work. */
const fresh = 500;

const question: Statement = { name: 'declarest_ready', text: 'select 1', wide: false };

/** Asks the database whether it answers, at most once at a time; gives up soon, and never throws. */
export function databaseProbe(executor: Pick<Executor, 'rows'>): () => Promise<boolean> {
  let asked: Promise<boolean> | null = null;
  let known: { readonly answers: boolean; readonly at: number } | null = null;

  async function ask(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(resolve, patience, false);
    executor.rows(question, []).then(
      () => resolve(true),
      () => resolve(false),
    );
    const answers = await promise;
    clearTimeout(timer);
    known = { answers, at: performance.now() };
    return answers;
  }

  return () => {
    if (known && performance.now() - known.at < fresh) return Promise.resolve(known.answers);
    asked ??= ask().finally(() => {
      asked = null;
    });
    return asked;
  };
}
