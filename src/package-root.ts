import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

// a bundle in the format of CommonJS has no import.meta
const here = import.meta.dirname ?? process.cwd();

/** The directory of this package, both in the repository and as it is built. In a bundle, it is that of the application. */
export const packageRoot = rootAbove(here) ?? here;

function rootAbove(directory: string): string | null {
  if (existsSync(join(directory, 'package.json'))) return directory;
  return dirname(directory) === directory ? null : rootAbove(dirname(directory));
}

/** Where a bundle looks for the folder `assets` of this package, beside itself. */
export const assetsBesideBundle = join(here, 'declarest-assets');

/** The folder with the files of pages: of this package, beside a bundle, or of the package as the application finds it. */
export function assetsFor(directory: string): string | null {
  const own = [join(packageRoot, 'assets'), assetsBesideBundle].find(hasPages);
  if (own !== undefined) return own;
  try {
    const installed = createRequire(join(directory, 'package.json')).resolve('declarest/package.json');
    const assets = join(dirname(installed), 'assets');
    return hasPages(assets) ? assets : null;
  } catch {
    return null;
  }
}

function hasPages(assets: string): boolean {
  return existsSync(join(assets, 'docs', 'page.js'));
}

/** The version of this package. */
export function packageVersion(): string {
  return (JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string }).version;
}
