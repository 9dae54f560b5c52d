import type { DatabaseSync } from 'node:sqlite';
import type { StoppableConnection } from './stoppable-connection.ts';

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
  if (!codes.some(goesOn)) return { kind: codes.some(({ opcode }) => opcode === 'Count') ? 'count' : 'lookup', shape };
  return { kind: canStop(text, steps, stoppable) ? 'stoppable' : 'any', shape };
}

const nextRow = new Set(['Next', 'Prev', 'VNext', 'SorterNext', 'SorterSort', 'Sort']);

/** Whether an instruction goes on to another row, or back. The last one of a program goes back to its beginning, which is no loop. */
function goesOn({ addr, opcode, p2 }: Record<string, unknown>): boolean {
  return nextRow.has(String(opcode)) || (opcode === 'Goto' && Number(p2) > 1 && Number(p2) < Number(addr));
}

/** Steps that go through rows of no table: those that the statement makes itself, or of a virtual table, but not the values of a list. */
const isUnseen = /^RECURSIVE STEP|VIRTUAL TABLE(?! INDEX 1:$)/;

function canStop(text: string, steps: readonly string[], stoppable: StoppableConnection): boolean {
  if (steps.some((step) => isUnseen.test(step))) return false;
  try {
    stoppable.hideTables();
    // a view that cannot be merged into the statement is a step of its own, and costs more than it is worth
    return stepsOf(stoppable.db, text).length === steps.length;
  } catch {
    // such as one that names the column "rowid", which a view has not
    return false;
  }
}

function stepsOf(db: DatabaseSync, text: string): string[] {
  return db
    .prepare(`explain query plan ${text}`)
    .all()
    .map(({ detail }) => String(detail));
}
