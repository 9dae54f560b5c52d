import { parsePath } from './pattern.ts';
import type { RouteRecord } from './record.ts';
import { requirementSource } from './requirement.ts';

interface Entry {
  readonly record: RouteRecord;
  /** One for each segment. Keys are equal for segments that the router does not distinguish. */
  readonly steps: readonly { readonly key: string; readonly rank: number }[];
}

/**
 * The records in matching order. In each segment, static comes before dynamic. Of two dynamic segments, the one with a format
 * suffix comes first, then the one with a requirement. Otherwise the order of declaration decides.
 */
export function orderRecords(records: readonly RouteRecord[]): readonly RouteRecord[] {
  const entries = records.map((record) => ({ record, steps: stepsOf(record) }));
  return Object.freeze(arrange(entries, 0));
}

// Records that share a segment stay together, because the router walks a tree: once it has chosen one of two dynamic segments, it
// tries everything below that one before the other.
function arrange(entries: readonly Entry[], depth: number): RouteRecord[] {
  const ended = entries.filter(({ steps }) => steps.length === depth).map(({ record }) => record);
  const rest = entries.filter(({ steps }) => steps.length > depth);
  const groups = Map.groupBy(rest, ({ steps }) => steps[depth]?.key);
  const rankOf = ([first]: readonly Entry[]) => first?.steps[depth]?.rank ?? 0;
  const ordered = [...groups.values()].sort((a, b) => rankOf(a) - rankOf(b));
  return [...ended, ...ordered.flatMap((members) => arrange(members, depth + 1))];
}

function stepsOf(record: RouteRecord): Entry['steps'] {
  const { segments, formatted } = parsePath(record.path).pattern;
  return segments.map((segment, index) => {
    const suffixed = formatted && index === segments.length - 1;
    if ('text' in segment) return { key: `${segment.text}${suffixed ? '.{_format}' : ''}`, rank: 0 };
    const requirement = record.requirements[segment.placeholder];
    // A static segment cannot contain a slash, so these keys differ from those above.
    return {
      key: `/${requirementSource(requirement)}${suffixed ? '.{_format}' : ''}`,
      rank: (suffixed ? 1 : 3) + (requirement === undefined ? 1 : 0),
    };
  });
}
