import type { Cursor, Cursors } from '../../database/cursor.ts';
import { ChunkSize } from '../../response/chunk-size.ts';
import type { ExportSource } from '../../response/export-stream.ts';
import type { BoundStatement } from './bound-statement.ts';
import type { LineWriter } from './row-texts.ts';

/** Rows that are read at a time, and the approximate characters of their text. */
const chunkLimits = { first: 50, most: 1000, length: 64 * 1024 };

/** Writes the rows of a compiled statement as lines, as they come out of a cursor. */
export class CompiledExport implements ExportSource {
  readonly #cursor: Cursor;
  readonly #write: LineWriter;
  readonly #size = new ChunkSize(chunkLimits);

  private constructor(cursor: Cursor, write: LineWriter) {
    this.#cursor = cursor;
    this.#write = write;
  }

  static async open(cursors: Cursors, { statement, parameters }: BoundStatement, write: LineWriter): Promise<CompiledExport> {
    return new CompiledExport(await cursors.open(statement, parameters, chunkLimits.first), write);
  }

  async next(): Promise<string | null> {
    const rows = await this.#cursor.next(this.#size.rows);
    if (rows.length === 0) return null;
    this.#size.begin();
    const text = await this.#write(rows, this.#cursor);
    this.#size.end(rows.length, text.length);
    return text;
  }

  close(): Promise<void> {
    return this.#cursor.close();
  }
}
