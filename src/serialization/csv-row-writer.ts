import { type CsvColumn, csvCell, csvLine, csvText, valueAt } from './csv.ts';
import { type RowFormat, valueExpression } from './kind-conversions.ts';
import {
  type RowField,
  type RowObject,
  type RowsByKey,
  type RowVariant,
  type RowWriter,
  type SeenKeys,
  timestampToJson,
} from './row-writer.ts';
import { type Converter, integerToJson, parsedJson } from './to-json.ts';

const zero = 48;

/**
 * Makes the function that writes rows straight to CSV, a cell for each of the columns. Like that for JSON it is generated as source,
 * of positions and of names that are escaped.
 */
export function compileCsvRowWriter(object: RowObject, columns: readonly CsvColumn[], format: RowFormat): RowWriter {
  const source = new CsvSource(format);
  const cells = columns.map((column) => source.object(object, column));
  const line = cells.length === 1 ? `h.line([${cells[0]}])` : `${cells.join(` + ',' + `) || `''`} + '\\r\\n'`;
  const make = new Function('h', 'k', 'p', `return (r, m, w, s, c) => ${line};`) as (
    helpers: typeof helpersOf,
    converters: readonly Converter[],
    paths: readonly CsvColumn[],
  ) => RowWriter;
  return make(helpersOf, source.converters, source.paths);
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
    // a year of more than four digits has a sign, and nothing else of a moment would have to be quoted
    return text.charCodeAt(0) < zero ? csvText(text) : text;
  },
  many: (
    row: unknown[],
    column: number,
    source: number,
    many: readonly RowsByKey[],
    writers: readonly RowWriter[],
    seen: readonly SeenKeys[] | undefined,
    context: unknown,
  ): string => {
    const rows = many[source]?.get(String(row[column]));
    const write = writers[source];
    return rows && write ? csvText(`[${rows.map((item) => write(item, many, writers, seen, context)).join()}]`) : '[]';
  },
};

class CsvSource {
  readonly #format: RowFormat;
  readonly converters: Converter[] = [];
  readonly paths: CsvColumn[] = [];

  constructor(format: RowFormat) {
    this.#format = format;
  }

  /** The expression for the cell of a column: empty where the class of the row has no such field. */
  object({ presence, discriminator, key, variants }: RowObject, column: CsvColumn): string {
    const present = (cell: string) => (presence === null ? cell : `(r[${presence}] === null ? '' : ${cell})`);
    // a row that the caller does not see is as empty as none
    const visible = ({ fields, instance, seen }: RowVariant) => {
      const cell = this.#among(fields, column);
      const made = instance ? `((i) => ${cell})(k[${this.converters.push(instance as never) - 1}](r, m, c))` : cell;
      if (cell === `''`) return cell;
      return seen === undefined ? made : `(s[${seen}].has('' + r[${key}]) ? ${made} : '')`;
    };
    if (discriminator === null) return present(variants[0] ? visible(variants[0]) : `''`);
    const choice = variants.reduceRight((rest, variant) => {
      const { type } = variant;
      const cell = visible(variant);
      if (type === null) return cell;
      return cell === `''` ? rest : `r[${discriminator}] === ${JSON.stringify(type)} ? ${cell} : ${rest}`;
    }, `''`);
    return present(`(${choice})`);
  }

  #among(fields: readonly RowField[], [name, ...rest]: CsvColumn): string {
    const field = fields.find((other) => other.name === name);
    return field ? this.#field(field, rest) : `''`;
  }

  #field(field: RowField, rest: CsvColumn): string {
    switch (field.kind) {
      case 'value':
        return `(r[${field.column}] === null ? '' : ${this.#value(field, `r[${field.column}]`, rest)})`;
      case 'embedded': {
        if (rest.length === 0) return `''`;
        const cell = this.#among(field.fields, rest);
        const empty = field.columns?.map((column) => `r[${column}] === null`).join(' && ');
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
        const value = `k[${this.converters.push(field.read as never) - 1}](i, s)`;
        return rest.length === 0 ? `h.cell(${value})` : `h.at(${value}, p[${this.paths.push(rest) - 1}])`;
      }
      case 'to-many':
        return rest.length === 0 ? `h.many(r, ${field.column}, ${field.source}, m, w, s, c)` : `''`;
    }
  }

  /** The expression that writes a value that is not null. */
  #value(field: Extract<RowField, { kind: 'value' }>, value: string, rest: CsvColumn): string {
    if (rest.length > 0) {
      const read = `k[${this.converters.push(field.convert ?? parsedJson) - 1}](${value})`;
      return `h.at(${read}, p[${this.paths.push(rest) - 1}])`;
    }
    return valueExpression(field, value, this.#format, {
      any: (given) => `h.cell(${given})`,
      converted: (converter, given) => this.#converted(converter, given),
    });
  }

  #converted(convert: Converter, value: string): string {
    return `h.cell(k[${this.converters.push(convert) - 1}](${value}))`;
  }
}
