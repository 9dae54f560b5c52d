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

/** One character for each combination of sets that contain it. Characters in no set are left out. */
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

/** The characters from the first to the last of each text: `ranges('09', 'az', '_')`. */
function ranges(...texts: readonly string[]): CharacterSet {
  return unite(...texts.map((text) => [text.charCodeAt(0), text.charCodeAt(text.length - 1)] as const));
}

export const digits = ranges('09');
export const wordCharacters = ranges('09', 'AZ', 'az', '_');
export const spaces = ranges(
  ...['\t\r', ' ', '\u00a0', '\u1680', '\u2000\u200a', '\u2028\u2029', '\u202f', '\u205f', '\u3000', '\ufeff'],
);
/** The characters that `.` does not match. */
export const lineEnds = ranges('\n', '\r', '\u2028\u2029');
