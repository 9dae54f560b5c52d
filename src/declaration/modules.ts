import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { ConfigModule } from './config-module.ts';
import { resolveFromHere } from './module-resolution.ts';
import { identityOf, nameOf } from './names/class-names.ts';
import type { ModuleFault } from './report.ts';
import type { Catalog, Exported, Place } from './vocabulary.ts';

export type CatalogKinds = Readonly<
  Record<'models' | 'voters' | 'denormalizers' | 'authenticators', (value: unknown) => boolean>
>;

/** What the modules in `src/` of an application export, and which of them could not be loaded. */
export async function loadCatalog(
  dir: string,
  kinds: CatalogKinds,
): Promise<{ readonly catalog: Catalog; readonly faults: readonly ModuleFault[] }> {
  resolveFromHere();
  const faults: ModuleFault[] = [];
  const counting = { ...kinds, controllers: isClass, services: () => true };

  async function load(kind: keyof Catalog): Promise<readonly Exported[]> {
    const found = new Map<unknown, Exported>();
    for (const file of moduleFiles(dir, `src/${kind}`)) {
      for (const [exportName, value] of await exportsOf(dir, file, faults)) {
        const identity = identityOf(value);
        if (!counting[kind](value) || found.has(identity)) continue;
        const stem = file.replace(/\.[^.]+$/, '');
        const named = kind === 'services' ? null : nameOf(value);
        const name = named ?? (exportName === 'default' ? (stem.split('/').at(-1) as string) : exportName);
        found.set(identity, Object.freeze({ name, qualifiedName: `${stem}#${name}`, value }));
      }
    }
    return Object.freeze([...found.values()]);
  }

  // One after the other: the order in which modules are evaluated must not depend on how fast they load.
  const catalog: Catalog = {
    models: await load('models'),
    controllers: await load('controllers'),
    voters: await load('voters'),
    denormalizers: await load('denormalizers'),
    authenticators: await load('authenticators'),
    services: await load('services'),
  };
  return { catalog: Object.freeze(catalog), faults };
}

/** The modules of `config/`, each a part of the declaration in TypeScript or JavaScript. */
export async function loadConfigModules(
  dir: string,
): Promise<{ readonly modules: readonly ConfigModule[]; readonly faults: readonly ModuleFault[] }> {
  const faults: ModuleFault[] = [];
  const modules: ConfigModule[] = [];
  for (const file of moduleFiles(dir, 'config')) {
    const exported = await exportsOf(dir, file, faults);
    if (faults.some((fault) => fault.file === file)) continue;
    modules.push({ file, text: readFileSync(join(dir, file), 'utf8'), value: Object.fromEntries(exported).default });
  }
  return { modules, faults };
}

/** What an application given in code brings; services by their id. */
export function catalogFromCode(
  given: Partial<Readonly<Record<Exclude<keyof Catalog, 'services'>, readonly unknown[]>>> & {
    readonly services?: Readonly<Record<string, unknown>>;
  },
): Catalog {
  const listOf = (values: readonly unknown[] = []) => {
    const found = new Map<unknown, Exported>();
    for (const value of values) {
      const name = nameOf(value) ?? 'anonymous';
      if (!found.has(identityOf(value))) found.set(identityOf(value), Object.freeze({ name, qualifiedName: name, value }));
    }
    return Object.freeze([...found.values()]);
  };
  const services = Object.entries(given.services ?? {});
  return Object.freeze({
    models: listOf(given.models),
    controllers: listOf(given.controllers),
    voters: listOf(given.voters),
    denormalizers: listOf(given.denormalizers),
    authenticators: listOf(given.authenticators),
    services: Object.freeze(services.map(([id, value]) => Object.freeze({ name: id, qualifiedName: id, value }))),
  });
}

function isClass(value: unknown): boolean {
  return typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));
}

/** Modules in alphabetical order; an index that exports the others again comes last, so that each keeps its own file's name. */
function moduleFiles(dir: string, folder: string): string[] {
  let names: string[];
  try {
    names = readdirSync(join(dir, folder));
  } catch {
    return [];
  }
  const isIndex = (name: string) => Number(name.startsWith('index.'));
  return names
    .filter((name) => /\.m?[jt]s$/.test(name) && !/\.d\.m?ts$|\.test\./.test(name))
    .sort((a, b) => isIndex(a) - isIndex(b) || (a < b ? -1 : 1))
    .map((name) => `${folder}/${name}`);
}

async function exportsOf(dir: string, file: string, faults: ModuleFault[]): Promise<[string, unknown][]> {
  try {
    const exported: object = await import(pathToFileURL(join(dir, file)).href);
    return Object.entries(exported).sort(([a], [b]) => (a < b ? -1 : 1));
  } catch (error) {
    faults.push(faultOf(dir, file, error));
    return [];
  }
}

/** Says where in the application a module failed, as far as the stack tells. */
function faultOf(dir: string, file: string, error: unknown): ModuleFault {
  const [message = 'it cannot be loaded'] = (error instanceof Error ? error.message : String(error)).split('\n');
  // Node names files by their whole path, and the importing one again.
  const told = message.replace(/ imported from \S+$/, '').replaceAll(`${resolve(dir)}${sep}`, '');
  const place = error instanceof Error ? placeIn(dir, error.stack ?? '') : null;
  const elsewhere = place && place.file !== file ? ` (loaded by ${file})` : '';
  return { file, place, message: `the module cannot be loaded: ${told}${elsewhere}` };
}

function placeIn(dir: string, stack: string): Place | null {
  for (const [, url, path, line = '1', column = '1'] of stack.matchAll(
    /(?:(file:\/\/[^\s)]+?)|(\/[^\s)]+?)):(\d+)(?::(\d+))?(?=\s|\)|$)/g,
  )) {
    const file = relative(dir, url === undefined ? (path as string) : fileURLToPath(url.replace(/\?.*$/, '')));
    if (!file.startsWith('..') && !file.includes('node_modules')) return { file, line: Number(line), column: Number(column) };
  }
  return null;
}
