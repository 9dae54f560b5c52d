// Bundles the sources into a few files: the command, the exported modules and the thread that reads from SQLite. Most of the startup
// time goes into resolving modules one by one.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { rolldown } from 'rolldown';
import { parseAst } from 'rolldown/parseAst';
import { withLines } from './source-maps.ts';

const root = join(import.meta.dirname, '..');

/** Dependencies that become a part of the bundle: most starts need them, and they share no objects with an application. */
const included = ['jose', 'pg-connection-string', 'yaml'];

/** Modules that are not exported, but loaded by name. */
const entries = { main: 'src/cli/main.ts', 'reader-thread': 'src/dialect/sqlite/reads/reader-thread.ts' };

/** Modules that every start of a server loads one by one, as it needs them. */
const servers = [
  'server',
  'cli/commands/serve',
  'cli/database-start',
  'cli/close-server',
  'cli/bound-heap',
  'cli/running-explanations',
  'database/prepare-database',
  'openapi/explorer/offer',
  'openapi/mount',
  'openapi/places',
  'route/describe',
];

/** Modules that are loaded together, with all that they import. */
const groups = [
  { name: 'command', test: /\/src\/cli\/(program|io)\.ts$/, priority: 2 },
  { name: 'application', test: /\/src\/application\.ts$/, priority: 1 },
  { name: 'server', test: new RegExp(`/src/(${servers.join('|')})\\.ts$`), priority: 0 },
];

/**
 * The package that MikroORM's driver for PostgreSQL depends on. An application does not have to install `pg` itself, and there is
 * only one copy of it.
 */
const pg = `import { createRequire } from 'node:module';
export default createRequire(createRequire(import.meta.url).resolve('@mikro-orm/postgresql'))('pg');
`;

/** The ES modules of the package, from which unused code can be removed. For Node, it has CommonJS. */
const yaml = join(root, 'node_modules', 'yaml', 'browser', 'dist', 'index.js');

/**
 * Creates the folder `lib` in a package.
 *
 * @param directory The folder of the package.
 * @param exported The sources of exported modules by their names in the bundle: `{ index: 'src/index.ts' }`.
 * @returns The names of the dependencies that became a part of the bundle.
 */
export async function bundle(directory: string, exported: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const inputs = Object.entries({ ...exported, ...entries }).map(([name, file]) => [name, join(root, file)]);
  const bundled = await rolldown({
    input: Object.fromEntries(inputs),
    external: (id) => /^[@a-z]/i.test(id) && id !== 'pg' && !included.includes(id),
    platform: 'node',
    transform: { target: 'es2024' },
    // debug info would contain paths of this machine
    experimental: { attachDebugInfo: 'none' },
    // on a slow machine, Rolldown warns about the time of this plugin, and a warning fails the build
    checks: { bundlerTimings: false },
    plugins: [
      {
        name: 'packages',
        resolveId: (id) => (id === 'pg' ? '\0pg' : id === 'yaml' ? yaml : null),
        load: (id) => (id === '\0pg' ? pg : null),
      },
    ],
    onwarn({ code, message }) {
      // modules that are always loaded together are in one file
      if (code !== 'INEFFECTIVE_DYNAMIC_IMPORT') throw new Error(`cannot bundle: ${message}`);
    },
  });
  const { output } = await bundled.write({
    dir: join(directory, 'lib'),
    format: 'esm',
    // names of classes are shown to users; source maps say where a function is
    minify: { compress: { keepNames: classNames }, mangle: { keepNames: classNames } },
    comments: false,
    sourcemap: true,
    sourcemapExcludeSources: true,
    // relative to the package, which can be built in any folder
    sourcemapPathTransform: (source, map) => `../${relative(root, resolve(dirname(map), source))}`,
    chunkFileNames: 'chunk.[name].js',
    codeSplitting: { groups },
  });
  await bundled.close();
  for (const { fileName } of output) {
    const file = join(directory, 'lib', fileName);
    if (!existsSync(`${file}.map`)) continue;
    const code = readFileSync(file, 'utf8');
    const result = withLines(code, readFileSync(`${file}.map`, 'utf8'), statementsIn(code));
    writeFileSync(file, result.code);
    writeFileSync(`${file}.map`, result.map);
  }
  const sources = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
  const packages = [...new Set(sources.flatMap((file) => packageOf(file) ?? []))].sort();
  writeFileSync(join(directory, 'lib', 'LICENSES.txt'), packages.map(licenseOf).join('\n'));
  return packages.map((folder) => folder.slice(folder.lastIndexOf('/node_modules/') + '/node_modules/'.length));
}

const classNames = { class: true, function: false };

/** Where the statements of a module begin, except the first. Node prints the line of an error, which must not be the whole file. */
function statementsIn(code: string): number[] {
  const starts = parseAst(code).body.map(({ start }) => start);
  return starts.slice(1).filter((start) => /[;}]/.test(code[start - 1] ?? ''));
}

function packageOf(file: string): string | undefined {
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0];
}

/** The license of a bundled package, which must be distributed with it. */
function licenseOf(directory: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  const file = readdirSync(directory).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file ? readFileSync(join(directory, file), 'utf8').trim() : license;
  return `${name} ${version}\n${'-'.repeat(70)}\n${text}\n`;
}
