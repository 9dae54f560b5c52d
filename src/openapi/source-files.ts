import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Exported } from '../declaration/types.ts';
import { SourceText } from '../model/source-text.ts';

/** A module of the application, as it is written. */
export interface SourceFile {
  /** `src/models/person.ts` */
  readonly file: string;
  readonly text: SourceText;
}

/** Reads the modules that an application exports things from, each once. */
export class SourceFiles {
  readonly #directory: string;
  readonly #files = new Map<string, SourceFile | null>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** The module of something; null where it was given in code. */
  of({ qualifiedName }: Exported): SourceFile | null {
    const stem = /^(?<stem>.+)#/.exec(qualifiedName)?.groups?.stem;
    if (stem === undefined) return null;
    if (!this.#files.has(stem)) this.#files.set(stem, this.#read(stem));
    return this.#files.get(stem) ?? null;
  }

  #read(stem: string): SourceFile | null {
    for (const ending of ['ts', 'js', 'mts', 'mjs']) {
      const file = `${stem}.${ending}`;
      try {
        return { file, text: new SourceText(readFileSync(join(this.#directory, file), 'utf8')) };
      } catch {
        // it has another ending
      }
    }
    return null;
  }
}
