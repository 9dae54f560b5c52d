/** A class whose instances the framework needs: a controller, voter, authenticator, denormalizer, normalizer or service. */
// biome-ignore lint/suspicious/noExplicitAny: a constructor takes what the factory gives it
export type Creatable<Instance extends object = object> = new (...args: any[]) => Instance;

/** Makes an instance of a class of the application, such as by a container for dependency injection. */
export type Create = <Instance extends object>(type: Creatable<Instance>) => Instance;

const withoutArguments: Create = (type) => new type();

/** The factory of an application, with a check that it returns an instance of the requested class, and not a promise. */
export function checkedCreate(given: Create | undefined): Create {
  if (given === undefined) return withoutArguments;
  return (type) => {
    const made: unknown = given(type);
    if (made instanceof type) return made;
    if (isThenable(made)) {
      // the promise is not used, so its rejection must not count as unhandled
      made.then(undefined, () => undefined);
      throw new TypeError(
        `the factory "create" must return an instance of ${type.name}, not a promise; prepare its dependencies before the application starts`,
      );
    }
    throw new TypeError(`the factory "create" must return an instance of ${type.name}; it returned ${nameOf(made)}`);
  };
}

function isThenable(made: unknown): made is PromiseLike<unknown> {
  return typeof (made as { then?: unknown } | null)?.then === 'function';
}

function nameOf(made: unknown): string {
  if (typeof made !== 'object' || made === null) return String(made);
  return `an instance of ${made.constructor?.name ?? 'no class'}`;
}
