import { literalOf, type PropertyMapping } from '../../../database/schema/inventory.ts';

type Mapping = PropertyMapping | { readonly unsupported: string };

/** The first value in a column, and its default: SQLite stores values of any type, whatever the column declares. */
export interface Sample {
  /** The result of `typeof()`; null if the column has no value. */
  readonly type: string | null;
  readonly text: string | null;
  readonly hasTextDefault: boolean;
}

/** Declared types for whose properties a value of the column decides. */
export const needsSample = /^(?:date|datetime|time|timestamp|timestamptz|bool|boolean)\b/i;

const value = (builder: string, options: string, traits: Partial<PropertyMapping> = {}): PropertyMapping => ({
  builder,
  options,
  literal: null,
  isAddressable: false,
  family: builder.replace(/\(.*/, '').replace('string', 'text').replace('bigint', 'integer'),
  ...traits,
});

const number = { literal: 'number', isAddressable: true } as const;
const text = { literal: 'text', isAddressable: true } as const;

/** The property that holds the values of a column of a declared type. The first line that matches counts. */
const types: readonly [RegExp, (declared: string, sizes: readonly number[], sample: Sample) => Mapping][] = [
  [/^$/, () => ({ unsupported: 'it has no type' })],
  [/^(?:any)$/, () => ({ unsupported: 'it holds values of any type' })],
  [/^bool/, (declared, _, sample) => (isText(sample) ? asText(declared) : value('boolean()', '', { literal: 'boolean' }))],
  [/^tinyint\(1\)$/, () => value('boolean()', '', { literal: 'boolean' })],
  [/big|int8|unsigned/, (declared) => (/int/.test(declared) ? value('bigint()', '', { isAddressable: true }) : other(declared))],
  [/int/, () => value('integer()', '', number)],
  [
    /^(?:datetime|timestamp)/,
    (declared, _, sample) => (isText(sample) ? asText(declared, 'stored as text') : value('datetime()', '')),
  ],
  [
    /^date$/,
    (declared, _, sample) =>
      isOther(sample, /^\d{4}-\d\d-\d\d$/) ? asText(declared, 'not only dates') : value('date()', '', { isAddressable: true }),
  ],
  [
    /^time$/,
    (declared, _, sample) => (isOther(sample, /^\d\d:\d\d:\d\d$/) ? asText(declared, 'not only times') : value('time()', '')),
  ],
  [/^json/, () => value('json()', '')],
  [/^(?:uuid|guid)$/, (declared) => value('uuid()', columnType(declared), { isAddressable: true })],
  [/^interval$/, () => value('interval()', '')],
  [/char|clob|text|string/, (declared, [length]) => stringOf(declared, length)],
  [/blob|binary/, () => value('blob()', '')],
  [/real|floa|doub/, () => value('double()', '', { literal: 'number' })],
  [/^(?:numeric|decimal|money|number)/, (_, sizes) => decimal(sizes)],
];

export function mappingOf(type: string, sample: Sample): Mapping {
  const declared = type.trim().toLowerCase().replace(/\s+/g, ' ');
  const sizes = Array.from(/\(([^)]*)\)/.exec(declared)?.[1]?.split(',') ?? [], Number);
  for (const [pattern, make] of types) if (pattern.test(declared)) return make(declared, sizes, sample);
  return other(declared);
}

/** Any other type has the affinity of numbers, and holds texts as they are. */
function other(declared: string): Mapping {
  return { unsupported: `the type ${declared} is not supported` };
}

function stringOf(declared: string, length: number | undefined): PropertyMapping {
  // a name such as `string` has the affinity of numbers
  const options = /char|clob|text/.test(declared) ? '' : columnType(declared);
  if (length !== undefined && Number.isInteger(length) && length > 0)
    return value('string()', `.length(${length})${options}`, text);
  return value('text()', options, text);
}

function decimal([precision, scale = 0]: readonly number[]): PropertyMapping {
  if (precision !== undefined && precision > 0 && scale >= 0)
    return value('decimal()', `.precision(${precision}).scale(${scale})`, { literal: 'text' });
  // SQLite keeps fifteen digits
  return value('decimal()', '.precision(15).scale(6)', { literal: 'text' });
}

function columnType(declared: string): string {
  return `.columnType(${literalOf(declared)})`;
}

function asText(declared: string, note = 'stored as text'): PropertyMapping {
  return value('string()', columnType(declared), { ...text, note });
}

function isText({ hasTextDefault, type }: Sample): boolean {
  return type === null ? hasTextDefault : type === 'text';
}

function isOther({ text, type }: Sample, pattern: RegExp): boolean {
  return type !== null && !(type === 'text' && pattern.test(text ?? ''));
}
