// Builds the package create-declarest in dist-create or in the given folder: node scripts/build-create.ts [folder]
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { rolldown } from 'rolldown';

const root = join(import.meta.dirname, '..');
const source = join(root, 'packages', 'create-declarest');
const target = resolve(process.argv[2] ?? join(root, 'dist-create'));

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });

// one file without dependencies, so that `npm create declarest` downloads nothing else
const bundled = await rolldown({
  input: join(source, 'create-declarest.ts'),
  platform: 'node',
  experimental: { attachDebugInfo: 'none' },
  onwarn(warning) {
    throw new Error(`cannot bundle: ${warning.message}`);
  },
});
await bundled.write({ file: join(target, 'create-declarest.js'), format: 'esm', keepNames: true, codeSplitting: false });
await bundled.close();
chmodSync(join(target, 'create-declarest.js'), 0o755);

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const { private: _, ...manifest } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
writeFileSync(join(target, 'package.json'), `${JSON.stringify({ ...manifest, version }, null, 2)}\n`);
cpSync(join(source, 'README.md'), join(target, 'README.md'));
cpSync(join(root, 'LICENSE'), join(target, 'LICENSE'));
cpSync(join(root, 'assets', 'init'), join(target, 'assets', 'init'), { recursive: true });
