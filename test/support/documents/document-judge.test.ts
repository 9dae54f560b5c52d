import { describe, expect, test } from 'vitest';
import { DocumentChecker, type Exchange } from './document-judge.ts';

const problem = { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] };
const judge = new DocumentChecker({
  paths: {
    '/thing.json': {
      get: {
        parameters: [
          { name: 'page', in: 'query', schema: { type: 'integer', minimum: 1 } },
          { name: 'pin', in: 'query', schema: { type: 'string' }, 'x-role': 'ROLE_ADMIN' },
          {
            name: 'sort',
            in: 'query',
            schema: { type: 'array', items: { enum: ['id', 'pin', '-pin'] } },
            'x-role-of': { pin: 'ROLE_ADMIN' },
          },
          { name: 'fields', in: 'query', schema: { type: 'array', items: { type: 'string' } }, 'x-partial': true },
        ],
        responses: {
          '200': {
            headers: { Location: { required: true, schema: { type: 'string' } }, Age: { schema: { type: 'integer' } } },
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } },
          },
          '400': { $ref: '#/components/responses/BadRequest' },
        },
      },
      post: {
        requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } } },
        responses: { '204': {}, '400': { $ref: '#/components/responses/BadRequest' }, '4XX': {}, default: { content: {} } },
      },
    },
  },
  components: {
    schemas: {
      Thing: {
        type: 'object',
        properties: { id: { type: 'integer' }, name: { type: 'string' }, pin: { type: 'string', 'x-role': 'ROLE_ADMIN' } },
        required: ['id', 'name'],
        additionalProperties: false,
      },
    },
    responses: { BadRequest: { content: { 'application/problem+json': { schema: problem } } } },
  },
});

const good: Exchange = {
  method: 'GET',
  query: '',
  sent: undefined,
  status: 200,
  headers: { 'content-type': 'application/json; charset=utf-8', location: '/x' },
  text: '{"id":1,"name":"x"}',
};
const refused = (code: string) => ({
  status: 400,
  headers: { 'content-type': 'application/problem+json' },
  text: JSON.stringify({ code }),
});
const objections = (given: Partial<Exchange>) => judge.objections('/thing.json', { ...good, ...given });

describe('a response', () => {
  test('as described gets no objections', () => {
    expect(objections({})).toEqual([]);
    expect(objections({ headers: { ...good.headers, age: '7' } })).toEqual([]);
    expect(objections({ method: 'POST', status: 204, headers: {}, text: '' })).toEqual([]);
  });

  test('of an undescribed operation is not checked', () => {
    expect(judge.objections('/other.json', { ...good, status: 599 })).toEqual([]);
  });

  test.each<[string, Partial<Exchange>]>([
    ['the status 418 is not described', { status: 418 }],
    ['the type text/html is not described', { headers: { ...good.headers, 'content-type': 'text/html' } }],
    ['the header Location is missing', { headers: { 'content-type': 'application/json' } }],
    ['the header Age is soon', { headers: { ...good.headers, age: 'soon' } }],
    ['/id must be integer', { text: '{"id":"1","name":"x"}' }],
    ["must have required property 'name'", { text: '{"id":1}' }],
    ['must NOT have additional properties', { text: '{"id":1,"name":"x","secret":2}' }],
    ['there is a body, and none is described', { method: 'POST', status: 204, headers: {} }],
  ])('gets an objection: %s', (what, given) => {
    expect(objections(given)).toEqual([expect.stringContaining(what)]);
  });

  test('with selected fields may lack some, and must not have others', () => {
    expect(objections({ query: 'fields=id', text: '{"id":1}' })).toEqual([]);
    expect(objections({ query: 'fields=id', text: '{"secret":1}' })).toHaveLength(1);
    expect(objections({ query: 'page=1', text: '{"id":1}' })).toHaveLength(1);
  });

  test('may have a status of a range, or any status by default', () => {
    expect(objections({ method: 'POST', status: 418, headers: {}, text: '' })).toEqual([]);
    expect(objections({ method: 'POST', status: 302, headers: {}, text: '' })).toEqual([]);
  });
});

describe('a rejection', () => {
  test.each(['page=1', '', 'sort=id'])('of parameters that the document allows gets an objection: %s', (query) => {
    expect(objections({ ...refused('unknown_parameter'), query })).toEqual([expect.stringContaining('allows what was refused')]);
  });

  test.each(['page=0', 'page=x', 'pages=1', 'page=1&page=2', 'pin=1', 'sort=-pin'])(
    'of parameters that the document does not allow is correct: %s',
    (query) => {
      expect(objections({ ...refused('unknown_parameter'), query })).toEqual([]);
    },
  );

  test('of a body is correct if the document does not allow it', () => {
    const post = { method: 'POST', ...refused('unknown_field') };
    expect(objections({ ...post, sent: { id: 1, name: 'x', other: 1 } })).toEqual([]);
    expect(objections({ ...post, sent: { id: 1, name: 'x' } })).toHaveLength(1);
  });

  test('of a field that needs a role is correct, and the field is allowed in responses', () => {
    expect(objections({ method: 'POST', ...refused('unknown_field'), sent: { id: 1, name: 'x', pin: '1' } })).toEqual([]);
    expect(objections({ text: '{"id":1,"name":"x","pin":"1"}' })).toEqual([]);
  });

  test('that depends on stored data is correct', () => {
    expect(objections({ method: 'POST', ...refused('reference_not_found'), sent: { id: 1, name: 'x' } })).toEqual([]);
  });
});
