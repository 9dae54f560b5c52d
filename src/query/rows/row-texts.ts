import type { Executor } from '../../database/executor.ts';
import { isTurnLong, nextTurn, type Pace, turnLength } from '../../event-loop.ts';
import type { CsvColumn } from '../../serialization/csv.ts';
import { compileCsvRowWriter, compilePacedCsvRowWriter } from '../../serialization/csv-row-writer.ts';
import { joined, type PacedRowWriter, type RowWriter } from '../../serialization/row-writer.ts';
import { type Embedded, type EmbeddedRows, type EmbeddedVisibility, manyRows, type Send } from './embedded-rows.ts';
import type { InstanceContext } from './instance.ts';
import type { ListView, ListViews } from './list-views.ts';
import type { ShownRows } from './shown-rows.ts';

/** How one request reads rows: the visibility of embedded rows, the context of instances, the view, and the pace. */
export interface Reading {
  readonly visibility?: EmbeddedVisibility | undefined;
  readonly context?: InstanceContext | undefined;
  readonly view?: ListView;
  readonly pace?: Pace | undefined;
  /** Beyond this size of the rows that one row embeds, the statement fails that reads it. */
  readonly mostBytes?: number;
}

/** How each row is written. */
interface TextForm {
  readonly write: RowWriter;
  /** Writes a row with pauses; null if rows have no lists. */
  readonly paced: () => PacedRowWriter | null;
  readonly before: string;
  readonly after: string;
}

/** Writes rows as lines, each with its line break. */
export type LineWriter = (rows: unknown[][], send: Send) => string | Promise<string>;

/** Writes rows as JSON or CSV, with the rows that they embed. */
export class RowTexts {
  readonly #executor: Executor;
  readonly #embedded: EmbeddedRows;
  readonly #views: ListViews;

  constructor(executor: Executor, embedded: EmbeddedRows, views: ListViews) {
    this.#executor = executor;
    this.#embedded = embedded;
    this.#views = views;
  }

  /** JSON objects, separated by commas. */
  json(rows: unknown[][], reading: Reading): string | Promise<string> {
    const length = reading.pace ? expectedLength(rows) : 0;
    // many requests may have waited for the same rows, and must not write them all in one turn
    if (reading.pace && length > turnLength) return reading.pace(1, 1 / length).then(() => this.#json(rows, reading));
    return this.#json(rows, reading);
  }

  #json(rows: unknown[][], reading: Reading): string | Promise<string> {
    const { shown } = reading.view ?? this.#views.whole;
    const form = { write: shown.writer, paced: () => shown.paced().writer, before: ',', after: '' };
    return this.#written(rows, reading, form, this.#executor);
  }

  /** Makes the writer of lines: CSV if columns are given, otherwise JSON. `send` sends the statements that read embedded rows. */
  lines(columns: readonly CsvColumn[] | null, reading: Reading): LineWriter {
    const { shown } = reading.view ?? this.#views.whole;
    const { format } = this.#executor;
    const form: TextForm = columns
      ? {
          write: compileCsvRowWriter(shown.object, columns, format),
          paced: () => compilePacedCsvRowWriter(shown.object, columns, format),
          before: '',
          after: '',
        }
      : { write: shown.writer, paced: () => shown.paced().writer, before: '', after: '\n' };
    return (rows, send) => this.#written(rows, reading, form, send);
  }

  #written(
    rows: unknown[][],
    { context, pace, visibility, view = this.#views.whole }: Reading,
    form: TextForm,
    send: Send,
  ): string | Promise<string> {
    const { isWanted, manyWriters } = view.shown;
    return this.#embedded.written(rows, isWanted, send, visibility ?? null, (embedded) => {
      const { many, seen, size } = embedded;
      if (size > manyRows) return writtenInTurns(rows, embedded, view.shown, form, { context, pace });
      const { after, before: separator, write } = form;
      const writeFrom = (start: number, before: string): string | Promise<string> => {
        let text = before;
        for (let i = start; i < rows.length; i++) {
          text += (i === 0 ? '' : separator) + write(rows[i] as unknown[], many, manyWriters, seen, context) + after;
          if (pace && text.length - before.length > turnLength) {
            return pace(text.length, (i + 1) / rows.length).then(() => writeFrom(i + 1, text));
          }
        }
        return joined(text);
      };
      return writeFrom(0, '');
    });
  }
}

/** Writes rows that embed many others, in several turns of the event loop. */
async function writtenInTurns(
  rows: unknown[][],
  { many, seen }: Embedded,
  { manyWriters, paced }: ShownRows,
  { after, before, paced: pacedForm, write }: TextForm,
  { context, pace }: Pick<Reading, 'context' | 'pace'>,
): Promise<string> {
  const { manyWriters: pacedWriters } = paced();
  const pacedWriter = pacedForm();
  let text = '';
  let paused = 0;
  for (const [i, row] of rows.entries()) {
    let own: string;
    if (pacedWriter) {
      const writing = pacedWriter(row, many, manyWriters, seen, context, pacedWriters);
      let step = writing.next();
      for (; !step.done; step = writing.next()) if (isTurnLong()) await nextTurn();
      own = step.value;
    } else own = write(row, many, manyWriters, seen, context);
    text += joined((i === 0 ? '' : before) + own + after);
    if (pace && text.length - paused > turnLength) {
      paused = text.length;
      await pace(text.length, (i + 1) / rows.length);
    } else if (isTurnLong()) await nextTurn();
  }
  return joined(text);
}

/** Estimates the length of the texts in rows from the first and the last row. */
function expectedLength(rows: unknown[][]): number {
  let length = 0;
  for (const row of [rows[0], rows.at(-1)]) {
    if (row) for (const value of row) if (typeof value === 'string') length += value.length;
  }
  return (length * rows.length) / 2;
}
