// JSON Schemas: Fastify validates requests with them, and generates serializers from them.
const integer = { type: 'integer' };
const string = { type: 'string' };
const optional = { type: ['string', 'null'] };

/** Less strict than the e-mail addresses of zod. */
const email = { type: ['string', 'null'], maxLength: 200, pattern: '^[^@\\s]+@[^@\\s]+\\.[A-Za-z]{2,}$' };
export const patch = { type: 'object', properties: { email }, required: ['email'], additionalProperties: false };

const center = { type: 'object', properties: { id: integer, name: string } };

export const person = {
  type: 'object',
  properties: {
    id: integer,
    type: string,
    firstName: string,
    lastName: string,
    fullName: string,
    birthdate: optional,
    email: optional,
    address: { type: 'object', nullable: true, properties: { street: optional, city: optional, postcode: optional } },
    center,
  },
};

export const course = {
  type: 'object',
  properties: {
    id: integer,
    title: string,
    opened: string,
    closed: optional,
    confidential: { type: 'boolean' },
    center,
    referrer: {
      type: 'object',
      nullable: true,
      properties: { id: integer, name: string, centers: { type: 'array', items: center } },
    },
    // a person or a third party: serializers of alternatives are slower than JSON.stringify
    requestor: {},
    participations: {
      type: 'array',
      items: {
        type: 'object',
        properties: { id: integer, person: { ...person, nullable: true }, start: string, end: optional },
      },
    },
    tags: { type: 'array', items: { type: 'object', properties: { id: string, label: string } } },
  },
};
