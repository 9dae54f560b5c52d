import { defineEntity, p } from '@mikro-orm/core';
import { expect, expectTypeOf, test } from 'vitest';
import { loadApplication } from '../../src/application.ts';
import { type ApiRequest, defineApis, type ParametersOf } from '../../src/index.ts';

const Thing = defineEntity({
  name: 'Thing',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read', 'write') },
});

async function linesOf(parameters: object, action: object = {}): Promise<string[]> {
  const actions = { _index: { parameters, ...action } };
  const options = { app_main: { apis: { thing: { class: Thing, base_path: '/thing', actions } } }, models: [Thing] };
  try {
    await (await loadApplication(options as never)).mapper.close();
    return [];
  } catch (error) {
    return (error as Error).message.split('\n').map((line) => line.replace('app_main.apis.thing.actions._index.parameters.', ''));
  }
}

test.each([
  ['a number', { a: { type: 'integer', minimum: -1, maximum: 1, default: 0, enum: [-1, 0, 1] } }],
  ['a list', { a: { list: true, enum: ['x', 'y'], default: ['x'] } }],
  ['no keys', { a: null, 'b-c': {}, constructor: {}, toString: {}, hasOwnProperty: {} }],
  ['a date', { a: { type: 'date', default: '2026-01-01' }, b: { type: 'boolean', default: false } }],
])('a parameter can have %s', async (_, parameters) => {
  expect(await linesOf(parameters)).toEqual([]);
});

const reserved = 'page, items_per_page, after, before, fields, sort, q, or';
const names = 'the name of a query parameter begins with a letter and has letters, digits, underscores and dashes';

test.each<[string, object, string]>([
  ['page', {}, `page: the query parameter "page" is reserved; choose a name other than: ${reserved}`],
  ['q', {}, `q: the query parameter "q" is reserved; choose a name other than: ${reserved}`],
  ['name', {}, 'name: the query parameter "name" is a filter of this list; choose another name, or remove the filter'],
  ['a.b', {}, `a.b: the name "a.b" is not allowed; ${names}`],
  ['a[b]', {}, `a[b]: the name "a[b]" is not allowed; ${names}`],
  ['a b', {}, `a b: the name "a b" is not allowed; ${names}`],
  ['__proto__', {}, `__proto__: the name "__proto__" is not allowed; ${names}`],
  ['a', { type: 'int' }, 'a.type: "type" must be one of: string, integer, number, boolean, date, datetime, uuid; given: "int"'],
  [
    'a',
    { requred: true },
    'a.requred: unknown key "requred"; did you mean "required"? allowed: type, list, required, default, enum, minimum, maximum, pattern, description',
  ],
  [
    'a',
    { required: true, default: 'x' },
    'a.default: "default" is never used, because the parameter is required; remove one of them',
  ],
  ['a', { minimum: 1 }, 'a.minimum: "minimum" is allowed for the types integer and number, not for string'],
  ['a', { type: 'number', minimum: 2, maximum: 1 }, 'a.minimum: "minimum" (2) is greater than "maximum" (1)'],
  ['a', { type: 'integer', enum: [1, 1.5] }, 'a.enum: "enum" has values that this integer parameter does not allow: 1.5'],
  ['a', { type: 'boolean', enum: [true] }, 'a.enum: "enum" is not allowed for the type boolean'],
  [
    'a',
    { type: 'integer', maximum: 5, default: 6 },
    'a.default: "default" has a value that this integer parameter does not allow: 6',
  ],
  ['a', { enum: ['x', 1] }, 'a.enum: "enum" has values that this string parameter does not allow: 1'],
  ['a', { type: 'integer', enum: [1, '2'] }, 'a.enum: "enum" has values that this integer parameter does not allow: "2"'],
  [
    'a',
    { type: 'boolean', default: 'true' },
    'a.default: "default" has a value that this boolean parameter does not allow: "true"',
  ],
  ['a', { default: ['x'] }, 'a.default: "default" must be a single value; add "list: true" to allow several'],
  ['a', { list: true, default: 'x' }, 'a.default: "default" must be a list, because the parameter has "list: true"'],
  ['a', { pattern: '(a+)+' }, 'a.pattern: "pattern" can backtrack catastrophically'],
  ['a', { pattern: '(' }, 'a.pattern: "pattern" '],
  ['a', { type: 'integer', pattern: '1' }, 'a.pattern: "pattern" is allowed for the type string, not for integer'],
])('a parameter %s: %j is a start error', async (name, declared, message) => {
  const parameters = Object.defineProperty({}, name, { value: declared, enumerable: true });
  expect(await linesOf(parameters, { filters: { name: ['contains'] } })).toEqual([expect.stringContaining(message)]);
});

test('declarations in code are typed, and so are the parameter values', () => {
  const parameters = {
    season: { type: 'integer' },
    size: { type: 'integer', default: 10 },
    state: { enum: ['draft', 'public'], required: true },
    since: { type: 'datetime' },
    names: { list: true },
    plain: null,
  } as const;
  defineApis({ thing: { class: Thing, base_path: '/thing', actions: { _index: { parameters } } } });
  // @ts-expect-error there is no such type
  defineApis({ thing: { class: Thing, base_path: '/thing', actions: { _index: { parameters: { a: { type: 'int' } } } } } });
  type Values = ApiRequest<ParametersOf<typeof parameters>>['parameters'];
  expectTypeOf<Values['season']>().toEqualTypeOf<number | undefined>();
  expectTypeOf<Values['size']>().toEqualTypeOf<number>();
  expectTypeOf<Values['state']>().toEqualTypeOf<'draft' | 'public'>();
  expectTypeOf<Values['since']>().toEqualTypeOf<Date | undefined>();
  expectTypeOf<Values['names']>().toEqualTypeOf<readonly string[] | undefined>();
  expectTypeOf<Values['plain']>().toEqualTypeOf<string | undefined>();
});
