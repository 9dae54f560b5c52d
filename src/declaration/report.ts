import { label, type ReportedError, type Source } from './source.ts';
import type { Path } from './vocabulary.ts';

/** Collects the errors of all stages, so that they are reported at once. */
export class Report {
  readonly #source: Source;
  readonly #errors: ReportedError[];
  readonly #warnings: ReportedError[] = [];

  /** @param further Errors from outside the source, such as modules that could not be loaded. */
  constructor(source: Source, further: readonly ReportedError[] = []) {
    this.#source = source;
    this.#errors = [...source.errors, ...further];
  }

  get errors(): readonly ReportedError[] {
    return this.#errors;
  }

  /** Reports the value at `path`, or with `at: 'key'` its key. */
  add(path: Path, message: string, at: 'key' | 'value' = 'value'): void {
    this.#errors.push({ place: this.#source.placeOf(path, at), path, message });
  }

  /** Reports something that is allowed but dangerous. */
  warn(path: Path, message: string): void {
    this.#warnings.push({ place: this.#source.placeOf(path, 'key'), path, message });
  }

  get warnings(): readonly Warning[] {
    return [...this.#warnings].sort(byPlace).map((found) => ({
      ...found,
      text: lineOf({ ...found, message: `warning: ${found.message}` }),
    }));
  }

  /** Whether anything at this path or below it has been reported. */
  touches(path: Path): boolean {
    return this.#errors.some((error) => path.every((step, depth) => error.path[depth] === step));
  }

  throwIfAny(): void {
    if (this.#errors.length > 0) throw new DeclarationErrors(this.#errors);
  }
}

/** Something that is allowed but dangerous. */
export interface Warning extends ReportedError {
  /** `config/app.yaml:4:14: warning: …` */
  readonly text: string;
}

/** The part of a report that checks of the declaration use. */
export type Findings = Pick<Report, 'add' | 'touches'>;

/** All errors of a declaration, one line each. */
export class DeclarationErrors extends Error {
  readonly errors: readonly ReportedError[];

  constructor(errors: readonly ReportedError[]) {
    const sorted = [...errors].sort(byPlace);
    super([...new Set(sorted.map(lineOf))].join('\n'));
    this.name = 'DeclarationErrors';
    this.errors = sorted;
  }
}

function lineOf({ place, path, message }: ReportedError): string {
  const where = place ? `${place.file}:${place.line}:${place.column}` : label(path);
  return `${where}: ${message.replace(/\s*\n\s*/g, ' ')}`;
}

function byPlace({ place: a }: ReportedError, { place: b }: ReportedError): number {
  if (!a || !b) return Number(!a) - Number(!b);
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.line - b.line || a.column - b.column;
}
