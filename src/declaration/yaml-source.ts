import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { merge } from './merge.ts';
import { type ConfigModule, writtenModule } from './modules/config-module.ts';
import { resolvePlaceholders, unreadable } from './placeholders.ts';
import { type Mode, modeOf } from './read/mode.ts';
import { appMainKeys, block as blockShape, root as rootShape, routes as routesShape } from './schema/schema.ts';
import { type ObjectShape, optional } from './shape.ts';
import type { ReportedError, Source } from './source.ts';
import { didYouMean, listed } from './suggest.ts';
import type { Path, Place } from './vocabulary.ts';
import { isEmpty, isMapping, plainValue, type Written, type WrittenMapping } from './written.ts';
import { parseYamlFile } from './yaml-file.ts';

/** Reads and merges the files of `config/` in the directory of an application; its modules have been loaded before. */
export function readYamlSource(
  dir: string,
  { env, modules = [] }: { env: NodeJS.ProcessEnv; modules?: readonly ConfigModule[] },
): Source {
  const errors: ReportedError[] = [];
  const files = readFiles(dir, errors);
  const routesKnown = files !== null && !files.some(({ file, root }) => root === unreadable && isRoutesFile(file));
  const roots = [...(files ?? []), ...modules.map((module) => ({ file: module.file, root: writtenModule(module, errors) }))];
  const active = blocks[modeOf(env)];
  const layers: WrittenMapping[] = [];
  const activeLayers: WrittenMapping[] = [];
  for (const { file, root } of roots.sort((a, b) => (a.file < b.file ? -1 : 1))) {
    if (root === unreadable || root === null) continue;
    layers.push(asLayer(file, root, rootShape, errors));
    for (const [key, node] of root.entries) {
      if (!Object.hasOwn(rootShape.keys, key) || !key.startsWith('when@')) continue;
      if (isMapping(node)) {
        const layer = asLayer(file, node, blockShape, errors);
        if (key === active) activeLayers.push(layer);
      } else if (!isEmpty(node)) {
        errors.push({ place: node.place, path: [], message: `"${key}" must be a mapping with the same keys as the file` });
      }
    }
  }
  const merged = [...layers, ...activeLayers].reduce<Written>(
    (earlier, later) => merge(earlier, later, [], mergedShape, errors),
    nothing,
  );
  const tree = withoutPlaceholders(merged, [], env, errors);
  const { app_main, routes = {} } = plainValue(tree) as Readonly<Record<string, unknown>>;
  return {
    value: { app_main, routes: routesKnown ? routes : unreadable },
    errors,
    placeOf: (path, at = 'value') => placeIn(tree, path, at),
  };
}

/** The block that overrides everything else in a mode. */
const blocks: Readonly<Record<Mode, string>> = { development: 'when@dev', test: 'when@test', production: 'when@prod' };
const routesPlace: Place = { file: 'config/routes.yaml', line: 1, column: 1 };
const nothing: Written = { place: routesPlace, entries: new Map() };
const mergedShape: ObjectShape = {
  ...rootShape,
  keys: { app_main: appMainKeys.root, routes: optional(routesShape, {}, '') },
};

function isRoutesFile(file: string): boolean {
  return /^config\/routes\.ya?ml$/.test(file);
}

/** The contents of the files by their names; null if there is no directory. */
function readFiles(dir: string, errors: ReportedError[]): { file: string; root: ReturnType<typeof parseYamlFile> }[] | null {
  let names: string[];
  try {
    names = readdirSync(join(dir, 'config')).filter((name) => /\.ya?ml$/.test(name));
  } catch {
    const message = `${dir} has no directory "config"; give the directory of an application`;
    errors.push({ place: null, path: [], message });
    return null;
  }
  return names.sort().map((name) => {
    const file = `config/${name}`;
    try {
      return { file, root: parseYamlFile(readText(join(dir, file)), file, rootShape, errors) };
    } catch (error) {
      const message = `the file cannot be read: ${(error as Error).message}`;
      errors.push({ place: { file, line: 1, column: 1 }, path: [], message });
      return { file, root: unreadable };
    }
  });
}

/** The bytes of the largest configuration file. Large enough for any application, and small enough to be parsed in seconds. */
const maxBytes = 4 * 1024 * 1024;

function readText(path: string): string {
  const found = statSync(path);
  // reading a pipe or a device might never end
  if (!found.isFile()) throw new Error('it is not a regular file');
  if (found.size > maxBytes) throw new Error(`it has ${found.size} bytes, and at most ${maxBytes} are allowed`);
  return readFileSync(path, 'utf8');
}

/** The part of a file or a `when@…` block that is merged: `app_main`, and in routes.yaml all other keys as route entries. */
function asLayer(file: string, root: WrittenMapping, shape: ObjectShape, errors: ReportedError[]): WrittenMapping {
  const entries = new Map<string, Written>();
  const routes = new Map<string, Written>();
  for (const [key, entry] of root.entries) {
    if (key === 'app_main') entries.set(key, entry);
    else if (Object.hasOwn(shape.keys, key)) continue;
    else if (isRoutesFile(file) && !key.startsWith('when@')) routes.set(key, entry);
    else {
      const allowed = Object.keys(shape.keys);
      const elsewhere = isRoutesFile(file) ? '' : '; route entries belong in config/routes.yaml';
      const message = `unknown key "${key}";${didYouMean(key, allowed)} allowed: ${listed(allowed)}${elsewhere}`;
      errors.push({ place: entry.keyPlace ?? entry.place, path: [], message });
    }
  }
  if (routes.size > 0) entries.set('routes', { keyPlace: routesPlace, place: { ...routesPlace, file }, entries: routes });
  return { ...root, entries };
}

/** The same tree with `%env(…)%` replaced. Runs after merging, so that overridden values need no variable. */
function withoutPlaceholders(node: Written, path: Path, env: NodeJS.ProcessEnv, errors: ReportedError[]): Written {
  const within = (child: Written, step: string | number) => withoutPlaceholders(child, [...path, step], env, errors);
  if (node.items) return { ...node, items: node.items.map(within) };
  if (node.entries) return { ...node, entries: new Map(Array.from(node.entries, ([key, entry]) => [key, within(entry, key)])) };
  if (typeof node.value !== 'string' || node.literal) return node;
  return { ...node, value: resolvePlaceholders(node.value, env, (message) => errors.push({ place: node.place, path, message })) };
}

function placeIn(tree: Written, path: Path, at: 'key' | 'value'): Place | null {
  let place: Place | null = path[0] === 'routes' ? routesPlace : null;
  let node: Written | undefined = tree;
  for (const [depth, step] of path.entries()) {
    node = typeof step === 'number' && node.items ? node.items[step] : entryOf(node, String(step));
    if (!node) return place;
    place = (at === 'key' && depth === path.length - 1 && node.keyPlace) || node.place;
  }
  return place;
}

/** Callers may spell a declared key either way. */
function entryOf({ entries }: Written, key: string): Written | undefined {
  return entries?.get(key) ?? entries?.get(key.replaceAll('_', '-')) ?? entries?.get(key.replaceAll('-', '_'));
}
