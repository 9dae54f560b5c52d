import type { SchemaDifference } from '@mikro-orm/sql';
import { plainName } from './difference.ts';
import { MigrationError } from './migration-error.ts';

/** Asks a person at a terminal, and returns the line that was entered. */
export type Ask = (question: string) => Promise<string>;

/** A name that the models no longer have, and the new names to which it may have been changed. */
export interface Gone {
  /** `person.name`, or for a table `person`. */
  readonly label: string;
  /** `title`, in the same table; or names of tables. */
  readonly candidates: readonly string[];
}

/** Tables and columns that would be dropped. */
export function removedNames({ changedTables, newTables, removedTables }: SchemaDifference): Gone[] {
  const tables = Object.keys(removedTables).map(plainName);
  const columns = Object.values(changedTables).flatMap(({ addedColumns, name, removedColumns, toTable }) => {
    // a column that is now generated in another way is dropped and added again
    const gone = Object.keys(removedColumns).filter((column) => !(column in addedColumns));
    const isNew = (column: string) => column in addedColumns && !(column in removedColumns);
    const candidates = toTable.getColumns().flatMap((column) => (isNew(column.name) ? [column.name] : []));
    return gone.map((column) => ({ label: `${plainName(name)}.${column}`, candidates }));
  });
  return [...tables.map((label) => ({ label, candidates: Object.keys(newTables).map(plainName) })), ...columns];
}

/** Asks for the new name of a table or column. Null: it is dropped. */
export async function askForRename({ candidates, label }: Gone, ask: Ask): Promise<string | null> {
  const choices = candidates.map((name, index) => `  ${index + 1}  it is renamed to ${name}\n`).join('');
  const question = `${label} is missing from the models. What happened to it?\n  0  it is dropped, with its data\n${choices}Number: `;
  for (;;) {
    const answer = (await ask(question)).trim();
    if (answer === '0') return null;
    const chosen = /^\d+$/.test(answer) ? candidates[Number(answer) - 1] : candidates.find((name) => name === answer);
    if (chosen !== undefined) return chosen;
  }
}

/** Nothing is dropped or renamed unless a person has decided it. */
export function refuseDrop(gone: readonly Gone[]): MigrationError {
  const labels = gone.map(({ label }) => label).join(', ');
  const renames = gone.flatMap(({ candidates, label }) => candidates.map((name) => `--rename ${label}=${name}`));
  const width = Math.max(...renames.map(({ length }) => length), '--allow-drop'.length) + 2;
  const line = (option: string, meaning: string) => `  ${option.padEnd(width)}${meaning}`;
  if (renames.length === 0) {
    return new MigrationError(
      [
        `this would drop ${labels}, with all data in ${gone.length === 1 ? 'it' : 'them'}. Nothing was written. If that is intended, add:`,
        line('--allow-drop', `drops ${labels}`),
      ].join('\n'),
      { isCall: true },
    );
  }
  return new MigrationError(
    [
      `${labels} ${gone.length === 1 ? 'is' : 'are'} missing from the models, and Declarest never guesses a rename. Nothing was written. Add one of:`,
      ...renames.map((option) => line(option, 'keeps the data under the new name')),
      line('--allow-drop', 'drops it with its data, if it is not renamed'),
    ].join('\n'),
    { isCall: true },
  );
}
