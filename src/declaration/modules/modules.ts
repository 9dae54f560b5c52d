import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { identityOf, nameOf } from '../names/class-names.ts';
import type { Create } from '../names/create.ts';
import { commonJsError, missingPackage } from '../read/incomplete-project.ts';
import { DeclarationErrors } from '../report.ts';
import type { ReportedError } from '../source.ts';
import type { Catalog, Exported, Place } from '../vocabulary.ts';
import type { ConfigModule } from './config-module.ts';
import { resolveFromHere } from './module-resolution.ts';

export type CatalogKinds = Readonly<
  Record<'models' | 'voters' | 'denormalizers' | 'normalizers' | 'authenticators', (value: unknown) => boolean>
>;

const classKinds = ['models', 'controllers', 'voters', 'denormalizers', 'normalizers', 'authenticators'] as const;

interface Fault extends ReportedError {
  /** Whether a package is not installed. */
  readonly isMissing?: boolean;
}

/**
 * Loads the exports of the modules in `src/` of an application. Errors while loading a module are returned as faults. Throws if Node
 * cannot load any module, or a package is not installed.
 */
export async function loadCatalog(
  dir: string,
  kinds: CatalogKinds,
): Promise<{ readonly catalog: Catalog; readonly faults: readonly ReportedError[] }> {
  resolveFromHere();
  const folders = [...[...classKinds, 'services'].map((kind) => `src/${kind}`), 'config'];
  const commonJs = commonJsError(dir, () => folders.flatMap((folder) => moduleFiles(dir, folder)));
  if (commonJs) throw new DeclarationErrors([commonJs]);
  const faults: Fault[] = [];
  const belongs = { ...kinds, controllers: isClass, services: () => true };
  const catalog: Partial<Record<keyof Catalog, readonly Exported[]>> = {};
  // One after the other: the order in which modules are evaluated must not depend on how fast they load.
  for (const kind of [...classKinds, 'services'] as const) catalog[kind] = onlyOnce(await load(kind));
  // without these modules, most other errors would be consequences
  const missing = faults.filter(({ isMissing }) => isMissing);
  if (missing.length > 0) throw new DeclarationErrors(missing);
  return { catalog: Object.freeze(catalog) as Catalog, faults };

  async function load(kind: keyof Catalog): Promise<Exported[]> {
    const found: Exported[] = [];
    for (const file of moduleFiles(dir, `src/${kind}`)) {
      const stem = file.replace(/\.[^.]+$/, '');
      for (const [exportName, value] of await exportsOf(dir, file, faults)) {
        if (!belongs[kind](value)) continue;
        const named = kind === 'services' ? null : nameOf(value);
        const name = named ?? (exportName === 'default' ? (stem.split('/').at(-1) as string) : exportName);
        found.push({ name, qualifiedName: `${stem}#${name}`, value });
      }
    }
    return found;
  }
}

/** The catalog of an application given in code; services by their id. */
export function catalogFromCode(
  given: Partial<Readonly<Record<(typeof classKinds)[number], readonly unknown[]>>> & {
    readonly services?: Readonly<Record<string, unknown>>;
  },
): Catalog {
  const exported = (name: string, value: unknown): Exported => ({ name, qualifiedName: name, value });
  const classes = classKinds.map((kind) => [
    kind,
    onlyOnce((given[kind] ?? []).map((value) => exported(nameOf(value) ?? 'anonymous', value))),
  ]);
  const services = Object.entries(given.services ?? {}).map(([id, value]) => Object.freeze(exported(id, value)));
  return Object.freeze({ ...Object.fromEntries(classes), services: Object.freeze(services) });
}

/** A class and the schema that describes it count as one; the first of them stays. */
function onlyOnce(found: readonly Exported[]): readonly Exported[] {
  const byIdentity = Map.groupBy(found, ({ value }) => identityOf(value));
  return Object.freeze(Array.from(byIdentity.values(), ([first]) => Object.freeze(first as Exported)));
}

/** The catalog with further models, such as those of a MikroORM configuration. */
export function withModels(catalog: Catalog, models: readonly unknown[], stem: string): Catalog {
  const further = models.map((value) => {
    const name = nameOf(value) ?? 'anonymous';
    return { name, qualifiedName: `${stem}#${name}`, value };
  });
  return Object.freeze({ ...catalog, models: onlyOnce([...catalog.models, ...further]) });
}

/** The default export of a module of an application. Throws an error with its place. */
export async function loadDefault(dir: string, file: string): Promise<unknown> {
  resolveFromHere();
  const faults: ReportedError[] = [];
  const exported = Object.fromEntries(await exportsOf(dir, file, faults));
  const [fault] = faults;
  if (fault) throw new Error(fault.message);
  const { default: value } = exported as { default?: unknown };
  // a module that a compiler made CommonJS
  const isNested = typeof value === 'object' && value !== null && '__esModule' in value && 'default' in value;
  return isNested ? value.default : value;
}

/** The modules of `config/`, each a part of the declaration in TypeScript or JavaScript. */
export async function loadConfigModules(
  dir: string,
): Promise<{ readonly modules: readonly ConfigModule[]; readonly faults: readonly ReportedError[] }> {
  const faults: ReportedError[] = [];
  const modules: ConfigModule[] = [];
  for (const file of moduleFiles(dir, 'config')) {
    const exported = await exportsOf(dir, file, faults);
    if (faults.some(({ path }) => path[0] === file)) continue;
    modules.push({ file, text: readFileSync(join(dir, file), 'utf8'), value: Object.fromEntries(exported).default });
  }
  return { modules, faults };
}

/** The factory that `src/container` of an application exports; undefined if there is none. */
export async function loadContainer(
  dir: string,
): Promise<{ readonly create: Create | undefined; readonly faults: readonly ReportedError[] }> {
  const faults: ReportedError[] = [];
  const file = moduleFiles(dir, 'src').find((name) => /^src\/container\.m?[jt]s$/.test(name));
  if (file === undefined) return { create: undefined, faults };
  const create = Object.fromEntries(await exportsOf(dir, file, faults)).default;
  if (typeof create === 'function' && !isClass(create)) return { create: create as Create, faults };
  const message = 'the module must have a function as its default export: export default (Class) => new Class()';
  if (faults.length === 0) faults.push({ place: { file, line: 1, column: 1 }, path: [file], message });
  return { create: undefined, faults };
}

export function isClass(value: unknown): boolean {
  return typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));
}

/** Modules in alphabetical order. An index that re-exports them comes last, so that each export is named after its own file. */
function moduleFiles(dir: string, folder: string): string[] {
  let names: string[];
  try {
    names = readdirSync(join(dir, folder));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
    return [];
  }
  const isIndex = (name: string) => Number(name.startsWith('index.'));
  return names
    .filter((name) => /\.m?[jt]s$/.test(name) && !/\.d\.m?ts$|\.test\./.test(name))
    .sort((a, b) => isIndex(a) - isIndex(b) || (a < b ? -1 : 1))
    .map((name) => `${folder}/${name}`);
}

async function exportsOf(dir: string, file: string, faults: Fault[]): Promise<[string, unknown][]> {
  try {
    const exported: object = await import(pathToFileURL(join(dir, file)).href);
    return Object.entries(exported).sort(([a], [b]) => (a < b ? -1 : 1));
  } catch (error) {
    faults.push(faultOf(dir, file, error));
    return [];
  }
}

/** The error of a module, with its place if the stack has one in the application. */
function faultOf(dir: string, file: string, error: unknown): Fault {
  const missing = missingPackage(dir, error);
  if (missing !== null) return { place: null, path: [file], message: missing, isMissing: true };
  const [message = 'it cannot be loaded'] = (error instanceof Error ? error.message : String(error)).split('\n');
  // Node writes absolute paths, and repeats the importing file.
  const shortened = message.replace(/ imported from \S+$/, '').replaceAll(`${resolve(dir)}${sep}`, '');
  const place = error instanceof Error ? placeIn(dir, error.stack ?? '') : null;
  const elsewhere = place && place.file !== file ? ` (loaded by ${file})` : '';
  const isDecorated = error instanceof SyntaxError && hasDecorators(dir, place?.file ?? file);
  const remedy = isDecorated ? decoratorRemedy : extensionRemedy(message);
  return { place, path: [file], message: `the module cannot be loaded: ${shortened}${elsewhere}${remedy}` };
}

const decoratorRemedy = '. Node cannot run decorators; start with "node --import tsx", or compile the module to JavaScript';

/** Names the file that an import means, if only its extension is wrong or missing. */
function extensionRemedy(message: string): string {
  const [, missing] = /^Cannot find module '([^']+)'/.exec(message) ?? [];
  if (missing === undefined) return '';
  const meant = [missing.replace(/\.(m?)js$/, '.$1ts'), `${missing}.ts`, `${missing}.js`].find((file) => existsSync(file));
  return meant === undefined ? '' : `. Import "${basename(meant)}" instead: Node needs the extension that the file has`;
}

function hasDecorators(dir: string, file: string): boolean {
  return /^[ \t]*@[A-Z]\w*\(/m.test(readFileSync(join(dir, file), 'utf8'));
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
