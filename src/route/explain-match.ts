import { isEnabled, type Match, type Trial, tryRecords } from './match.ts';
import type { RouteRecord } from './record.ts';
import { maxValueLength } from './requirement.ts';

/** The record that matches a request, and the reason why each other record does not. */
export interface MatchExplanation {
  readonly match: Match | null;
  /** All other records, in matching order. */
  readonly others: readonly { readonly record: RouteRecord; readonly reason: string }[];
}

/** Explains which record matches a request. */
export function explainMatch(records: readonly RouteRecord[], method: string, path: string): MatchExplanation {
  let match: Match | null = null;
  const others: { record: RouteRecord; reason: string }[] = [];
  for (const trial of tryRecords(records, path)) {
    const { record } = trial;
    if (trial.kind !== 'match') others.push({ record, reason: reasonOf(trial, record) });
    else if (!isEnabled(record, method)) {
      others.push({ record, reason: `method ${method} not enabled (allowed: ${record.methods.join(', ')})` });
    } else if (match) others.push({ record, reason: `matches too, but ${match.record.name} comes first` });
    else match = trial.match;
  }
  return { match, others };
}

function reasonOf(trial: Exclude<Trial, { kind: 'match' }>, record: RouteRecord): string {
  switch (trial.kind) {
    case 'path':
      return 'path differs';
    case 'format': {
      const known = `(known: ${record.formats.join(', ')})`;
      return trial.format === '' ? `format missing ${known}` : `format "${trial.format}" unknown ${known}`;
    }
    case 'requirement':
      if (trial.value === '') return `requirement ${trial.name}: the value is empty`;
      if (trial.value.length > maxValueLength)
        return `requirement ${trial.name}: the value is longer than ${maxValueLength} characters`;
      return `requirement ${trial.name}: ${JSON.stringify(trial.value)} does not match ${trial.requirement ?? 'a segment without "/"'}`;
  }
}
