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

/** What was so and what is so, by what it is about. */
export class Facts {
  readonly #before: ReadonlyMap<string, readonly Fact[]>;
  readonly #after: ReadonlyMap<string, readonly DeclaredFact[]>;
  readonly #known: ReadonlySet<string>;
  /** Everything that anything was or is said of. */
  readonly subjects: readonly string[];

  constructor(before: readonly Fact[], after: readonly DeclaredFact[]) {
    this.#before = Map.groupBy(before, key);
    this.#after = Map.groupBy(after, key);
    this.#known = new Set(before.map(({ subject }) => subject));
    this.subjects = [...new Set([...this.#known, ...after.map(({ subject }) => subject)])].sort();
  }

  /** Whether anything was said of a subject. */
  knew(subject: string): boolean {
    return this.#known.has(subject);
  }

  before(subject: string, kind: string): readonly string[] {
    return (this.#before.get(key({ subject, kind })) ?? []).map(({ value }) => value);
  }

  after(subject: string, kind: string): readonly DeclaredFact[] {
    return this.#after.get(key({ subject, kind })) ?? [];
  }

  /** What is so now and was not. */
  added(subject: string, kind: string): readonly DeclaredFact[] {
    const then = new Set(this.before(subject, kind));
    return this.after(subject, kind).filter(({ value }) => !then.has(value));
  }

  /** What was so and is no more. */
  removed(subject: string, kind: string): readonly string[] {
    const now = new Set(this.after(subject, kind).map(({ value }) => value));
    return this.before(subject, kind).filter((value) => !now.has(value));
  }

  /** The kinds of what was or is said of a subject. */
  kindsOf(subject: string): readonly string[] {
    const named = (facts: ReadonlyMap<string, readonly Fact[]>) =>
      [...facts.values()].flatMap(([first]) => (first?.subject === subject ? [first.kind] : []));
    return [...new Set([...named(this.#before), ...named(this.#after)])].sort();
  }
}

function key({ subject, kind }: Pick<Fact, 'subject' | 'kind'>): string {
  return `${subject}\n${kind}`;
}
