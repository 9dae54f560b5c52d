import { type CsvColumn, csvCell, csvLine, csvText, needsQuotes, valueAt } from './csv.ts';
import type { RowFormat } from './kind-conversions.ts';
import {
  holdsMany,
  keyExpression,
  type PacedRowWriter,
  pausedRows,
  type RowField,
  type RowObject,
  RowSource,
  type RowsByKey,
  type RowVariant,
  type RowWriter,
  timestampToJson,
  type VisibleKeys,
} from './row-writer.ts';
import { integerToJson, parsedJson } from './to-json.ts';

const zero = 48;

/**
 * Compiles the function that writes rows directly as CSV, with a cell for each column. Like the one for JSON, it is generated as
 * source, from positions and escaped names.
 */
export function compileCsvRowWriter(object: RowObject, columns: readonly CsvColumn[], format: RowFormat): RowWriter {
  const source = new CsvSource(format, false);
  return source.compile(`return (r, m, w, s, c) => ${lineOf(source, object, columns)};`, helpersOf);
}

/** Compiles the same function with pauses within long lists; null if the object has no lists. */
export function compilePacedCsvRowWriter(
  object: RowObject,
  columns: readonly CsvColumn[],
  format: RowFormat,
): PacedRowWriter | null {
  if (!holdsMany(object)) return null;
  const source = new CsvSource(format, true);
  return source.compile(`return function* (r, m, w, s, c, p) { return ${lineOf(source, object, columns)}; };`, helpersOf);
}

function lineOf(source: CsvSource, object: RowObject, columns: readonly CsvColumn[]): string {
  const cells = columns.map((column) => source.object(object, column));
  return cells.length === 1 ? `h.line([${cells[0]}])` : `${cells.join(` + ',' + `) || `''`} + '\\r\\n'`;
}

const helpersOf = {
  cell: (value: unknown): string => csvCell(typeof value === 'bigint' ? integerToJson(value) : value),
  line: csvLine,
  at: (value: unknown, path: CsvColumn): string => csvCell(valueAt(value, path)),
  text: (value: unknown): string => (typeof value === 'string' ? csvText(value) : csvCell(integerToJson(value))),
  timestamp: (value: string): string => {
    const json = timestampToJson(value);
    if (json === 'null') return '';
    const text = json.slice(1, -1);
    // a year of more than four digits has a sign; no other timestamp needs escaping
    return text.charCodeAt(0) < zero ? csvText(text) : text;
  },
  many: (
    key: string,
    source: number,
    many: readonly RowsByKey[],
    writers: readonly RowWriter[],
    seen: readonly VisibleKeys[] | undefined,
    context: unknown,
  ): string => {
    const rows = many[source]?.get(key);
    const write = writers[source];
    return rows && write ? csvText(`[${rows.map((item) => write(item, many, writers, seen, context)).join()}]`) : '[]';
  },
  *pacedMany(
    key: string,
    source: number,
    many: readonly RowsByKey[],
    writers: readonly RowWriter[],
    seen: readonly VisibleKeys[] | undefined,
    context: unknown,
    paced: readonly (PacedRowWriter | null)[],
  ): Generator<void, string> {
    const rows = many[source]?.get(key) ?? [];
    const write = writers[source] as RowWriter;
    const writePaced = paced[source];
    let cell = '';
    let isQuoted = false;
    let text = '[';
    for (const [i, row] of rows.entries()) {
      if (i > 0) text += ',';
      text += writePaced ? yield* writePaced(row, many, writers, seen, context, paced) : write(row, many, writers, seen, context);
      if (i % pausedRows !== pausedRows - 1 && i < rows.length - 1) continue;
      isQuoted ||= needsQuotes.test(text);
      // the result of replaceAll is a tree of its parts, which takes long to join
      cell += text.split('"').join('""');
      text = '';
      yield;
    }
    return isQuoted ? `"${cell}]"` : rows.length === 0 ? '[]' : `${cell}]`;
  },
};

class CsvSource extends RowSource {
  readonly #isPaced: boolean;

  constructor(format: RowFormat, isPaced: boolean) {
    super(format, 'h.cell');
    this.#isPaced = isPaced;
  }

  /** The expression for the cell of a column: empty if the class of the row has no such field. */
  object({ presence, discriminator, keys, variants }: RowObject, column: CsvColumn): string {
    const present = (cell: string) => (presence === null ? cell : `(r[${presence}] === null ? '' : ${cell})`);
    // a hidden row has empty cells, like a missing row
    const visible = ({ fields, instance, seen }: RowVariant) => {
      const cell = this.#among(fields, column);
      const made = instance ? this.#withInstance(cell, `${this.constant(instance)}(r, m, c)`) : cell;
      if (cell === `''`) return cell;
      return seen === undefined ? made : `(s[${seen}].has(${keyExpression(keys)}) ? ${made} : '')`;
    };
    if (discriminator === null) return present(variants[0] ? visible(variants[0]) : `''`);
    const choice = variants.reduceRight((rest, variant) => {
      const { type } = variant;
      const cell = visible(variant);
      if (type === null) return cell;
      return cell === `''` ? rest : `String(r[${discriminator}]) === ${JSON.stringify(type)} ? ${cell} : ${rest}`;
    }, `''`);
    return present(`(${choice})`);
  }

  #withInstance(cell: string, instance: string): string {
    return this.#isPaced ? `(yield* (function* (i) { return ${cell}; })(${instance}))` : `((i) => ${cell})(${instance})`;
  }

  #among(fields: readonly RowField[], [name, ...rest]: CsvColumn): string {
    const field = fields.find((other) => other.name === name);
    return field ? this.#field(field, rest) : `''`;
  }

  #field(field: RowField, rest: CsvColumn): string {
    switch (field.kind) {
      case 'value':
        return `(r[${field.column}] === null ? '' : ${rest.length === 0 ? this.value(field) : this.#within(field, rest)})`;
      case 'embedded': {
        if (rest.length === 0) return `''`;
        const cell = this.#among(field.fields, rest);
        const empty = this.isEmpty(field.columns);
        return empty ? `(${empty} ? '' : ${cell})` : cell;
      }
      case 'to-one': {
        if (rest.length === 0) return `''`;
        const choice = field.objects.reduceRight(
          (other, object) => `r[${object.presence}] !== null ? ${this.object(object, rest)} : ${other}`,
          `''`,
        );
        return `(${choice})`;
      }
      case 'computed': {
        const value = `${this.constant(field.read)}(i, s)`;
        return rest.length === 0 ? `h.cell(${value})` : `h.at(${value}, ${this.constant(rest)})`;
      }
      case 'to-many':
        if (rest.length > 0) return `''`;
        return this.#isPaced
          ? `(yield* h.pacedMany(${keyExpression(field.columns)}, ${field.source}, m, w, s, c, p))`
          : `h.many(${keyExpression(field.columns)}, ${field.source}, m, w, s, c)`;
    }
  }

  /** The expression for a part of a JSON column. */
  #within({ column, convert = parsedJson }: Extract<RowField, { kind: 'value' }>, path: CsvColumn): string {
    return `h.at(${this.constant(convert)}(r[${column}]), ${this.constant(path)})`;
  }
}
