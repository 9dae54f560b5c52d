import { registerHooks } from 'node:module';

let isLoaded = false;

/**
 * Loads MikroORM in half the usual time. With Kysely, it has more than four hundred files, and Node looks each of them up in several
 * places. A file that another one of the same package imports needs no search.
 */
export async function loadMikroOrm(): Promise<void> {
  if (isLoaded) return;
  isLoaded = true;
  const inPackage = /\/node_modules\/(?:@mikro-orm|kysely)\/[^?]*\.js$/;
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const { parentURL } = context;
      if (parentURL === undefined || !specifier.startsWith('.') || !inPackage.test(parentURL)) return next(specifier, context);
      return { url: new URL(specifier, parentURL).href, format: 'module', shortCircuit: true };
    },
  });
  try {
    await import('@mikro-orm/sql');
  } finally {
    // hooks slow down other imports
    hooks.deregister();
  }
}
