/** A noun in the plural, by the simple rules of English: `person` → `persons`, `city` → `cities`, `class` → `classes`. */
export function pluralOf(noun: string): string {
  if (/[^aeiou]y$/i.test(noun)) return `${noun.slice(0, -1)}ies`;
  return /(?:s|x|z|ch|sh)$/i.test(noun) ? `${noun}es` : `${noun}s`;
}

/** A noun with its indefinite article: `a person`, `an entity`, `a user`, `an hour`. */
export function withArticle(noun: string): string {
  const soundsLikeVowel = /^(?:[aeiou]|hour|hono|heir)/i.test(noun) && !/^(?:eu|one\b|uni(?!n)|us[aei]|uti|ur[aio])/i.test(noun);
  return `${soundsLikeVowel ? 'an' : 'a'} ${noun}`;
}

/** The words of a name: `third_party`, `ThirdParty` and `third-party` → `third party`. */
export function wordsOf(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[^A-Za-z0-9]+/g, ' ')
    .trim()
    .toLowerCase();
}

/** Words as a part of an identifier: `third party` → `ThirdParty`. */
export function pascal(words: string): string {
  return words.replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])?/g, (_, first: string | undefined) => (first ?? '').toUpperCase());
}
