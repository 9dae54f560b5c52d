// Builds a complete package in dist or in the given folder: node scripts/build.ts [folder]
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bundle } from './bundle.ts';
import { sbomOf } from './sbom.ts';

const root = join(import.meta.dirname, '..');
const target = resolve(process.argv[2] ?? join(root, 'dist'));
const copied = ['assets', 'bin', 'schema', 'README.md', 'CHANGELOG.md', 'LICENSE'];

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });

const compiled = spawnSync(
  process.execPath,
  [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', join(root, 'tsconfig.build.json'), '--outDir', target],
  { stdio: 'inherit' },
);
if (compiled.status !== 0) process.exit(1);

for (const name of copied) cpSync(join(root, name), join(target, name), { recursive: true });
copyViewer(join(target, 'assets', 'swagger-ui'));

const {
  private: _,
  scripts,
  devDependencies,
  allowScripts,
  scarfSettings,
  files,
  exports,
  ...manifest
} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const built = builtExports(exports);
writeFileSync(join(target, 'package.json'), `${JSON.stringify({ ...manifest, exports: built }, null, 2)}\n`);
writeFileSync(join(target, 'sbom.json'), `${JSON.stringify(sbomOf(root), null, 2)}\n`);
await bundle(
  target,
  Object.fromEntries(
    Object.entries(built).flatMap(([name, file]) => (typeof file === 'string' ? [] : [[name, file.default] as const])),
  ),
);

/**
 * Copies the files of Swagger UI that the docs page needs: a sixth of the package. As a dependency, the package would report
 * every installation to its makers (decision 21).
 */
function copyViewer(folder: string): void {
  const from = join(root, 'node_modules', 'swagger-ui-dist');
  const files = ['swagger-ui-bundle.js', 'swagger-ui-bundle.js.LICENSE.txt', 'swagger-ui.css', 'LICENSE', 'NOTICE'];
  for (const name of files) cpSync(join(from, name), join(folder, name));
}

/** Node does not run TypeScript in node_modules, so the package exports the compiled files. */
function builtExports(sources: Record<string, string>): Record<string, string | { types: string; default: string }> {
  const built = Object.entries(sources).map(([name, path]) => {
    const source = /^\.\/src\/(?<path>.+)\.ts$/.exec(path)?.groups?.path;
    return [name, source ? { types: `./${source}.d.ts`, default: `./${source}.js` } : path];
  });
  return Object.fromEntries(built);
}
