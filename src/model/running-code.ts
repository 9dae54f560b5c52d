import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * For what code runs, such as the state of a request, and whether it is code of the application. Both are one value, because
 * Node copies all values of the current context whenever it runs code with another one.
 */
export class Running {
  readonly owner: object | null;
  readonly isApplication: boolean;
  #counterpart: Running | null;

  constructor(owner: object | null, isApplication = false, counterpart: Running | null = null) {
    this.owner = owner;
    this.isApplication = isApplication;
    this.#counterpart = counterpart;
  }

  /** The same owner, and code of the application or not. */
  as(isApplication: boolean): Running {
    if (this.isApplication === isApplication) return this;
    this.#counterpart ??= new Running(this.owner, isApplication, this);
    return this.#counterpart;
  }
}

const current = new AsyncLocalStorage<Running>();
const nothing = new Running(null);

export function running(): Running {
  return current.getStore() ?? nothing;
}

export function runWith<Result>(other: Running, work: () => Result): Result {
  return other === running() ? work() : current.run(other, work);
}
