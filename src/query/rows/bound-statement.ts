import { createHash } from 'node:crypto';
import type { Statement } from '../../database/executor.ts';

/** Prepared statements are known by their text, of which there is a bounded number. */
const names = new Map<string, string>();
const keptNames = 2000;

/** The name under which a statement is prepared. */
export function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = `d${createHash('sha256').update(text).digest('base64url').slice(0, 20)}`;
    if (names.size >= keptNames) names.delete(names.keys().next().value as string);
    names.set(text, name);
  }
  return name;
}

/** A statement under the name by which its text is prepared. */
export function statementOf(text: string, wide = false): Statement {
  return { name: nameOf(text), text, wide };
}
