import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ValueKind } from '../../src/model/value-kind.ts';
import type { RowFormat } from '../../src/serialization/kind-conversions.ts';
import { compileRowWriter, type RowField, type RowObject } from '../../src/serialization/row-writer.ts';
import { dateOf, parsedJson } from '../../src/serialization/to-json.ts';

function objectOf(fields: RowField[], presence: number | null = null): RowObject {
  return { presence, discriminator: null, variants: [{ type: null, fields }] };
}

function written(kind: ValueKind, format: RowFormat, value: unknown): unknown {
  const field: RowField = { kind: 'value', name: 'v', column: 0, value: kind };
  const text = compileRowWriter(objectOf([field]), format)([value], [], []);
  return (JSON.parse(text) as { v: unknown }).v;
}

const text: ValueKind = { kind: 'string', length: null };
const integer: ValueKind = { kind: 'integer', min: -(2 ** 31), max: 2 ** 31 - 1 };

describe('a row writer', () => {
  test('writes strings and names exactly like JSON.stringify', () => {
    const any = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.string());
    fc.assert(
      fc.property(any, any, (name, value) => {
        const write = compileRowWriter(objectOf([{ kind: 'value', name, column: 0, value: text }]), 'text');
        expect(write([value], [], [])).toBe(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`);
      }),
    );
  });

  test('writes numbers and dates exactly like JSON.stringify', () => {
    const float: ValueKind = { kind: 'float' };
    const moment: ValueKind = { kind: 'datetime', digits: 3 };
    const write = (kind: ValueKind) =>
      compileRowWriter(objectOf([{ kind: 'value', name: 'v', column: 0, value: kind }]), 'native');
    fc.assert(
      fc.property(fc.oneof(fc.double(), fc.integer(), fc.constantFrom(-0, 1e21, 5e-324)), (value) => {
        expect(write(float)([value], [], [])).toBe(JSON.stringify({ v: value }));
        expect(write(moment)([value], [], [])).toBe(JSON.stringify({ v: new Date(value) }));
      }),
    );
  });

  test('never evaluates a name as code', () => {
    const name = "'+(globalThis.broken=1)+'\"`$\u007bglobalThis.broken=1}\\\u2028\n";
    const write = compileRowWriter(objectOf([{ kind: 'value', name, column: 0, value: text }]), 'text');
    expect(JSON.parse(write(['x'], [], []))).toEqual({ [name]: 'x' });
    expect(globalThis).not.toHaveProperty('broken');
  });

  test.each([
    [integer, '-5', -5],
    [{ kind: 'boolean' }, 't', true],
    [{ kind: 'boolean' }, 'f', false],
    [{ kind: 'bigint', as: 'bigint' }, '9007199254740991', 9007199254740991],
    [{ kind: 'bigint', as: 'bigint' }, '9007199254740993', '9007199254740993'],
    [{ kind: 'bigint', as: 'number' }, '9007199254740993', '9007199254740992'],
    [{ kind: 'float' }, '1e-07', 1e-7],
    [{ kind: 'real' }, '0.1', 0.1],
    [{ kind: 'float' }, 'NaN', null],
    [{ kind: 'float' }, '-0', 0],
    [{ kind: 'string', length: 3, fixed: true }, 'a  ', 'a'],
    [{ kind: 'blob' }, '\\x6869', 'aGk='],
    [{ kind: 'json' }, '{"a": [1, "\\u00e9"]}', { a: [1, 'é'] }],
    [{ kind: 'json' }, 'null', null],
    [{ kind: 'enum', items: ['a', 'b'] }, 'a', 'a'],
    [{ kind: 'enum', items: [1, 2] }, '2', 2],
    [{ kind: 'datetime', digits: 3 }, '2026-11-15 03:29:00', '2026-11-15T03:29:00.000Z'],
    [{ kind: 'datetime', digits: 3 }, '2026-11-15 03:29:00.1', '2026-11-15T03:29:00.100Z'],
    [{ kind: 'datetime', digits: 3 }, '2026-11-15 03:29:00.099999', '2026-11-15T03:29:00.099Z'],
    [{ kind: 'datetime', digits: 3 }, '0099-01-01 00:00:00', '0099-01-01T00:00:00.000Z'],
    [{ kind: 'datetime', digits: 3 }, 'infinity', null],
  ] as [ValueKind, string, unknown][])('writes %o from the text %s', (kind, given, expected) => {
    expect(written(kind, 'text', given)).toEqual(expected);
  });

  test.each([
    [integer, 5, 5],
    [integer, 5n, 5],
    [{ kind: 'boolean' }, 1, true],
    [{ kind: 'boolean' }, 0n, false],
    [{ kind: 'bigint', as: 'bigint' }, 2n ** 63n - 1n, '9223372036854775807'],
    [{ kind: 'bigint', as: 'bigint' }, 7n, 7],
    [{ kind: 'float' }, 5n, 5],
    [{ kind: 'blob' }, new Uint8Array([104, 105]), 'aGk='],
    [{ kind: 'json' }, 5, 5],
    [{ kind: 'json' }, 5n, 5],
    [{ kind: 'json' }, 'no JSON', 'no JSON'],
    [{ kind: 'enum', items: [1, 2] }, 2, 2],
    [{ kind: 'datetime', digits: 3 }, 0, '1970-01-01T00:00:00.000Z'],
    [{ kind: 'datetime', digits: 3 }, -1n, '1969-12-31T23:59:59.999Z'],
    [{ kind: 'datetime', digits: 3 }, '2026-11-15 03:29:00', '2026-11-15T03:29:00.000Z'],
    [text, 5, 5],
    [text, 2n ** 60n, String(2n ** 60n)],
  ] as [ValueKind, unknown, unknown][])('writes %o from the value %s of SQLite', (kind, given, expected) => {
    expect(written(kind, 'native', given)).toEqual(expected);
  });

  test('writes null for null, whatever the kind, and calls no converter', () => {
    const kinds: ValueKind[] = [
      integer,
      text,
      { kind: 'boolean' },
      { kind: 'json' },
      { kind: 'blob' },
      { kind: 'datetime', digits: 3 },
    ];
    for (const kind of kinds) for (const format of ['text', 'native'] as const) expect(written(kind, format, null)).toBeNull();
    const convert = () => {
      throw new Error('asked');
    };
    const field: RowField = { kind: 'value', name: 'v', column: 0, value: text, convert };
    expect(compileRowWriter(objectOf([field]), 'text')([null], [], [])).toBe('{"v":null}');
  });

  test('writes an empty object if no field is shown', () => {
    expect(compileRowWriter(objectOf([]), 'text')([], [], [])).toBe('{}');
  });

  test('writes the variant of the discriminator, and null for an unknown one', () => {
    const field = (name: string): RowField => ({ kind: 'value', name, column: 1, value: text });
    const write = compileRowWriter(
      {
        presence: null,
        discriminator: 0,
        variants: [
          { type: "it's", fields: [field('a')] },
          { type: 'b', fields: [field('b')] },
        ],
      },
      'text',
    );
    expect(write(["it's", 'x'], [], [])).toBe('{"a":"x"}');
    expect(write(['b', 'x'], [], [])).toBe('{"b":"x"}');
    expect(write(['c', 'x'], [], [])).toBe('null');
  });

  test('writes the first of several to-one objects that exists', () => {
    const object = (column: number, name: string) => objectOf([{ kind: 'value', name, column, value: integer }], column);
    const write = compileRowWriter(
      objectOf([{ kind: 'to-one', name: 'one', objects: [object(0, 'a'), object(1, 'b')] }]),
      'text',
    );
    expect(write(['1', null], [], [])).toBe('{"one":{"a":1}}');
    expect(write([null, '2'], [], [])).toBe('{"one":{"b":2}}');
    expect(write([null, null], [], [])).toBe('{"one":null}');
  });

  test('writes null for an embedded object only if all of its columns are null', () => {
    const fields: RowField[] = [{ kind: 'value', name: 'a', column: 0, value: integer }];
    const nullable = compileRowWriter(objectOf([{ kind: 'embedded', name: 'e', columns: [0, 1], fields }]), 'text');
    expect(nullable([null, null], [], [])).toBe('{"e":null}');
    expect(nullable([null, '1'], [], [])).toBe('{"e":{"a":null}}');
    const always = compileRowWriter(objectOf([{ kind: 'embedded', name: 'e', columns: null, fields }]), 'text');
    expect(always([null, null], [], [])).toBe('{"e":{"a":null}}');
  });

  test('writes to-many rows by the key of their owner, and an empty list if there are none', () => {
    const item = compileRowWriter(objectOf([{ kind: 'value', name: 'n', column: 1, value: text }]), 'native');
    const write = compileRowWriter(objectOf([{ kind: 'to-many', name: 'items', source: 0, columns: [0] }]), 'native');
    const rows = new Map([
      [
        '1',
        [
          ['1', 'a'],
          ['1', 'b'],
        ],
      ],
    ]);
    expect(write([1n], [rows], [item])).toBe('{"items":[{"n":"a"},{"n":"b"}]}');
    expect(write([2], [rows], [item])).toBe('{"items":[]}');
  });
});

test('a date and time without an offset is in UTC', () => {
  expect(dateOf('2026-11-15 03:29:00').toISOString()).toBe('2026-11-15T03:29:00.000Z');
  expect(dateOf('2026-11-15 03:29:00+02').toISOString()).toBe('2026-11-15T01:29:00.000Z');
  expect(dateOf('2026-11-15 03:29:00-02').toISOString()).toBe('2026-11-15T05:29:00.000Z');
});

test('invalid JSON in a JSON column is written as a string', () => {
  expect(parsedJson('{')).toBe('{');
  expect(parsedJson('"5"')).toBe('5');
  expect(parsedJson(5)).toBe(5);
});
