import { type Alias, type Document, isAlias, isScalar, isSeq, LineCounter, type Node, parseDocument, type YAMLMap } from 'yaml';
import { unreadable } from './placeholders.ts';
import { canonicalKey, optionFor, type Shape } from './shape.ts';
import type { ReportedError } from './source.ts';
import type { Path, Place } from './vocabulary.ts';
import { isEmpty, isMapping, shapeOfItems, shapeUnder, type Written, type WrittenMapping } from './written.ts';

const maxDepth = 100;
const maxAliased = 10_000;

/** Parses one file, and adds its errors to `errors`. Null: it is empty; `unreadable`: nothing of it can be used. */
export function parseYamlFile(
  text: string,
  file: string,
  shape: Shape,
  errors: ReportedError[],
): WrittenMapping | typeof unreadable | null {
  const lines = new LineCounter();
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false, logLevel: 'error' });
  const faults = [...document.errors, ...document.warnings].map(({ pos, code, message }) => {
    return { place: placeAt(pos[0]), path: [], message: syntaxMessage(code, message) };
  });
  // Further errors of the same line are mostly consequences of the first.
  const firstOfLines = faults.filter(({ place }, i) => faults.findIndex((other) => other.place.line === place.line) === i);
  if (firstOfLines.length > 0) {
    errors.push(...firstOfLines);
    return unreadable;
  }
  const root = new NodeReader(document, placeAt, errors).read(document.contents, placeAt(0), [], shape, 0);
  if (isMapping(root)) return root;
  if (!isEmpty(root))
    errors.push({ place: root.place, path: [], message: 'a file must contain a mapping, for example "app_main:"' });
  return null;
}

function syntaxMessage(code: string, message: string): string {
  if (code === 'BAD_SCALAR_START' && message.includes('%')) return 'a value cannot begin with %; put the placeholder in quotes';
  if (code === 'MULTIPLE_DOCS') return 'a file must contain one document; remove the second "---"';
  if (code === 'RESOURCE_EXHAUSTION') return 'values are nested too deeply';
  const [first = ''] = message.split('\n');
  return `YAML cannot be read here: ${first.charAt(0).toLowerCase()}${first.slice(1)}`;
}

/** Converts the nodes of a YAML document to values with places. Keys get the spelling of the schema. */
class NodeReader {
  readonly #document: Document.Parsed;
  readonly #placeAt: (offset: number) => Place;
  readonly #errors: ReportedError[];
  /** Collections that are being read: an alias to one of them would recurse forever. */
  readonly #open = new Set<Node>();
  #insideAlias = 0;
  #aliased = 0;

  constructor(document: Document.Parsed, placeAt: (offset: number) => Place, errors: ReportedError[]) {
    this.#document = document;
    this.#placeAt = placeAt;
    this.#errors = errors;
  }

  read(node: Node | null, keyPlace: Place, path: Path, shape: Shape | null, depth: number): Written {
    // Errors of an empty value (`class:`) point to its key.
    if (node === null || (isScalar(node) && node.source === '' && node.value === null)) return { place: keyPlace, value: null };
    const place = this.#placeOf(node);
    if (depth > maxDepth) return this.#failed(place, path, `values are nested deeper than ${maxDepth} levels`);
    if (this.#insideAlias > 0 && this.#aliased++ >= maxAliased) {
      if (this.#aliased > maxAliased + 1) return { place, value: unreadable };
      return this.#failed(place, path, `aliases (*name) expand to more than ${maxAliased} values; write them out`);
    }
    if (isAlias(node)) return this.#readAlias(node, place, path, shape, depth);
    if (isScalar(node)) return { place, value: node.value };
    this.#open.add(node);
    const read = isSeq(node)
      ? { items: this.#readItems(node.items as Node[], place, path, shapeOfItems(shape), depth) }
      : { entries: this.#readEntries(node as YAMLMap<Node, Node | null>, path, shape, depth) };
    this.#open.delete(node);
    return { place, ...read };
  }

  #readItems(items: readonly Node[], place: Place, path: Path, shape: Shape | null, depth: number): Written[] {
    return items.map((item, i) => this.read(item, place, [...path, i], shape, depth + 1));
  }

  #readAlias(alias: Alias, place: Place, path: Path, shape: Shape | null, depth: number): Written {
    const target = alias.resolve(this.#document);
    if (!target) return this.#failed(place, path, `the alias *${alias.source} has no anchor before it`);
    if (this.#open.has(target)) return this.#failed(place, path, `the alias *${alias.source} contains itself`);
    this.#insideAlias++;
    const read = this.read(target, place, path, shape, depth + 1);
    this.#insideAlias--;
    return { ...read, place };
  }

  #readEntries(node: YAMLMap<Node, Node | null>, path: Path, shape: Shape | null, depth: number): Map<string, Written> {
    const mapping = shape && optionFor(shape, 'mapping');
    const entries = new Map<string, Written>();
    const inherited: Written[] = [];
    for (const pair of node.items) {
      const keyPlace = this.#placeOf(pair.key);
      const written = this.#keyOf(pair.key);
      if (written === null) {
        this.#fail(keyPlace, path, 'a key must be a string');
        continue;
      }
      if (written === '<<') {
        inherited.push(this.read(pair.value, keyPlace, path, shape, depth + 1));
        continue;
      }
      const key = mapping?.kind === 'object' ? canonicalKey(mapping, written) : written;
      const first = entries.get(key);
      if (first) {
        this.#fail(
          keyPlace,
          [...path, key],
          `the key "${written}" is duplicated; it was first written in line ${first.keyPlace?.line}`,
        );
        continue;
      }
      const value = this.read(pair.value, keyPlace, [...path, key], shapeUnder(shape, key), depth + 1);
      // Errors of a block below its key point to the key; errors of a value on the same line point to the value.
      const below = (value.entries || value.items) && value.place.line !== keyPlace.line;
      entries.set(key, { ...value, keyPlace, ...(below && { place: keyPlace }) });
    }
    for (const parent of inherited) this.#inherit(entries, parent, path);
    return entries;
  }

  /** `<<: *anchor` adds the entries that the mapping itself does not have. */
  #inherit(entries: Map<string, Written>, parent: Written, path: Path): void {
    if (parent.entries) {
      for (const [key, entry] of parent.entries) if (!entries.has(key)) entries.set(key, entry);
    } else if (parent.items?.every(isMapping)) {
      for (const item of parent.items) this.#inherit(entries, item, path);
    } else if (parent.value !== unreadable) {
      this.#fail(parent.place, path, 'the value of "<<" must be a mapping, or a list of mappings');
    }
  }

  #keyOf(node: Node): string | null {
    const key = isAlias(node) ? node.resolve(this.#document) : node;
    return isScalar(key) ? String(key.source ?? key.value) : null;
  }

  #placeOf(node: Node): Place {
    return this.#placeAt(node.range?.[0] ?? 0);
  }

  #fail(place: Place, path: Path, message: string): void {
    this.#errors.push({ place, path, message });
  }

  #failed(place: Place, path: Path, message: string): Written {
    this.#fail(place, path, message);
    return { place, value: unreadable };
  }
}
