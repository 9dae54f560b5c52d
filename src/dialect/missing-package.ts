import { createRequire } from 'node:module';

/** A package of MikroORM that an application must install, in the version of the others. */
export class MissingPackage extends Error {
  constructor(name: string, purpose: string, cause: unknown) {
    const { version } = createRequire(import.meta.url)('@mikro-orm/core/package.json');
    super(`${purpose} needs the package ${name}, which is not installed; run "npm install ${name}@${version}"`, { cause });
    this.name = 'MissingPackage';
  }
}

/** Runs work that imports a package, and reports that package if it is missing. */
export async function withPackage<Result>(name: string, purpose: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message?: string };
    if (code === 'ERR_MODULE_NOT_FOUND' && message?.includes(`'${name}'`)) throw new MissingPackage(name, purpose, error);
    throw error;
  }
}
