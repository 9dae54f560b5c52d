// Bundles the command `declarest` into a few files. Most of its startup time goes into resolving modules one by one: MikroORM and
// its dependencies are more than four hundred files, the command itself more than a hundred.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative, sep } from 'node:path';
import { rolldown } from 'rolldown';

const require = createRequire(import.meta.url);

/** Packages whose classes an application shares with Declarest: imports of them must resolve to the bundle. */
const shared = ['@mikro-orm/core', '@mikro-orm/sql', '@mikro-orm/postgresql', '@mikro-orm/migrations'];

/** Not bundled: Fastify, its dependencies and pg are loaded as installed, the other packages only if an application has them. */
const external = [/^node:/, /^fastify(\/|$)/, /^ajv(-formats)?(\/|$)/, /^pg(\/|$)/, 'dataloader', 'tinyglobby'];

/**
 * Creates the folder `bundle` in a built package.
 *
 * @param directory The folder of the built package.
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
    external,
    platform: 'node',
    // debug info would contain paths of this machine
    experimental: { attachDebugInfo: 'none' },
    // on a slow machine, Rolldown warns about the time of this plugin, and a warning fails the build
    checks: { bundlerTimings: false },
    plugins: [
      {
        name: 'main',
        // the package can be built in any folder, but its dependencies are installed here
        resolveId(id, importer) {
          if (id === main) return id;
          if (!importer?.startsWith(join(directory, sep)) || !/^[@a-z]/i.test(id)) return null;
          return this.resolve(id, import.meta.filename, { skipSelf: true });
        },
        load: (id) => (id === main ? mainText(files) : null),
        transform: (code, id) => (id.startsWith(join(directory, sep)) ? withOriginalUrl(code, relative(directory, id)) : null),
      },
    ],
    onwarn(warning) {
      throw new Error(`cannot bundle: ${warning.message}`);
    },
  });
  const { output } = await bundled.write({
    dir: join(directory, 'bundle'),
    format: 'esm',
    // MikroORM identifies entities by the names of their classes
    keepNames: true,
    comments: false,
    chunkFileNames: 'chunk.[name].js',
  });
  await bundled.close();
  const sources = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
  writeFileSync(join(directory, 'bundle', 'LICENSES.txt'), licenses(sources));
}

/** A module finds files beside itself, such as that of a thread, by its original URL: these files are not bundled. */
function withOriginalUrl(code: string, file: string): string {
  return code.replaceAll('import.meta.url', `new URL(${JSON.stringify(`../${file}`)}, import.meta.url).href`);
}

/** The entry point: registers the bundled modules for the imports of applications, and exports the command. */
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

/** The licenses of the bundled packages, which must be distributed with them. */
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
