// JSON Schemas: Fastify validates requests with them, and generates serializers from them.
const integer = { type: 'integer' };
const string = { type: 'string' };
const link = { type: ['string', 'null'] };

export const id = { type: 'object', properties: { id: integer }, required: ['id'] };
export const patch = { type: 'object', properties: { email: string }, required: ['email'], additionalProperties: false };
export const page = { type: 'object', properties: { page: { type: 'integer', minimum: 1, default: 1 } } };
export const pageOfPeople = {
  type: 'object',
  properties: { ...page.properties, center: integer, born_since: { type: 'string', format: 'date' } },
};

export const person = {
  type: 'object',
  properties: {
    id: integer,
    kind: string,
    first_name: string,
    last_name: string,
    email: string,
    birthdate: string,
    created_at: { type: 'string', format: 'date-time' },
    center: { type: 'object', properties: { id: integer, name: string } },
  },
};

export const kind = { type: 'object', properties: { kind: string, count: integer } };

export const course = {
  type: 'object',
  properties: { id: integer, name: string, participants: { type: 'array', items: person } },
};

export function collectionOf(item: object) {
  return {
    type: 'object',
    properties: {
      count: integer,
      results: { type: 'array', items: item },
      pagination: {
        type: 'object',
        properties: { more: { type: 'boolean' }, next: link, previous: link, first: integer, items_per_page: integer },
      },
    },
  };
}
