import type { DatabaseSync } from 'node:sqlite';
import { rowFunction, type StoppableConnection } from './stoppable-connection.ts';

/** How long a statement can take, as far as SQLite's plan for it says. */
export interface ReadPlan {
  /**
   * `lookup`: rows are looked up by unique keys, and nothing is gone through. `count`: it counts a whole table, which SQLite does
   * in one go. `stoppable`: any number of rows, but it can be stopped at each of them. `any`: whatever it takes.
   */
  readonly kind: 'lookup' | 'count' | 'stoppable' | 'any';
  /** What it does to which tables. Statements of one shape cost about the same. */
  readonly shape: string;
}

/** Asks SQLite how it would run a statement. Throws what the statement would, if it cannot be prepared. */
export function planRead(text: string, plain: DatabaseSync, stoppable: StoppableConnection): ReadPlan {
  const codes = plain.prepare(`explain ${text}`).all();
  const steps = stepsOf(plain, text);
  const shape = steps.join('; ');
  // the schema is small, and the views of the other connection would be part of it
  if (steps.every((step) => isOfSchema.test(step))) return { kind: 'lookup', shape };
  const isLoop = codes.some(({ opcode }) => nextRow.has(String(opcode))) || steps.some((step) => isRecursive.test(step));
  if (!isLoop) return { kind: codes.some(({ opcode }) => opcode === 'Count') ? 'count' : 'lookup', shape };
  return { kind: canStop(text, steps, stoppable) ? 'stoppable' : 'any', shape };
}

/** Instructions that go on to another row. */
const nextRow = new Set(['Next', 'Prev', 'VNext', 'SorterNext', 'SorterSort', 'Sort']);

/** Steps that read the schema, or no table at all. No table of an application has a name that begins with `sqlite_`. */
const isOfSchema = /^(SCAN|SEARCH) (pragma_|sqlite_|\(subquery-|CONSTANT ROW$|\d+-ROW VALUES)|^(?!SCAN|SEARCH|RECURSIVE)/;

const isRecursive = /^RECURSIVE STEP/;
/** Steps that go through rows of no table, other than the values of a list. */
const isUnseen = /^RECURSIVE STEP|VIRTUAL TABLE(?! INDEX 1:$)/;
/** Steps that go through rows once more, or make an index of them. */
const isExtra = /^MATERIALIZE|^CO-ROUTINE|AUTOMATIC/;

function canStop(text: string, steps: readonly string[], stoppable: StoppableConnection): boolean {
  if (steps.some((step) => isUnseen.test(step))) return false;
  const extrasIn = (all: readonly string[]) => all.filter((step) => isExtra.test(step)).length;
  try {
    stoppable.hideTables();
    const covered = stepsOf(stoppable.db, text);
    // a view that cannot be merged into the statement costs more than it is worth
    return extrasIn(covered) === extrasIn(steps) && callsIn(stoppable.db, text) >= tablesIn(covered);
  } catch {
    // such as one that names the column "rowid", which a view has not
    return false;
  }
}

/** Steps that go through a table; not those through a list, or through rows of a step before. */
function tablesIn(steps: readonly string[]): number {
  const made = new Set(steps.flatMap((step) => /^(?:CO-ROUTINE|MATERIALIZE) (.+)$/.exec(step)?.[1] ?? []));
  return steps.filter((step) => {
    const name = /^(?:SCAN|SEARCH) (\S+)/.exec(step)?.[1];
    return name !== undefined && !made.has(name) && !/VIRTUAL TABLE|CONSTANT ROW|-ROW VALUES/.test(step);
  }).length;
}

/** How often a statement calls the function by which it is stopped. A table whose name is written with its schema is not covered. */
function callsIn(db: DatabaseSync, text: string): number {
  return db
    .prepare(`explain ${text}`)
    .all()
    .filter(({ p4 }) => String(p4).startsWith(rowFunction)).length;
}

function stepsOf(db: DatabaseSync, text: string): string[] {
  return db
    .prepare(`explain query plan ${text}`)
    .all()
    .map(({ detail }) => String(detail));
}

/** Whether a change makes further ones, such as of all rows that refer to it: it takes as long as there are such rows. */
export function hasConsequences(text: string, db: DatabaseSync): boolean {
  return db
    .prepare(`explain ${text}`)
    .all()
    .some(({ opcode }) => opcode === 'Program');
}
