import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { CallFailure } from '../failure.ts';

/** Writes files into a directory. If one of them exists, a file is in the place of a folder, or one cannot be written, none is left. */
export function writeNewFiles(directory: string, shown: string, files: ReadonlyMap<string, string>): void {
  const written: string[] = [];
  const folders: string[] = [];
  try {
    const installed = checkedDirectory(directory, shown, files);
    folders.push(...createdDirectory(directory, shown));
    for (const [path, text] of files) {
      const file = join(directory, path);
      folders.push(...createFolders(dirname(file)));
      if (path === 'package.json' && installed) continue;
      const opened = openSync(file, 'wx');
      written.push(file);
      writeFileSync(opened, text);
      closeSync(opened);
    }
    const manifest = files.get('package.json');
    if (installed && manifest) writeFileSync(join(directory, 'package.json'), withDependencies(manifest, installed));
  } catch (error) {
    if (error instanceof CallFailure) throw error;
    for (const file of written) rmSync(file, { force: true });
    for (const folder of folders.reverse()) removeIfEmpty(folder);
    throw new CallFailure(`cannot write the application: ${reasonOf(error as Error)}. Nothing was written`);
  }
}

/** The message of an error, without the path if that is very long. */
function reasonOf({ message }: Error): string {
  return message.length > 300 ? (message.split(',')[0] as string) : message;
}

/**
 * Creates a folder, and returns the folders that did not exist, outermost first. Not `recursive: true`: with it, Node never returns if a
 * directory such as /proc rejects new entries by ENOENT.
 */
function createFolders(folder: string): string[] {
  if (existsSync(folder)) return [];
  const outer = createFolders(dirname(folder));
  mkdirSync(folder);
  return [...outer, folder];
}

function createdDirectory(directory: string, shown: string): string[] {
  try {
    return createFolders(directory);
  } catch (error) {
    throw new CallFailure(`cannot create the directory ${shown}: ${(error as Error).message}`);
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // another program has written into it
  }
}

/** Checks that no file is in the way, and returns the dependencies that are installed already. */
function checkedDirectory(directory: string, shown: string, files: ReadonlyMap<string, string>): InstalledDependencies | null {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() === false)
    throw new CallFailure(`${shown} is a file; give a directory that is empty or does not exist`);
  const installed = installedDependencies(directory);
  const conflicts = new Set([...files.keys()].flatMap((path) => conflictOf(directory, path) ?? []));
  if (installed) conflicts.delete('package.json');
  if (conflicts.size === 0) return installed;
  const list = [...conflicts].sort().map((path) => `\n  ${path}`);
  throw new CallFailure(
    `${shown} already has files that init would write. Nothing was written. Choose another directory, or move these files:${list.join('')}`,
  );
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

interface InstalledDependencies {
  readonly dependencies?: Dependencies;
  readonly devDependencies?: Dependencies;
}

/**
 * The dependencies in a package.json that has nothing else. `npm install declarest` writes such a file into an empty folder, and
 * its versions are kept.
 */
function installedDependencies(directory: string): InstalledDependencies | null {
  try {
    const manifest: unknown = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
    const known = ['dependencies', 'devDependencies', 'packageManager'];
    if (typeof manifest !== 'object' || manifest === null || Array.isArray(manifest)) return null;
    const isBare = Object.keys(manifest).every((key) => known.includes(key));
    return isBare ? (manifest as InstalledDependencies) : null;
  } catch {
    return null;
  }
}

function withDependencies(text: string, { dependencies, devDependencies }: InstalledDependencies): string {
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
