// JSON Schemas: Fastify validates requests with them, and generates serializers from them.
import { person as openPerson } from '../schemas.ts';

const string = { type: 'string', maxLength: 255 };

export const person = {
  type: 'object',
  properties: { ...openPerson.properties, center: { ...openPerson.properties.center, nullable: true } },
};

export const course = {
  type: 'object',
  properties: { id: { type: 'integer' }, name: { type: 'string' }, participants: { type: 'array', items: person } },
};

export const patch = { type: 'object', properties: { email: string }, required: ['email'], additionalProperties: false };

export const newPerson = {
  type: 'object',
  properties: {
    kind: string,
    first_name: string,
    last_name: string,
    email: string,
    birthdate: { type: 'string', format: 'date' },
    center: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'], additionalProperties: false },
  },
  required: ['kind', 'first_name', 'last_name', 'email', 'birthdate', 'center'],
  additionalProperties: false,
};
