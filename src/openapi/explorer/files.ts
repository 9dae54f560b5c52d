import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';
import { packageRoot } from '../../package-root.ts';

/** The files of the explorer by name. */
export interface ExplorerFiles {
  /** The bytes of a file, and those compressed with Brotli if the package has them. */
  read(name: string): { readonly bytes: Buffer; readonly brotli: Buffer | null };
}

const sources = join(packageRoot, 'explorer');
const builder = join(packageRoot, 'scripts', 'build-explorer.ts');

/**
 * Finds the files of the explorer, without reading them; null if a bundle left them behind. A built package contains them
 * compressed. In the repository they are built on first use.
 */
export function explorerFiles(assets: string): (() => Promise<ExplorerFiles>) | null {
  const packed = join(assets, 'explorer');
  if (existsSync(join(packed, 'index.html.br'))) return async () => ({ read: (name) => readPacked(join(packed, `${name}.br`)) });
  if (assets !== join(packageRoot, 'assets') || !existsSync(builder)) return null;
  return async () => {
    const built = await build();
    return { read: (name) => ({ bytes: readFileSync(join(built, name)), brotli: null }) };
  };
}

function readPacked(file: string): { bytes: Buffer; brotli: Buffer } {
  const brotli = readFileSync(file);
  return { bytes: brotliDecompressSync(brotli), brotli };
}

/** Builds the explorer into a folder that is named after its sources, unless it is there. */
async function build(): Promise<string> {
  const cache = join(packageRoot, 'node_modules', '.cache', 'declarest', 'explorer');
  const target = join(cache, hashOfSources());
  if (existsSync(target)) return target;
  mkdirSync(cache, { recursive: true });
  const unfinished = `${target}.${process.pid}`;
  const { buildExplorer } = (await import(pathToFileURL(builder).href)) as { buildExplorer(folder: string): Promise<void> };
  try {
    await buildExplorer(unfinished);
    renameSync(unfinished, target);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    // another process was faster
    if (!existsSync(target)) throw error;
  }
  return target;
}

function hashOfSources(): string {
  const names = readdirSync(sources, { recursive: true, encoding: 'utf8' }).sort();
  const files = [...names.map((name) => join(sources, name)), builder, join(packageRoot, 'package.json')];
  const hash = createHash('sha256');
  for (const file of files.filter((name) => statSync(name).isFile())) hash.update(file).update('\0').update(readFileSync(file));
  return hash.digest('hex').slice(0, 16);
}
