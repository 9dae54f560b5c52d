import { readFileSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

let isLoaded = false;

/**
 * Loads MikroORM in a third of the usual time. With Kysely, it has more than four hundred files, and Node looks each of them up in
 * several places. Imports of one file by another in the same package need no search.
 */
export function loadMikroOrm(): void {
  if (isLoaded) return;
  isLoaded = true;
  const inPackage = /\/node_modules\/(?:@mikro-orm|kysely)\/.*\.js$/;
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const { parentURL } = context;
      if (parentURL === undefined || !specifier.startsWith('.') || !inPackage.test(parentURL)) return next(specifier, context);
      return { url: new URL(specifier, parentURL).href, format: 'module', shortCircuit: true };
    },
    load(url, context, next) {
      if (!inPackage.test(url)) return next(url, context);
      return { format: 'module', source: readFileSync(fileURLToPath(url), 'utf8'), shortCircuit: true };
    },
  });
  try {
    createRequire(import.meta.url)('@mikro-orm/sql');
  } catch {
    // the import that follows reports the error
  } finally {
    // hooks slow down other imports
    hooks.deregister();
  }
}
