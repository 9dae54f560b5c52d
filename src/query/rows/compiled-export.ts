import type { Cursor, Cursors } from '../../database/cursor.ts';
import type { ExportSource } from '../../response/export-stream.ts';
import type { BoundStatement } from './bound-statement.ts';
import type { LineWriter } from './compiled-read.ts';

/** Characters that are written at a time, about. */
const pieceLength = 64 * 1024;

/** Rows that are read at a time: few to begin with, as nothing is known of their size. */
const firstRows = 50;
const mostRows = 1000;

/** Writes the rows of a compiled statement as lines, as they come out of a cursor. */
export class CompiledExport implements ExportSource {
  readonly #cursor: Cursor;
  readonly #write: LineWriter;
  #size = firstRows;

  private constructor(cursor: Cursor, write: LineWriter) {
    this.#cursor = cursor;
    this.#write = write;
  }

  static async open(cursors: Cursors, { statement, parameters }: BoundStatement, write: LineWriter): Promise<CompiledExport> {
    return new CompiledExport(await cursors.open(statement, parameters, firstRows), write);
  }

  async next(): Promise<string | null> {
    const rows = await this.#cursor.next(this.#size);
    if (rows.length === 0) return null;
    const text = await this.#write(rows, this.#cursor);
    const fitting = Math.floor((pieceLength * rows.length) / Math.max(text.length, 1));
    this.#size = Math.min(Math.max(fitting, 1), mostRows);
    return text;
  }

  close(): Promise<void> {
    return this.#cursor.close();
  }
}
