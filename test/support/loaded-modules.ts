import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const recorder = `
import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
const loaded = new Set();
const searched = [];
registerHooks({
  resolve(specifier, context, next) {
    searched.push([specifier, context.parentURL]);
    return next(specifier, context);
  },
  load(url, context, next) {
    loaded.add(url);
    return next(url, context);
  },
});
process.on('exit', () => {
  const parts = process.moduleLoadList.map((name) => name.replace(/^NativeModule /, 'node:'));
  writeFileSync(process.env.LOADED_MODULES, JSON.stringify({ loaded: [...loaded, ...parts], searched }));
});
`;

/** What a process has loaded: read it after its exit. */
export interface LoadRecord {
  readonly env: NodeJS.ProcessEnv;
  /** The URLs of modules, and the names of those of Node. */
  loaded(): readonly string[];
  /** The imports that Node searched for, each with the URL of the module that contains it. */
  searched(): readonly (readonly [specifier: string, parent?: string])[];
}

/** The environment of a process that records the modules that it loads, and the record. */
export function noteLoaded(directory: string): LoadRecord {
  const file = join(directory, 'loaded-modules.json');
  const hook = join(directory, 'loaded-modules.mjs');
  writeFileSync(hook, recorder);
  const record = () => JSON.parse(readFileSync(file, 'utf8'));
  return {
    env: { NODE_OPTIONS: `--import=${pathToFileURL(hook).href}`, LOADED_MODULES: file },
    loaded: () => record().loaded,
    searched: () => record().searched,
  };
}

/** The names of the packages of loaded modules, in alphabetical order. */
export function packagesIn(loaded: readonly string[]): string[] {
  const names = loaded.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? []);
  return [...new Set(names)].sort();
}
