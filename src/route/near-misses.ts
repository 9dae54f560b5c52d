import { nearest as similar } from '../declaration/suggest.ts';

interface Miss {
  readonly path: string;
  /** From {@link explainMatch}. */
  readonly reason: string;
}

/** More routes than this do not help. */
const most = 5;

/** The routes that a request probably meant. They fail only by method, format or requirement, or else have a similar path. */
export function nearMisses<Route extends Miss>(others: readonly Route[], path: string): readonly Route[] {
  const near = others.filter(({ reason }) => reason !== 'path differs');
  if (near.length > 0) return near;
  const given = segmentsOf(path);
  const measured = others.map((route) => ({ route, distance: distanceOf(segmentsOf(route.path), given) }));
  const least = Math.min(1, ...measured.map(({ distance }) => distance));
  const nearest = measured.filter(({ distance }) => distance === least);
  return nearest.slice(0, most).map(({ route }) => route);
}

/** The segments of a path, without query and suffix. */
function segmentsOf(path: string): string[] {
  const plain = path.replace(/^https?:\/\/[^/]*/i, '').replace(/[?#].*$/s, '');
  return plain
    .replace(/\.[^./]*$/, '')
    .split('/')
    .filter((segment) => segment !== '');
}

/** The number of missing, superfluous or wrong segments; a misspelled one counts half. Placeholders accept everything. */
function distanceOf(pattern: readonly string[], given: readonly string[]): number {
  const shared = Math.min(pattern.length, given.length);
  let distance = Math.abs(pattern.length - given.length);
  let common = 0;
  for (const [index, expected] of pattern.slice(0, shared).entries()) {
    const actual = given[index] as string;
    if (expected.includes('{')) continue;
    if (expected === actual) common += 1;
    else if (similar(actual, [expected]) === null) distance += 1;
    else {
      distance += 0.5;
      common += 1;
    }
  }
  // a path that shares nothing but its length is not similar
  return common === 0 ? Number.POSITIVE_INFINITY : distance;
}
