/** The candidate that was probably meant, or null if none is near. Case, dashes and underscores are ignored. */
export function nearest(given: string, candidates: Iterable<string>): string | null {
  let best: string | null = null;
  let bestDistance = Number.POSITIVE_INFINITY;
  const plain = fold(given);
  for (const candidate of candidates) {
    const other = fold(candidate);
    const distance = editDistance(plain, other);
    // A third of the letters may differ: `base_pth` is near `base_path`, `id` is not near `class`.
    const threshold = Math.max(1, Math.floor(Math.max(plain.length, other.length) / 3));
    if (distance <= threshold && distance < Math.max(plain.length, other.length) && distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** ` did you mean "base_path"?`, or nothing if no candidate is near. */
export function didYouMean(given: string, candidates: Iterable<string>): string {
  const found = nearest(given, candidates);
  return found === null ? '' : ` did you mean "${found}"?`;
}

/** `a, b, c`, or `none`. */
export function listed(names: Iterable<string>): string {
  return [...names].join(', ') || 'none';
}

function fold(name: string): string {
  return name.toLowerCase().replaceAll('-', '_');
}

/** Insertions, deletions, replacements and swaps of neighbours that lead from `a` to `b`. */
function editDistance(a: string, b: string): number {
  // rows[i][j]: from the first i letters of `a` to the first j of `b`
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  const at = (i: number, j: number) => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= a.length; i++) {
    rows[i] = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY;
      rows[i]?.push(Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, replaced, swapped));
    }
  }
  return at(a.length, b.length);
}
