import { isContainer, type Shape } from './shape.ts';
import type { ReportedError } from './source.ts';
import type { Path } from './vocabulary.ts';
import { shapeUnder, type Written, type WrittenEntry } from './written.ts';

/**
 * Puts `later` over `earlier`: mappings deep, lists and scalars replaced, lists of APIs appended.
 * An empty value where a mapping or list belongs (`app_main:` with everything below commented out) changes nothing.
 */
export function merge(earlier: Written, later: Written, path: Path, shape: Shape | null, errors: ReportedError[]): Written {
  if (isEmpty(later) && shape && isContainer(shape) && !shape.nullable) return earlier;
  if (earlier.kind === 'mapping' && later.kind === 'mapping') {
    const entries = new Map<string, WrittenEntry>(earlier.entries);
    for (const [key, entry] of later.entries) {
      const known = entries.get(key);
      const node = known ? merge(known.node, entry.node, [...path, key], shapeUnder(shape, key), errors) : entry.node;
      // What is merged from both files is found where it was written first, what was replaced where it was written last.
      entries.set(key, known && node !== entry.node ? { keyPlace: known.keyPlace, node } : entry);
    }
    return { ...earlier, entries };
  }
  if (isApis(path) && !isEmpty(earlier)) {
    if (earlier.kind === 'list' && later.kind === 'list') return { ...earlier, items: [...earlier.items, ...later.items] };
    if (later.kind !== 'scalar' && earlier.kind !== 'scalar') {
      const [here, there] = later.kind === 'list' ? ['list', 'mapping'] : ['mapping', 'list'];
      const message = `"apis" is a ${here} here and a ${there} in ${earlier.place.file}:${earlier.place.line}; write the same in both`;
      errors.push({ place: later.place, path, message });
      return earlier;
    }
  }
  return later;
}

function isApis(path: Path): boolean {
  return path.length === 2 && path[0] === 'app_main' && path[1] === 'apis';
}

function isEmpty(node: Written): boolean {
  return node.kind === 'scalar' && node.value === null;
}
