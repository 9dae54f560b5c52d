import { type Condition, value } from './condition.ts';
import type { FilterPath } from './filter-path.ts';

/** The columns of a full-text search as one document. An index is made of the same words. */
export function documentOf(columns: readonly Condition[]): Condition {
  const texts = columns.flatMap((sql, i) => [...(i === 0 ? [] : [" || ' ' || "]), 'coalesce(', ...sql, ", '')"]);
  return ["to_tsvector('simple', ", ...texts, ')'];
}

/** That every word is the beginning of a word in one of the columns. */
export function fulltextCondition(paths: readonly FilterPath[], words: readonly string[]): Condition {
  const document = documentOf(paths.flatMap(({ own }) => (own ? [own] : [])));
  const query = words.map((word) => `'${word.replaceAll('\\', '\\\\').replaceAll("'", "''")}':*`).join(' & ');
  return [...document, " @@ to_tsquery('simple', ", value(query), ')'];
}
