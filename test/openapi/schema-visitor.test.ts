import { describe, expect, test } from 'vitest';
import { typeOf } from '../../src/openapi/client/client-types.ts';
import { exampleOf } from '../../src/openapi/example.ts';
import { type JsonSchema, mapRefs, orNull } from '../../src/openapi/json-schema.ts';

const text: JsonSchema = { type: 'string' };
const named: JsonSchema = { type: 'object', properties: { name: text }, required: ['name'] };

describe('a schema', () => {
  test.each<[JsonSchema, string, unknown]>([
    [{ $ref: '#/components/schemas/Named' }, 'Named', { name: 'text' }],
    [{ const: 1, type: 'integer' }, '1', 1],
    [{ enum: ['a', 'b'], type: 'string' }, '"a" | "b"', 'a'],
    [{ anyOf: [text, { type: 'null' }] }, 'string | null', 'text'],
    [{ oneOf: [{ type: 'integer', minimum: 4 }, text] }, 'number | string', 4],
    [{ allOf: [{ $ref: '#/components/schemas/Named' }] }, 'Named', { name: 'text' }],
    [{ type: 'object', allOf: [{ $ref: '#/components/schemas/Named' }] }, 'Named & Record<string, unknown>', { name: 'text' }],
    [{ allOf: [{ anyOf: [text, { type: 'null' }] }, text] }, '(string | null) & string', 'text'],
    [{ type: 'array', items: text }, 'string[]', ['text']],
    [{ type: ['null', 'integer'] }, 'null | number', 1],
    [{ type: 'file' }, 'unknown', null],
    [{ description: 'anything' }, 'unknown', null],
  ])('%j has a type and an example', (schema, type, example) => {
    expect(typeOf(schema)).toBe(type);
    expect(exampleOf(schema, { Named: named })).toEqual(example);
  });

  test.each<[JsonSchema, JsonSchema]>([
    [text, { type: ['string', 'null'] }],
    [
      { type: 'string', enum: ['a'] },
      { type: ['string', 'null'], enum: ['a', null] },
    ],
    [{ anyOf: [text] }, { anyOf: [text, { type: 'null' }] }],
    [{ oneOf: [text] }, { anyOf: [{ oneOf: [text] }, { type: 'null' }] }],
    [{ description: 'anything' }, { description: 'anything' }],
  ])('%j can also be null', (schema, nullable) => {
    expect(orNull(schema)).toEqual(nullable);
  });

  test('has its references replaced wherever a schema is allowed, and only there', () => {
    const from = { $ref: '#' };
    const to = { $ref: '#/new' };
    const data = { const: from, default: from, examples: [from], enum: [from] };
    const schemaWith = (ref: object) => ({
      ...data,
      properties: { $ref: ref, other: { items: ref, not: ref } },
      patternProperties: { '^x': ref },
      anyOf: [ref, { prefixItems: [ref] }],
      additionalProperties: ref,
      unevaluatedProperties: false,
      if: ref,
    });
    expect(mapRefs(schemaWith(from), () => '#/new')).toEqual(schemaWith(to));
  });
});
