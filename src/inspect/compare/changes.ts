import type { DeclaredFact, Fact } from './facts.ts';

/** A change of access, for its reviewers. */
export interface Change {
  /** `opened` unless it is certain that no caller can do more than before. */
  readonly direction: 'opened' | 'closed';
  /** The declaration that causes it; null if that declaration was removed. */
  readonly place: string | null;
  /** The changed route, field or role: `GET,HEAD /api/person.{_format}`, `Person.email`, `the role PERSON_SEE`. */
  readonly subject: string;
  /** The new behaviour, or the one that ended: `reads email`. */
  readonly text: string;
}

export function opened(place: string | null, subject: string, text: string): Change {
  return { direction: 'opened', place, subject, text };
}

export function closed(place: string | null, subject: string, text: string): Change {
  return { direction: 'closed', place, subject, text };
}

export type Facts = ReturnType<typeof pairFacts>;
/** The facts about one subject in the baseline and in the application, by kind. */
export type FactsOfSubject = ReturnType<Facts['about']>;

/** Pairs the facts of a baseline with those of the application, by subject. */
export function pairFacts(baseline: readonly Fact[], application: readonly DeclaredFact[]) {
  const then = Map.groupBy(baseline, ({ subject }) => subject);
  const now = Map.groupBy(application, ({ subject }) => subject);
  const about = (subject: string) => {
    const [was, is] = [then.get(subject) ?? [], now.get(subject) ?? []];
    const before = (kind: string) => was.filter((fact) => fact.kind === kind).map(({ value }) => value);
    const after = (kind: string) => is.filter((fact) => fact.kind === kind);
    return {
      subject,
      /** Whether the baseline has facts about the subject. */
      isKnown: was.length > 0,
      kinds: [...new Set([...was, ...is].map(({ kind }) => kind))].sort(),
      before,
      after,
      added(kind: string) {
        const known = new Set(before(kind));
        return after(kind).filter(({ value }) => !known.has(value));
      },
      removed(kind: string) {
        const left = new Set(after(kind).map(({ value }) => value));
        return before(kind).filter((value) => !left.has(value));
      },
    };
  };
  /** The facts about each subject that begins with a prefix. */
  const aboutAll = (prefix: string) =>
    [...new Set([...then.keys(), ...now.keys()])]
      .filter((subject) => subject.startsWith(prefix))
      .sort()
      .map(about);
  return { about, aboutAll };
}
