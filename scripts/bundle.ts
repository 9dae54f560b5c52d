// Puts what `declarest` runs into a few files. Most of the time to start goes into finding modules one by one: the mapper and what
// it stands on are more than four hundred files, the command itself more than a hundred.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative, sep } from 'node:path';
import { rolldown } from 'rolldown';

const require = createRequire(import.meta.url);

/** Packages whose classes an application shares with Declarest: whoever imports them must get what is in the bundle. */
const shared = ['@mikro-orm/core', '@mikro-orm/sql', '@mikro-orm/postgresql', '@mikro-orm/migrations'];

/** Packages that stay outside: Fastify, what it brings along, and pg are loaded as they are, the others only where an application has them. */
const outside = [/^node:/, /^fastify(\/|$)/, /^ajv(-formats)?(\/|$)/, /^pg(\/|$)/, 'dataloader', 'tinyglobby'];

/**
 * Makes the folder `bundle` of a package that was built before.
 *
 * @param directory Where the built package is.
 * @param exported The modules that the package exports, as in its manifest: `{ '.': './index.js' }`.
 */
export async function bundle(directory: string, exported: Readonly<Record<string, string>>): Promise<void> {
  const modules = new Map<string, string>([
    ...Object.entries(exported).map(([path, file]) => [join('declarest', path), join(directory, file)] as const),
    ...shared.flatMap(exportsOf),
  ]);
  const files = new Map([...modules.keys()].map((name) => [name, name.replace('@', '').replaceAll('/', '.')]));
  const main = join(directory, 'bundle-main.js');
  const bundled = await rolldown({
    input: { main, ...Object.fromEntries([...modules].map(([name, file]) => [files.get(name) as string, file])) },
    external: outside,
    platform: 'node',
    // else the paths of this machine would be in it
    experimental: { attachDebugInfo: 'none' },
    // on a slow machine it would warn that this plugin takes long, and a warning ends the build
    checks: { bundlerTimings: false },
    plugins: [
      {
        name: 'main',
        // the package may be built anywhere, and what it stands on is here
        resolveId(id, importer) {
          if (id === main) return id;
          if (!importer?.startsWith(join(directory, sep)) || !/^[@a-z]/i.test(id)) return null;
          return this.resolve(id, import.meta.filename, { skipSelf: true });
        },
        load: (id) => (id === main ? mainText(files) : null),
        transform: (code, id) => (id.startsWith(join(directory, sep)) ? fromItsPlace(code, relative(directory, id)) : null),
      },
    ],
    onwarn(warning) {
      throw new Error(`cannot bundle: ${warning.message}`);
    },
  });
  const { output } = await bundled.write({
    dir: join(directory, 'bundle'),
    format: 'esm',
    // the mapper goes by the names of classes
    keepNames: true,
    comments: false,
    chunkFileNames: 'chunk.[name].js',
  });
  await bundled.close();
  const sources = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
  writeFileSync(join(directory, 'bundle', 'LICENSES.txt'), licenses(sources));
}

/** What a module looks for beside itself, such as the file of a thread, is still beside where it was. */
function fromItsPlace(code: string, file: string): string {
  return code.replaceAll('import.meta.url', `new URL(${JSON.stringify(`../${file}`)}, import.meta.url).href`);
}

/** Tells the hook that resolves an application's imports what is in the bundle, and is the command otherwise. */
function mainText(files: ReadonlyMap<string, string>): string {
  const urls = [...files].map(
    ([name, file]) => `  ${JSON.stringify(name)}: import.meta.resolve(${JSON.stringify(`./${file}.js`)}),`,
  );
  return `import { useBundle } from './declaration/module-resolution.js';
useBundle({
${urls.join('\n')}
});
export { main } from './cli/main.js';
`;
}

/** Everything that can be imported from a package: `@mikro-orm/core/fs-utils` → its file. */
function exportsOf(name: string): [string, string][] {
  const { exports } = manifestOf(name) as { exports: Record<string, unknown> };
  return Object.keys(exports)
    .map((path) => join(name, path))
    .filter((specifier) => !specifier.endsWith('.json'))
    .map((specifier) => [specifier, require.resolve(specifier)]);
}

function manifestOf(name: string): Record<string, unknown> {
  return JSON.parse(readFileSync(require.resolve(`${name}/package.json`), 'utf8'));
}

/** What the authors of the bundled packages ask to be kept with them. */
function licenses(sources: readonly string[]): string {
  const packages = new Set(sources.flatMap((file) => packageOf(file) ?? []));
  return [...packages].sort().map(licenseOf).join('\n');
}

function packageOf(file: string): string | undefined {
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0];
}

function licenseOf(directory: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  const file = readdirSync(directory).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file && existsSync(join(directory, file)) ? readFileSync(join(directory, file), 'utf8').trim() : license;
  return `${name} ${version}\n${'-'.repeat(70)}\n${text}\n`;
}
