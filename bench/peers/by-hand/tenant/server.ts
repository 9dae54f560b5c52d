// The multi-tenant application by hand: Fastify over PostgreSQL or SQLite, with the access rules of bench/apps/tenant.
import { Readable } from 'node:stream';
import Fastify from 'fastify';
import { collection, pageSize } from '../people.ts';
import * as common from '../schemas.ts';
import { type NewPerson, type Owner, tenantOf } from './model.ts';
import * as schemas from './schemas.ts';

const { store } = process.env.DATABASE_URL?.startsWith('sqlite:') ? await import('./sqlite.ts') : await import('./postgres.ts');

const app = Fastify();
type Id = { id: number };
type Page = { page: number };

app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
  const status = error.statusCode ?? 500;
  if (status === 500) console.error(error);
  return reply.code(status).send({ message: error.message });
});

app.get<{ Params: Id }>(
  '/persons/:id',
  { schema: { params: common.id, response: { 200: schemas.person } } },
  async ({ headers, params }) => store.person(tenantOf(headers.authorization), params.id),
);

app.patch<{ Params: Id; Body: { email: string } }>(
  '/persons/:id',
  { schema: { params: common.id, body: schemas.patch, response: { 200: schemas.person } } },
  async ({ headers, params, body }) => store.patch(tenantOf(headers.authorization), params.id, body.email),
);

app.get<{ Querystring: Page }>(
  '/persons',
  { schema: { querystring: common.page, response: { 200: common.collectionOf(schemas.person) } } },
  async ({ headers, query: { page } }) => {
    const [persons, count] = await store.persons(tenantOf(headers.authorization), (page - 1) * pageSize);
    return collection(persons, count, '/persons', page);
  },
);

app.post<{ Body: NewPerson }>(
  '/persons',
  { schema: { body: schemas.newPerson, response: { 201: schemas.person } } },
  async ({ headers, body }, reply) => {
    const person = await store.create(tenantOf(headers.authorization), body);
    return reply.code(201).header('location', `/persons/${person.id}`).send(person);
  },
);

app.get('/persons.ndjson', ({ headers }, reply) => {
  const tenant = tenantOf(headers.authorization);
  return reply.type('application/x-ndjson').send(Readable.from(store.exported(tenant)));
});

app.get<{ Params: Id }>(
  '/courses/:id',
  { schema: { params: common.id, response: { 200: schemas.course } } },
  async ({ headers, params }) => store.course(tenantOf(headers.authorization), params.id),
);

app.get<{ Querystring: Page }>(
  '/courses',
  { schema: { querystring: common.page, response: { 200: common.collectionOf(schemas.course) } } },
  async ({ headers, query: { page } }) => {
    const [courses, count] = await store.courses(tenantOf(headers.authorization), (page - 1) * pageSize);
    return collection(courses, count, '/courses', page);
  },
);

const participant = { schema: { params: common.id, body: common.id, response: { 200: schemas.person } } };
for (const owner of ['course', 'team'] satisfies Owner[]) {
  app.post<{ Params: Id; Body: Id }>(`/${owner}s/:id/participants`, participant, async ({ headers, params, body }) =>
    store.add(owner, tenantOf(headers.authorization), params.id, body.id),
  );
  app.delete<{ Params: Id; Body: Id }>(`/${owner}s/:id/participants`, participant, async ({ headers, params, body }) =>
    store.remove(owner, tenantOf(headers.authorization), params.id, body.id),
  );
}

await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
