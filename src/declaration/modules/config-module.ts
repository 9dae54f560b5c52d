import { isPlainObject } from '../plain-object.ts';
import type { ReportedError } from '../source.ts';
import type { Place } from '../vocabulary.ts';
import { isMapping, type Written, type WrittenMapping } from '../written.ts';

/** A module in `config/` whose default export is a part of the declaration. */
export interface ConfigModule {
  /** `config/users.ts` */
  readonly file: string;
  /** Its source text, to find the places of errors. */
  readonly text: string;
  readonly value: unknown;
}

/** A declaration written as a module, in the form that YAML files are read into; null, and an error, if it is not an object. */
export function writtenModule({ file, text, value }: ConfigModule, errors: ReportedError[]): WrittenMapping | null {
  const written = writtenValue(value, 0, (offset) => placeAt(file, text, offset), text);
  if (isMapping(written)) return written;
  const message = 'the module must have an object as its default export: export default { app_main: { … } }';
  errors.push({ place: { file, line: 1, column: 1 }, path: [], message });
  return null;
}

/** Searches the source for each key after its parent key. That finds the right place unless the declaration is computed. */
function writtenValue(value: unknown, offset: number, placeOf: (offset: number) => Place, text: string): Written {
  const place = placeOf(offset);
  if (Array.isArray(value)) return { place, items: value.map((item) => writtenValue(item, offset, placeOf, text)) };
  // a valibot schema is a plain object, and is not split into keys
  if (!isPlainObject(value) || '~standard' in value) return { place, value, literal: true };
  const entries = new Map<string, Written>();
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue;
    const at = offsetOf(key, offset, text);
    entries.set(key, { ...writtenValue(item, at, placeOf, text), keyPlace: placeOf(at) });
  }
  return { place, entries };
}

function offsetOf(key: string, from: number, text: string): number {
  const name = key.replace(/[^\w]/g, '\\$&');
  const pattern = new RegExp(`(?<![\\w$])(['"]?)${name}\\1\\s*[:,}(]`, 'g');
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? from;
}

function placeAt(file: string, text: string, offset: number): Place {
  const before = text.slice(0, offset).split('\n');
  return { file, line: before.length, column: (before.at(-1) as string).length + 1 };
}
