/** The message for a value of another copy of MikroORM: its classes do not know those of this one. */
export function anotherCopy(what: string): string {
  return `${what} belongs to another copy of MikroORM; install one version of it ("npm ls @mikro-orm/core" shows all of them)`;
}
