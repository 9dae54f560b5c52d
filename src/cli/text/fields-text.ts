/** Fields below a name. */
interface Tree extends Map<string, Tree> {}

/** Fields by their paths, those of one object together: `id, center { id, name }`, in lines of at most a width. */
export function fieldsText(paths: readonly string[], width: number): string[] {
  const root: Tree = new Map();
  for (const path of paths) {
    let tree = root;
    for (const name of path.split('.')) {
      const below: Tree = tree.get(name) ?? new Map();
      tree.set(name, below);
      tree = below;
    }
  }
  const lines: string[] = [];
  for (const word of textOf(root).split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function textOf(tree: Tree): string {
  return [...tree].map(([name, below]) => (below.size === 0 ? name : `${name} { ${textOf(below)} }`)).join(', ');
}
