import { registerHooks } from 'node:module';

let registered = false;

/**
 * Lets the modules of an application find this package, and what comes with it, wherever the application lies.
 *
 * `declarest` is always the running copy, for a class that extends another copy's `Voter` would not be known as a voter.
 * Everything else is looked for beside the application first.
 */
export function resolveFromHere(): void {
  if (registered) return;
  registered = true;
  registerHooks({
    resolve(specifier, context, next) {
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
