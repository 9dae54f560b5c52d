import type { SearchSyntax } from '../dialect.ts';

export const postgresSearch: SearchSyntax = Object.freeze<SearchSyntax>({
  document(columns) {
    const texts = columns.flatMap((column, i) => [...(i === 0 ? [] : [" || ' ' || "]), 'coalesce(', ...column, ", '')"]);
    return ["to_tsvector('simple', ", ...texts, ')'];
  },
  holdsWords(document, words, bind) {
    const query = words.map((word) => `'${word.replaceAll('\\', '\\\\').replaceAll("'", "''")}':*`).join(' & ');
    return [...document, " @@ to_tsquery('simple', ", bind(query), ')'];
  },
  trigrams: (column) => `${column} gin_trgm_ops`,
  trigramExtension: 'pg_trgm',
  createIndex: (name, table, expression) => `create index ${name} on ${table} using gin (${expression})`,
});
