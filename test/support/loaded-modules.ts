import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const recorder = `
import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
const loaded = new Set();
registerHooks({
  load(url, context, next) {
    loaded.add(url);
    return next(url, context);
  },
});
process.on('exit', () => {
  const parts = process.moduleLoadList.map((name) => name.replace(/^NativeModule /, 'node:'));
  writeFileSync(process.env.LOADED_MODULES, JSON.stringify([...loaded, ...parts]));
});
`;

/** The environment of a process that records the modules that it loads, those of Node included, and the record after its exit. */
export function noteLoaded(directory: string): { readonly env: NodeJS.ProcessEnv; loaded(): readonly string[] } {
  const file = join(directory, 'loaded-modules.json');
  const hook = join(directory, 'loaded-modules.mjs');
  writeFileSync(hook, recorder);
  return {
    env: { NODE_OPTIONS: `--import=${pathToFileURL(hook).href}`, LOADED_MODULES: file },
    loaded: () => JSON.parse(readFileSync(file, 'utf8')),
  };
}

/** The names of the packages of loaded modules, in alphabetical order. */
export function packagesIn(loaded: readonly string[]): string[] {
  const names = loaded.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? []);
  return [...new Set(names)].sort();
}
