// Builds a complete package in dist or in the given folder: node scripts/build.ts [folder]
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { buildExplorer } from './build-explorer.ts';
import { bundle } from './bundle.ts';
import { writeDeclarations } from './declarations.ts';
import { withRepositoryLinks } from './readme-links.ts';
import { sbomOf } from './sbom.ts';

const root = join(import.meta.dirname, '..');
const target = resolve(process.argv[2] ?? join(root, 'dist'));
const copied = ['assets', 'bin', 'LICENSE'];
const schema = 'schema/app-main.schema.json';

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });

const {
  private: _,
  scripts,
  devDependencies,
  overrides,
  allowScripts,
  scarfSettings,
  files,
  exports,
  dependencies,
  ...manifest
} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const sources = Object.values<string>(exports).flatMap((path) => /^\.\/src\/(.+)\.ts$/.exec(path)?.[1] ?? []);
writeDeclarations(join(target, 'types'), sources);
const bundled = await bundle(target, Object.fromEntries(sources.map((path) => [path, `src/${path}.ts`])));

for (const name of copied) cpSync(join(root, name), join(target, name), { recursive: true });
copyViewer(join(target, 'assets', 'swagger-ui'));
await addExplorer(join(target, 'assets', 'explorer'));
const built = {
  ...manifest,
  exports: builtExports(exports),
  dependencies: Object.fromEntries(Object.entries(dependencies).filter(([name]) => !bundled.includes(name))),
};
writeFileSync(join(target, 'package.json'), `${JSON.stringify(built, null, 2)}\n`);
writeJson('sbom.json', sbomOf(root));
mkdirSync(join(target, dirname(schema)));
writeJson(schema, JSON.parse(readFileSync(join(root, schema), 'utf8')));
writeFileSync(join(target, 'README.md'), withRepositoryLinks(readFileSync(join(root, 'README.md'), 'utf8'), manifest));

/** Without indentation, which is half of these files. */
function writeJson(name: string, value: object): void {
  writeFileSync(join(target, name), `${JSON.stringify(value)}\n`);
}

/**
 * Copies the files of Swagger UI that the docs page needs, the large ones compressed. As a dependency, the package
 * would report every installation to its makers (decision 21).
 */
function copyViewer(folder: string): void {
  const from = join(root, 'node_modules', 'swagger-ui-dist');
  mkdirSync(folder, { recursive: true });
  for (const name of ['swagger-ui-bundle.js', 'swagger-ui.css'])
    writeFileSync(join(folder, `${name}.br`), brotliCompressSync(readFileSync(join(from, name))));
  for (const name of ['swagger-ui-bundle.js.LICENSE.txt', 'LICENSE', 'NOTICE']) cpSync(join(from, name), join(folder, name));
}

/** Builds the explorer. Its files are sent compressed, so only the license stays readable. */
async function addExplorer(folder: string): Promise<void> {
  await buildExplorer(folder);
  for (const name of ['explorer.css', 'explorer.js', 'index.html']) {
    const file = join(folder, name);
    writeFileSync(`${file}.br`, brotliCompressSync(readFileSync(file)));
    rmSync(file);
  }
}

/** Node does not run TypeScript in node_modules, so the package exports the bundle. */
function builtExports(written: Record<string, string>): Record<string, string | { types: string; default: string }> {
  const paths = Object.entries(written).map(([name, path]) => {
    const source = /^\.\/src\/(.+)\.ts$/.exec(path)?.[1];
    return [name, source ? { types: `./types/${source}.d.ts`, default: `./lib/${source}.js` } : path];
  });
  return Object.fromEntries(paths);
}
