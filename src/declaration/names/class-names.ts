import { didYouMean, listed, nearest } from '../suggest.ts';
import type { Catalog, Exported } from '../vocabulary.ts';

type ClassKind = 'models' | 'controllers' | 'authenticators';

/** The name of a kind of class in errors. */
export const classWords: Readonly<Record<ClassKind, string>> = {
  models: 'model class',
  controllers: 'controller class',
  authenticators: 'authenticator class',
};

/** A MikroORM schema and the class it describes are the same model: the class identifies both. */
export function identityOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { class: described } = value as { class?: unknown };
  return typeof described === 'function' ? described : value;
}

/** The name of a class, or of the class that a MikroORM schema describes; null if it has none. */
export function nameOf(value: unknown): string | null {
  if (typeof value !== 'function' && (typeof value !== 'object' || value === null)) return null;
  const { name } = value as { name?: unknown };
  return typeof name === 'string' && name !== '' ? name : null;
}

/** Finds a class by the name or the class in a declaration. Reports an error and returns undefined unless exactly one matches. */
export function resolveClass(
  kind: ClassKind,
  given: unknown,
  catalog: Catalog,
  fail: (message: string) => void,
): Exported | undefined {
  const known = catalog[kind];
  const what = classWords[kind];
  if (typeof given !== 'string') {
    const identity = identityOf(given);
    const found = known.find(({ value }) => value === given || identityOf(value) === identity);
    if (!found)
      fail(
        `the ${what} ${nameOf(given) ?? 'without a name'} is not one of the ${kind} of the application; known: ${names(known)}`,
      );
    return found;
  }
  const matching = known.filter(({ name, qualifiedName }) => name === given || qualifiedName === given);
  if (matching.length === 1) return matching[0];
  if (matching.length > 1) {
    fail(`the ${what} "${given}" is ambiguous; write one of: ${listed(matching.map(({ qualifiedName }) => qualifiedName))}`);
  } else {
    const candidates = known.flatMap(({ name, qualifiedName }) => (given.includes('#') ? [qualifiedName] : [name]));
    fail(`unknown ${what} "${given}";${didYouMean(given, candidates) || namespaceHint(given, known)} known: ${names(known)}`);
  }
  return undefined;
}

/** Suggests a known name for one with an unknown namespace or module, such as `App\Entity\Person`; empty if none is near. */
function namespaceHint(given: string, known: readonly Exported[]): string {
  const bare = given.split(/[\\/.:#]+/).at(-1) as string;
  if (bare === given) return '';
  const meant = nearest(bare, new Set(known.map(({ name }) => name)));
  const found = known.filter(({ name }) => name === meant);
  const [first] = found;
  if (!first) return '';
  const name = found.length > 1 ? found.map(({ qualifiedName }) => `"${qualifiedName}"`).join(' or ') : `"${first.name}"`;
  return ` write ${name}, without a namespace;`;
}

/** Bare names if they are unique, else qualified ones. */
function names(known: readonly Exported[]): string {
  const count = (name: string) => known.filter((other) => other.name === name).length;
  return listed(known.map(({ name, qualifiedName }) => (count(name) > 1 ? qualifiedName : name)));
}
