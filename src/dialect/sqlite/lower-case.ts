/** SQL function for lower case beyond ASCII, which SQLite's own functions do not support. */
export const lowerFunction = 'declarest_lower';

/**
 * A text in lower case, letter by letter. The Greek sigma has another form at the end of a word: with it, a part of a text would
 * not match the whole.
 */
export function lowered(text: string): string {
  return text.replaceAll('Σ', 'σ').toLowerCase();
}
