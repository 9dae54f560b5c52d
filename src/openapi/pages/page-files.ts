import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { assetsBesideBundle, assetsFor } from '../../package-root.ts';

/** Folders with the files that the docs page loads. */
export interface PageFiles {
  readonly assets: string;
  /** Swagger UI. */
  readonly viewer: string;
}

/** Finds the files of the docs page; null if a bundle left them behind. */
export function pageFiles(directory: string): PageFiles | null {
  const assets = assetsFor(directory);
  const viewer = assets && viewerIn(assets);
  return assets === null || viewer === null ? null : { assets, viewer };
}

/** A built package contains the viewer; in the repository it is in node_modules. */
function viewerIn(assets: string): string | null {
  const own = join(assets, 'swagger-ui');
  if (existsSync(own)) return own;
  try {
    return dirname(createRequire(join(assets, 'index.js')).resolve('swagger-ui-dist/package.json'));
  } catch {
    return null;
  }
}

export const filesMissing =
  'files of the docs page or the explorer are not there, because this is a bundle, so these pages are not served. ' +
  `Copy node_modules/declarest/assets to ${assetsBesideBundle}, or keep the package declarest out of the bundle; "openapi.docs: null" turns the pages off`;
