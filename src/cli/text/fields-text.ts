import type { FieldAccess } from '../../inspect/route-fields.ts';
import { wrapped } from './layout.ts';

/** Fields by name. */
type Tree = Map<string, Node>;

interface Node {
  /** The class of the rows that have the field; empty if there is only one. */
  readonly variant: string;
  readonly text: string;
  readonly fields: Tree;
}

/** The roles of which a caller needs one: ` [PERSON_MEDICAL]`. */
function roleMark(roles: readonly string[]): string {
  return roles.length === 0 ? '' : ` [${roles.join(' or ')}]`;
}

/** Fields in one line: `id, center {id, name}, requestor {id; Person: email; ThirdParty: name}`. */
export function fieldsText(fields: readonly FieldAccess[]): string {
  const root: Tree = new Map();
  for (const { kind, label, references, roles } of fields) {
    const reference = kind === 'reference' ? `${label === '' ? '' : ' '}-> ${references.join(' | ')}` : '';
    grow(root, label.split('.'), (step) => {
      const [, variant = '', name = ''] = /^(?:([^:]*):)?(.*)$/s.exec(step) ?? [];
      return { variant, text: `${name}${reference}${roleMark(roles)}` };
    });
  }
  return treeText(root);
}

/** Paths of fields, wrapped at a width: `id, center {id, name}`. */
export function pathsText(paths: readonly string[], width: number): string[] {
  const root: Tree = new Map();
  for (const path of paths) grow(root, path.split('.'), (name) => ({ variant: '', text: name }));
  return wrapped(treeText(root), width, /(?<=[,;]) /);
}

function grow(root: Tree, steps: readonly string[], describe: (step: string) => Omit<Node, 'fields'>): void {
  let tree = root;
  for (const step of steps) {
    const node = tree.get(step) ?? { ...describe(step), fields: new Map() };
    tree.set(step, node);
    tree = node.fields;
  }
}

/** The fields that all classes share come first, then those of each class. */
function treeText(tree: Tree): string {
  const textOf = ({ text, fields }: Node) => (fields.size === 0 ? text : `${text} {${treeText(fields)}}`);
  const byVariant = Map.groupBy(tree.values(), ({ variant }) => variant);
  const lists = [...byVariant].map(([variant, nodes]) => ({ variant, texts: nodes.map(textOf) }));
  const shared = (lists[0]?.texts ?? []).filter((text) => lists.every(({ texts }) => texts.includes(text)));
  const own = lists
    .map(({ variant, texts }) => ({ variant, texts: texts.filter((text) => !shared.includes(text)) }))
    .filter(({ texts }) => texts.length > 0)
    .map(({ variant, texts }) => `${variant}: ${texts.join(', ')}`);
  return [...(shared.length > 0 ? [shared.join(', ')] : []), ...own].join('; ');
}
