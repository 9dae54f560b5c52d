/** UTF-16 code units, as sorted intervals that neither touch nor overlap; both ends are included. */
export type CharacterSet = readonly (readonly [from: number, to: number])[];

const last = 0xffff;

/** The set of all characters within any of the intervals. */
export function unite(...intervals: readonly (readonly [number, number])[]): CharacterSet {
  const sorted = [...intervals].sort((a, b) => a[0] - b[0]);
  const merged: [number, number][] = [];
  for (const [from, to] of sorted) {
    const previous = merged.at(-1);
    if (previous && from <= previous[1] + 1) previous[1] = Math.max(previous[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

export function complement(set: CharacterSet): CharacterSet {
  const rest: [number, number][] = [];
  let next = 0;
  for (const [from, to] of set) {
    if (from > next) rest.push([next, from - 1]);
    next = to + 1;
  }
  if (next <= last) rest.push([next, last]);
  return rest;
}

export function intersects(a: CharacterSet, b: CharacterSet): boolean {
  let i = 0;
  let j = 0;
  for (;;) {
    const x = a[i];
    const y = b[j];
    if (x === undefined || y === undefined) return false;
    if (x[1] < y[0]) i++;
    else if (y[1] < x[0]) j++;
    else return true;
  }
}

export function contains(set: CharacterSet, character: number): boolean {
  return set.some(([from, to]) => from <= character && character <= to);
}

/** One character of each kind that the sets tell apart (characters in none of them left out). */
export function representatives(sets: readonly CharacterSet[]): number[] {
  const starts = new Set<number>();
  for (const set of sets) {
    for (const [from, to] of set) {
      starts.add(from);
      if (to < last) starts.add(to + 1);
    }
  }
  const kinds = new Map<string, number>();
  const distinct = [...new Set(sets)];
  for (const start of starts) {
    const kind = distinct.map((set) => (contains(set, start) ? '1' : '0')).join('');
    if (kind.includes('1') && !kinds.has(kind)) kinds.set(kind, start);
  }
  return [...kinds.values()];
}

const code = (character: string) => character.charCodeAt(0);

export const digits: CharacterSet = [[code('0'), code('9')]];
export const wordCharacters: CharacterSet = unite(
  [code('0'), code('9')],
  [code('A'), code('Z')],
  [code('a'), code('z')],
  [code('_'), code('_')],
);
export const spaces: CharacterSet = unite(
  [9, 13],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
);
/** What `.` does not match. */
export const lineEnds: CharacterSet = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
];
