import { existsSync, lstatSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CallFailure } from '../failure.ts';

/** Writes files into a directory. If one of them exists, or a file is in the place of a folder, nothing is written. */
export function writeNewFiles(directory: string, shown: string, files: ReadonlyMap<string, string>): void {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() === false)
    throw new CallFailure(`${shown} is a file; give a directory that is empty or does not exist`);
  try {
    makeFolder(directory);
  } catch (error) {
    throw new CallFailure(`cannot create the directory ${shown}: ${(error as Error).message}`);
  }
  const installed = installedDependencies(directory);
  const conflicts = new Set([...files.keys()].flatMap((path) => conflictOf(directory, path) ?? []));
  if (installed) conflicts.delete('package.json');
  if (conflicts.size > 0) {
    const list = [...conflicts].sort().map((path) => `\n  ${path}`);
    throw new CallFailure(
      `${shown} already has files that init would write. Nothing was written. Choose another directory, or move these files:${list.join('')}`,
    );
  }
  try {
    for (const [path, text] of files) {
      const file = join(directory, path);
      makeFolder(dirname(file));
      if (path === 'package.json' && installed) writeFileSync(file, withDependencies(text, installed));
      else writeFileSync(file, text, { flag: 'wx' });
    }
  } catch (error) {
    throw new CallFailure(`cannot write the application: ${(error as Error).message}`);
  }
}

/** Not `recursive: true`: with it, Node never returns if a directory such as /proc rejects new entries by ENOENT. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path);
}

/** The first part of a path that is in the way; null if the path is free. */
function conflictOf(directory: string, path: string): string | null {
  const parts = path.split('/');
  for (let depth = 1; depth <= parts.length; depth++) {
    const place = parts.slice(0, depth).join('/');
    const found = lstatSync(join(directory, place), { throwIfNoEntry: false });
    if (!found) return null;
    if (depth === parts.length || !statSync(join(directory, place), { throwIfNoEntry: false })?.isDirectory()) return place;
  }
  return null;
}

type Dependencies = Readonly<Record<string, unknown>>;

/**
 * The dependencies in a package.json that has nothing else. `npm install declarest` writes such a file into an empty folder, and
 * its versions are kept.
 */
function installedDependencies(directory: string): { dependencies?: Dependencies; devDependencies?: Dependencies } | null {
  try {
    const manifest: unknown = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
    const known = ['dependencies', 'devDependencies', 'packageManager'];
    if (typeof manifest !== 'object' || manifest === null || Array.isArray(manifest)) return null;
    const isBare = Object.keys(manifest).every((key) => known.includes(key));
    return isBare ? (manifest as { dependencies?: Dependencies; devDependencies?: Dependencies }) : null;
  } catch {
    return null;
  }
}

function withDependencies(
  text: string,
  { dependencies, devDependencies }: { dependencies?: Dependencies; devDependencies?: Dependencies },
): string {
  const manifest = JSON.parse(text);
  const merged = {
    ...manifest,
    // all packages of MikroORM in the one version of the new application: npm cannot install several
    dependencies: { ...manifest.dependencies, ...dependencies, ...mikroOrmOf(manifest.dependencies) },
    devDependencies: { ...manifest.devDependencies, ...devDependencies },
  };
  return `${JSON.stringify(merged, null, 2)}\n`;
}

function mikroOrmOf(dependencies: Dependencies): Dependencies {
  return Object.fromEntries(Object.entries(dependencies).filter(([name]) => name.startsWith('@mikro-orm/')));
}
