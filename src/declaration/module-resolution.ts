import module from 'node:module';

let registered = false;

/** The modules of the running bundle by their import names; empty without a bundle. */
let bundled: Readonly<Record<string, string>> = {};

/** Sets the modules of the running bundle. A second copy of them would not recognize the classes of this one. */
export function useBundle(modules: Readonly<Record<string, string>>): void {
  bundled = modules;
}

/**
 * Lets the modules of an application in any directory import this package and its dependencies (decision 10).
 *
 * `declarest` is always the running copy: a class that extends the `Voter` of another copy would not be recognized as a voter.
 * All other packages are resolved next to the application first.
 */
export function resolveFromHere(): void {
  if (registered) return;
  registered = true;
  // Bun has no such hooks: there, modules of an application find packages beside it only
  module.registerHooks?.({
    resolve(specifier, context, next) {
      if (Object.hasOwn(bundled, specifier)) return { url: bundled[specifier] as string, format: 'module', shortCircuit: true };
      const here = { ...context, parentURL: import.meta.url };
      if (/^declarest(\/|$)/.test(specifier)) return next(specifier, here);
      if (!/^[@a-z0-9]/i.test(specifier) || /^[a-z]+:/i.test(specifier)) return next(specifier, context);
      try {
        return next(specifier, context);
      } catch (error) {
        if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
        try {
          return next(specifier, here);
        } catch {
          throw error;
        }
      }
    },
  });
}
