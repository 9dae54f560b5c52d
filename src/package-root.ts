import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The directory of this package, both in the repository and as it is built. */
export const packageRoot = rootAbove(import.meta.dirname);

function rootAbove(directory: string): string {
  return existsSync(join(directory, 'package.json')) ? directory : rootAbove(dirname(directory));
}

/** The version of this package. */
export function packageVersion(): string {
  return (JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string }).version;
}
