/** A package that an application must install for its database. */
export class MissingPackage extends Error {
  constructor(name: string, purpose: string, cause: unknown) {
    super(`${purpose} needs the package ${name}, which is not installed; run "npm install ${name}@^7"`, { cause });
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
