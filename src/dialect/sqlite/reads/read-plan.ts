import type { DatabaseSync } from 'node:sqlite';
import { offsetIn } from '../../../database/statement-costs.ts';
import { rowFunction, type StoppableConnection } from '../stoppable-connection.ts';

/** How long a statement can take, according to SQLite's query plan. */
export interface ReadPlan {
  /**
   * `lookup`: finds rows by unique keys, without a loop. `count`: counts a whole table, in one instruction of SQLite.
   * `stoppable`: reads any number of rows, but can be stopped at each of them. `any`: takes any time, and cannot be stopped.
   */
  readonly kind: 'lookup' | 'count' | 'stoppable' | 'any';
  /** The steps of the plan, with their tables. Statements of one shape cost about the same. */
  readonly shape: string;
  /** The index of the offset among the parameters, or -1. */
  readonly offset: number;
}

/** Classifies a statement by SQLite's query plan. Throws the statement's own error if it cannot be prepared. */
export function planRead(text: string, plain: DatabaseSync, stoppable: StoppableConnection): ReadPlan {
  const codes = plain.prepare(`explain ${text}`).all();
  const steps = stepsOf(plain, text);
  const common = { shape: steps.join('; '), offset: offsetIn(text) };
  // the schema is small, and on the stoppable connection it would include the views
  if (steps.every((step) => isOfSchema.test(step))) return { kind: 'lookup', ...common };
  const isLoop = codes.some(({ opcode }) => nextRow.has(String(opcode))) || steps.some((step) => isRecursive.test(step));
  if (!isLoop) return { kind: codes.some(({ opcode }) => opcode === 'Count') ? 'count' : 'lookup', ...common };
  return { kind: canStop(text, steps, stoppable) ? 'stoppable' : 'any', ...common };
}

/** Instructions that move to another row. */
const nextRow = new Set(['Next', 'Prev', 'VNext', 'SorterNext', 'SorterSort', 'Sort']);

/** Steps that read the schema, or no table at all. No table of an application has a name that begins with `sqlite_`. */
const isOfSchema = /^(SCAN|SEARCH) (pragma_|sqlite_|\(subquery-|CONSTANT ROW$|\d+-ROW VALUES)|^(?!SCAN|SEARCH|RECURSIVE)/;

const isRecursive = /^RECURSIVE STEP/;
/** Loops over rows that are not in a table, except for the values of a list. */
const isUninterruptible = /^RECURSIVE STEP|VIRTUAL TABLE(?! INDEX 1:$)/;
/** Steps that read rows a second time, or build an index of them. */
const isExtraPass = /^MATERIALIZE|^CO-ROUTINE|AUTOMATIC/;

function canStop(text: string, steps: readonly string[], stoppable: StoppableConnection): boolean {
  if (steps.some((step) => isUninterruptible.test(step))) return false;
  const extraPasses = (all: readonly string[]) => all.filter((step) => isExtraPass.test(step)).length;
  try {
    stoppable.hideTables();
    const covered = stepsOf(stoppable.db, text);
    // a view that cannot be merged into the statement costs more than it is worth
    return extraPasses(covered) === extraPasses(steps) && callsIn(stoppable.db, text) >= tablesIn(covered);
  } catch {
    // for example, a statement with the column "rowid", which views do not have
    return false;
  }
}

/** The number of steps that read a table, without those that read a list or the rows of an earlier step. */
function tablesIn(steps: readonly string[]): number {
  const made = new Set(steps.flatMap((step) => /^(?:CO-ROUTINE|MATERIALIZE) (.+)$/.exec(step)?.[1] ?? []));
  return steps.filter((step) => {
    const name = /^(?:SCAN|SEARCH) (\S+)/.exec(step)?.[1];
    return name !== undefined && !made.has(name) && !/VIRTUAL TABLE|CONSTANT ROW|-ROW VALUES/.test(step);
  }).length;
}

/**
 * The number of calls of {@link rowFunction} in a statement. A table with an explicit schema name is not hidden behind a view.
 */
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

/**
 * Whether a change causes further changes, such as of all rows that refer to the changed one. Its time depends on their number.
 */
export function hasConsequences(text: string, db: DatabaseSync): boolean {
  return db
    .prepare(`explain ${text}`)
    .all()
    .some(({ opcode }) => opcode === 'Program');
}
