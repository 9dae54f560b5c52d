import module from 'node:module';

/** Packages with hundreds of ES modules. */
const inPackage = /\/node_modules\/(?:@mikro-orm|kysely)\/[^?]*\.js$/;

/**
 * Loads modules that import MikroORM, in half the usual time. With Kysely, it has more than four hundred files, and Node looks each of
 * them up in several places. A file that another one of the same package imports needs no search.
 */
export async function withFastImports<Result>(load: () => Promise<Result>): Promise<Result> {
  // Bun has no such hooks
  const hooks = module.registerHooks?.({
    resolve(specifier, context, next) {
      const { parentURL } = context;
      if (parentURL === undefined || !specifier.startsWith('.') || !inPackage.test(parentURL)) return next(specifier, context);
      return { url: new URL(specifier, parentURL).href, format: 'module', shortCircuit: true };
    },
  });
  try {
    return await load();
  } finally {
    // hooks slow down other imports
    hooks?.deregister();
  }
}
