import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { isPlainObject } from '../plain-object.ts';
import type { ReportedError } from '../source.ts';

interface Manifest {
  /** The path from the application's directory. */
  readonly file: string;
  readonly text: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** The package.json that Node uses for the modules of an application; null if there is none, or it is not valid. */
function manifestOf(directory: string): Manifest | null {
  for (let folder = resolve(directory); ; folder = dirname(folder)) {
    const path = join(folder, 'package.json');
    if (existsSync(path)) return readManifest(relative(directory, path), readFileSync(path, 'utf8'));
    if (dirname(folder) === folder) return null;
  }
}

function readManifest(file: string, text: string): Manifest | null {
  try {
    const value: unknown = JSON.parse(text);
    return isPlainObject(value) ? { file, text, value } : null;
  } catch {
    return null;
  }
}

/**
 * An error if package.json makes Node read the ES modules of an application as CommonJS, as after `npm init`. Without a type in
 * package.json, Node decides by the content of each file.
 */
export function commonJsError(directory: string, files: () => readonly string[]): ReportedError | null {
  const manifest = manifestOf(directory);
  if (manifest?.value.type !== 'commonjs') return null;
  const usesImports = (file: string) => /^\s*(?:import\b(?!\s*[(.])|export\b)/m.test(readFileSync(join(directory, file), 'utf8'));
  const module = files().find((file) => /\.[jt]s$/.test(file) && usesImports(file));
  if (module === undefined) return null;
  const before = manifest.text.slice(0, Math.max(0, manifest.text.search(/"type"\s*:/))).split('\n');
  const place = { file: manifest.file, line: before.length, column: (before.at(-1) as string).length + 1 };
  return {
    place,
    path: [manifest.file],
    message: `this package is CommonJS, but ${module} uses import or export; set "type": "module" in ${manifest.file}`,
  };
}

/** The remedy for an import of a package that Node did not find; null for other errors. */
export function missingPackage(directory: string, error: unknown): string | null {
  if ((error as { code?: string } | null)?.code !== 'ERR_MODULE_NOT_FOUND') return null;
  const name = /^Cannot find package '((?:@[^/']+\/)?[^/']+)/.exec((error as Error).message)?.[1];
  if (name === undefined) return null;
  const manifest = manifestOf(directory);
  if (!manifest) return `the package "${name}" is not installed, and package.json is missing; run "npm install ${name}"`;
  const declared = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'].some((key) =>
    Object.hasOwn((manifest.value[key] ?? {}) as object, name),
  );
  if (declared) return `the package "${name}" is in ${manifest.file}, but not installed; run "npm install"`;
  return `the package "${name}" is not installed; run "npm install ${name}"`;
}
