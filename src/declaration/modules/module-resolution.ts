import module from 'node:module';
import { resolveSibling } from './many-modules.ts';

let registered = false;

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
      const sibling = resolveSibling(specifier, context.parentURL);
      if (sibling) return sibling;
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
