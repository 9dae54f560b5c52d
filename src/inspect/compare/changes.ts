import type { DeclaredFact, Fact } from './facts.ts';

/** A change of access, for those who review it. */
export interface Change {
  /** `opened` whenever it is not certain that nobody can do more than before. */
  readonly direction: 'opened' | 'closed';
  /** The declaration that made it so; null where what made it so is no longer there. */
  readonly place: string | null;
  /** What changed: `GET,HEAD /api/person.{_format}`, `Person.email`, `the role PERSON_SEE`. */
  readonly subject: string;
  /** What it does now, or no more: `reads email`. */
  readonly text: string;
}

export function opened(place: string | null, subject: string, text: string): Change {
  return { direction: 'opened', place, subject, text };
}

export function closed(place: string | null, subject: string, text: string): Change {
  return { direction: 'closed', place, subject, text };
}

export class Facts {
  readonly #before: ReadonlyMap<string, readonly Fact[]>;
  readonly #after: ReadonlyMap<string, readonly DeclaredFact[]>;

  constructor(before: readonly Fact[], after: readonly DeclaredFact[]) {
    this.#before = Map.groupBy(before, ({ subject }) => subject);
    this.#after = Map.groupBy(after, ({ subject }) => subject);
  }

  about(subject: string): FactsOfSubject {
    return new FactsOfSubject(subject, this.#before.get(subject) ?? [], this.#after.get(subject) ?? []);
  }

  /** The facts about each subject that begins with a prefix. */
  aboutAll(prefix: string): readonly FactsOfSubject[] {
    const subjects = [...new Set([...this.#before.keys(), ...this.#after.keys()])].sort();
    return subjects.filter((subject) => subject.startsWith(prefix)).map((subject) => this.about(subject));
  }
}

/** What was so and what is so of one subject, by kind. */
export class FactsOfSubject {
  readonly subject: string;
  readonly #before: readonly Fact[];
  readonly #after: readonly DeclaredFact[];

  constructor(subject: string, before: readonly Fact[], after: readonly DeclaredFact[]) {
    this.subject = subject;
    this.#before = before;
    this.#after = after;
  }

  /** Whether the baseline says anything of it. */
  get isKnown(): boolean {
    return this.#before.length > 0;
  }

  get kinds(): readonly string[] {
    return [...new Set([...this.#before, ...this.#after].map(({ kind }) => kind))].sort();
  }

  before(kind: string): readonly string[] {
    return this.#before.filter((fact) => fact.kind === kind).map(({ value }) => value);
  }

  after(kind: string): readonly DeclaredFact[] {
    return this.#after.filter((fact) => fact.kind === kind);
  }

  added(kind: string): readonly DeclaredFact[] {
    const then = new Set(this.before(kind));
    return this.after(kind).filter(({ value }) => !then.has(value));
  }

  removed(kind: string): readonly string[] {
    const now = new Set(this.after(kind).map(({ value }) => value));
    return this.before(kind).filter((value) => !now.has(value));
  }
}
