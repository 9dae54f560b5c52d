import type { FieldAccess } from './fields.ts';

interface Node {
  /** The class of the rows that have the field; empty where there is only one. */
  readonly variant: string;
  readonly name: string;
  readonly fields: Node[];
}

/** Fields in one line for people: `id, center {id, name}, requestor {id; Person: email; ThirdParty: name}`. */
export function fieldsText(fields: readonly FieldAccess[]): string {
  const top: Node[] = [];
  const known = new Map<string, Node>();
  for (const field of fields) {
    const cut = field.label.lastIndexOf('.');
    const [, variant = '', name = ''] = /^(?:([^:]*):)?(.*)$/s.exec(field.label.slice(cut + 1)) ?? [];
    const node: Node = { variant, name: `${name}${referencesText(field)}`, fields: [] };
    const outer = cut === -1 ? undefined : known.get(field.label.slice(0, cut));
    (outer?.fields ?? top).push(node);
    known.set(field.label, node);
  }
  return nodesText(top);
}

function referencesText({ kind, label, references }: FieldAccess): string {
  if (kind !== 'reference') return '';
  return `${label === '' ? '' : ' '}-> ${references.join(' | ')}`;
}

/** What rows of every class have comes first, then what only those of one have. */
function nodesText(nodes: readonly Node[]): string {
  const byVariant = Map.groupBy(nodes, ({ variant }) => variant);
  const lists = [...byVariant].map(([variant, those]) => ({ variant, texts: those.map(nodeText) }));
  const shared = (lists[0]?.texts ?? []).filter((text) => lists.every(({ texts }) => texts.includes(text)));
  const own = lists
    .map(({ variant, texts }) => ({ variant, texts: texts.filter((text) => !shared.includes(text)) }))
    .filter(({ texts }) => texts.length > 0)
    .map(({ variant, texts }) => `${variant}: ${texts.join(', ')}`);
  return [...(shared.length > 0 ? [shared.join(', ')] : []), ...own].join('; ');
}

function nodeText({ name, fields }: Node): string {
  return fields.length === 0 ? name : `${name} {${nodesText(fields)}}`;
}
