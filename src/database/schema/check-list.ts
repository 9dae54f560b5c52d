/** The texts that a check allows, if that is all it does: `state in ('a', 'b')`, `state = ANY (ARRAY['a'::text])`, `state = 'a'`. */
export function listIn(check: string): [readonly string[]] | null {
  const literal = /'((?:[^']|'')*)'/g;
  const rest = check.replaceAll(literal, "''");
  const isList = /^\W*(?:check\W+)?[\w"`]+[)\s]*(?:::\w[\w ]*[)\s]*)?(?:in\b|=\s*(?:any\b|''))/i.test(rest);
  if (!isList || /\b(?:or|and|not|like)\b|[<>~!]/i.test(rest)) return null;
  return [Array.from(check.matchAll(literal), ([, text = '']) => text.replaceAll("''", "'"))];
}
