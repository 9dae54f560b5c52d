import type { FoundColumn, WantedColumn } from '../../../database/schema/catalogue.ts';

/** A parsed column type, such as `numeric(10,2)[]`. */
interface ColumnType {
  readonly family: string;
  /** The numbers in parentheses. */
  readonly sizes: readonly number[];
  readonly isList: boolean;
}

/** Aliases that MikroORM and developers use. */
const families: Readonly<Record<string, string>> = {
  int2: 'smallint',
  tinyint: 'smallint',
  smallserial: 'smallint',
  int: 'integer',
  int4: 'integer',
  mediumint: 'integer',
  serial: 'integer',
  int8: 'bigint',
  bigserial: 'bigint',
  bool: 'boolean',
  decimal: 'numeric',
  float4: 'real',
  float: 'double precision',
  float8: 'double precision',
  double: 'double precision',
  varchar: 'character varying',
  string: 'character varying',
  char: 'character',
  bpchar: 'character',
  citext: 'text',
  name: 'text',
  timestamptz: 'timestamp with time zone',
  timestamp: 'timestamp without time zone',
  datetime: 'timestamp without time zone',
  timetz: 'time with time zone',
  time: 'time without time zone',
  json: 'jsonb',
};

const integers = ['smallint', 'integer', 'bigint'];
const unlimited = Number.POSITIVE_INFINITY;

/** The type that a column needs to hold a property; null if the found column can hold it. */
export function postgresMisfit(wanted: WantedColumn, found: FoundColumn): string | null {
  const [needed, is] = [typeOf(wanted.type), typeOf(found.base)];
  const items = wanted.enumItems;
  const isOwnType = items && lengthOf(needed) < 0;
  // statements cast values to the type of the property, and an enum type accepts only its own values
  if (found.labels || isOwnType) return needed.family === is.family ? null : wanted.type;
  if (items) return longestOf(items) <= lengthOf(is) ? null : `text of ${longestOf(items)} characters`;
  return needed.isList === is.isList && holds(needed, is) ? null : wanted.type;
}

function typeOf(text: string): ColumnType {
  const isList = text.endsWith('[]');
  const plain = text.toLowerCase().replaceAll('"', '').replace(/\[\]$/, '').trim();
  const [, start = '', inside, end = ''] = /^([^(]*)(?:\(([^)]*)\))?(.*)$/.exec(plain) ?? [];
  // a type of the application may be written with its schema
  const name = `${start.trim()}${end}`.replace(/^\w+\./, '').trim();
  const sizes = inside?.split(',').map(Number) ?? [];
  return { family: families[name] ?? name, sizes, isList };
}

function holds(wanted: ColumnType, found: ColumnType): boolean {
  const [want, have] = [wanted.family, found.family];
  switch (want) {
    case 'smallint':
    case 'integer':
    case 'bigint':
      return integers.indexOf(have) >= integers.indexOf(want);
    case 'numeric':
      return have === 'numeric' && isAsWide(wanted.sizes, found.sizes);
    case 'real':
      return have === 'real' || have === 'double precision';
    case 'character':
      // trailing blanks are not significant, whether or not the database pads shorter values
      return lengthOf(wanted) <= lengthOf(found);
    case 'character varying':
    case 'text':
      // `character` would add blanks
      return have !== 'character' && lengthOf(wanted) <= lengthOf(found);
    case 'uuid':
      return have === 'uuid' || lengthOf(found) >= 36;
    case 'timestamp with time zone':
    case 'timestamp without time zone':
      // columns of older schemas have fewer fractional digits
      return have.startsWith('timestamp ');
    case 'time with time zone':
    case 'time without time zone':
      return have.startsWith('time ');
    default:
      return want === have;
  }
}

/** The number of characters that fit; -1 if the type is not a text. */
function lengthOf({ family, isList, sizes }: ColumnType): number {
  if (isList) return family === 'text' ? unlimited : -1;
  if (family === 'text') return unlimited;
  if (family === 'character varying') return sizes[0] ?? unlimited;
  return family === 'character' ? (sizes[0] ?? 1) : -1;
}

function isAsWide([precision, scale = 0]: readonly number[], [most, digits = 0]: readonly number[]): boolean {
  if (most === undefined) return true;
  return precision !== undefined && scale <= digits && precision - scale <= most - digits;
}

function longestOf(items: readonly string[]): number {
  return Math.max(...items.map(({ length }) => length));
}
