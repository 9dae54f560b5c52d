import { maxViolations, Problem, type Violation, violationsProblem } from '../errors.ts';
import { isTurnLong, nextTurn } from '../event-loop.ts';

/** The problem of one item of a list. */
export function ofItem(error: Problem, index: number): Problem {
  const { cause, code, headers, members, message } = error;
  return new Problem(code, message, { headers, members: { ...members, index }, cause });
}

/** Collects the violations of all items of a list. Other problems end the request. */
export class ItemErrors {
  readonly #violations: Violation[] = [];

  /** Runs work for each item in order. Items that follow enough violations are left out. */
  async each<Item>(items: readonly Item[], work: (item: Item, index: number) => unknown): Promise<void> {
    for (const [index, item] of items.entries()) {
      if (this.#violations.length >= maxViolations) return;
      await this.of(index, () => work(item, index));
      await this.pause();
    }
  }

  /** Runs work for one item. */
  async of(index: number, work: () => unknown): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (error.code !== 'validation_failed') throw ofItem(error, index);
      for (const { propertyPath, ...rest } of error.members.violations as Violation[])
        this.#violations.push({ ...rest, propertyPath: propertyPath === '' ? `[${index}]` : `[${index}].${propertyPath}` });
    }
  }

  throwIfAny(): void {
    if (this.#violations.length > 0) throw violationsProblem(this.#violations);
  }

  /** Lets other requests run, if the work on this list has taken long. */
  async pause(): Promise<void> {
    if (isTurnLong()) await nextTurn();
  }
}
