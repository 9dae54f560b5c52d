// The type declarations of the package: those that exported modules refer to.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { usedTypes } from './used-types.ts';

const root = join(import.meta.dirname, '..');

/**
 * Writes the declarations of exported modules, and of what these refer to.
 *
 * @param target The folder for the declarations.
 * @param exported Paths from `src`, without an extension: `['index', 'testing']`.
 */
export function writeDeclarations(target: string, exported: readonly string[]): void {
  const compiled = mkdtempSync(join(tmpdir(), 'declarest-types-'));
  try {
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const project = ['-p', join(root, 'tsconfig.build.json'), '--emitDeclarationOnly', '--outDir', compiled];
    // several threads repeat each other's work, and need three times the processor time
    const options = [...project, '--singleThreaded'];
    const { status } = spawnSync(process.execPath, [tsc, ...options], { stdio: 'inherit' });
    if (status !== 0) throw new Error('the declarations cannot be generated: see the messages above');
    const files = usedTypes((path) => readFileSync(join(compiled, `${path}.d.ts`), 'utf8'), exported);
    const importsOf = (path: string) =>
      [...(files.get(path) ?? '').matchAll(importPattern)].map(([, , to = '']) => join(dirname(path), to));
    // exported modules only pass on the names of others
    const isPublic = new Set([...exported, ...exported.flatMap(importsOf)]);
    for (const [path, text] of files) {
      mkdirSync(dirname(join(target, path)), { recursive: true });
      writeFileSync(join(target, `${path}.d.ts`), compact(isPublic.has(path) ? text : shortened(text)));
    }
  } finally {
    rmSync(compiled, { recursive: true, force: true });
  }
}

/** `from './names.ts'` and `import("./names.ts")` */
const importPattern = /(\bfrom |\bimport\()["'](\.[^"']*)\.ts["']/g;

/** Refers to files as a compiled module does. Types that were inferred are deeply nested, and indentation is half of their text. */
function compact(text: string): string {
  return text.replace(importPattern, "$1'$2.js'").replace(/^ +(?=[^ *])/gm, '');
}

/**
 * An editor shows the comments of names that an application can import; those of other modules are a third of their text. `readonly`
 * before a property makes no difference to what can be assigned, and is a fifth of the types that were inferred.
 */
function shortened(text: string): string {
  return text.replace(/^ *\/\*\*[\s\S]*?\*\/\n/gm, '').replace(/^( *)readonly (?=\w+\??:)/gm, '$1');
}
