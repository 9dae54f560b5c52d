import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Exported } from '../declaration/types.ts';
import { SourceText } from '../model/source-text.ts';

/** The source of a module of the application. */
export interface SourceFile {
  /** `src/models/person.ts` */
  readonly file: string;
  readonly text: SourceText;
}

/** Finds the module of an export and reads it once; null for exports that were given in code. */
export function sourceFiles(directory: string): (exported: Exported) => SourceFile | null {
  const files = new Map<string, SourceFile | null>();
  return ({ qualifiedName }) => {
    const stem = /^(?<stem>.+)#/.exec(qualifiedName)?.groups?.stem;
    if (stem === undefined) return null;
    if (!files.has(stem)) files.set(stem, readModule(directory, stem));
    return files.get(stem) ?? null;
  };
}

function readModule(directory: string, stem: string): SourceFile | null {
  const file = ['ts', 'js', 'mts', 'mjs'].map((ending) => `${stem}.${ending}`).find((name) => existsSync(join(directory, name)));
  return file === undefined ? null : { file, text: new SourceText(readFileSync(join(directory, file), 'utf8')) };
}
