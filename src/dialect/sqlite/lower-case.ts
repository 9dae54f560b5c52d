/** Lower case beyond ASCII, which SQLite's own functions do not know. */
export const lowerFunction = 'declarest_lower';

/** A text in lower case, letter by letter: the Greek sigma has another form at the end of a word, which would make a part of a text unlike the whole. */
export function lowered(text: string): string {
  return text.replaceAll('Σ', 'σ').toLowerCase();
}
