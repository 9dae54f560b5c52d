// The example application by hand: Fastify over PostgreSQL or SQLite, with the access rules of examples/courses.
import Fastify, { type FastifyRequest } from 'fastify';
import { collection, pageSize } from '../people.ts';
import { Refusal } from '../refusal.ts';
import * as common from '../schemas.ts';
import { verify } from '../token.ts';
import { type Caller, callerOf, checkCenters } from './model.ts';
import * as schemas from './schemas.ts';

const { store } = process.env.DATABASE_URL?.startsWith('sqlite:') ? await import('./sqlite.ts') : await import('./postgres.ts');

const app = Fastify();
type Id = { id: number };
type Page = { page: number };

/** The caller. Throws without a valid token or without a center. */
function authorized({ headers }: FastifyRequest): Caller {
  const claims = verify(headers.authorization);
  if (claims?.iss !== 'courses') throw new Refusal(401, 'invalid token');
  const caller = callerOf(claims);
  checkCenters(caller);
  return caller;
}

app.setErrorHandler(
  (error: Error & { statusCode?: number; validation?: unknown[]; validationContext?: string }, _request, reply) => {
    const status = error.validation && error.validationContext === 'body' ? 422 : (error.statusCode ?? 500);
    if (status === 500) console.error(error);
    return reply.code(status).send({ message: error.message });
  },
);

app.get<{ Params: Id }>('/persons/:id', { schema: { params: common.id, response: { 200: schemas.person } } }, async (request) =>
  store.person(request.params.id, authorized(request)),
);

app.patch<{ Params: Id; Body: { email: string | null } }>(
  '/persons/:id',
  { schema: { params: common.id, body: schemas.patch, response: { 200: schemas.person } } },
  async (request) => store.patch(request.params.id, request.body.email, authorized(request)),
);

app.get<{ Querystring: Page }>(
  '/persons',
  { schema: { querystring: common.page, response: { 200: common.collectionOf(schemas.person) } } },
  async (request) => {
    const { page } = request.query;
    const [persons, count] = await store.persons(authorized(request), (page - 1) * pageSize);
    return collection(persons, count, '/persons', page);
  },
);

app.get<{ Params: Id }>('/courses/:id', { schema: { params: common.id, response: { 200: schemas.course } } }, async (request) =>
  store.course(request.params.id, authorized(request)),
);

app.get<{ Querystring: Page }>(
  '/courses',
  { schema: { querystring: common.page, response: { 200: common.collectionOf(schemas.course) } } },
  async (request) => {
    const { page } = request.query;
    const [courses, count] = await store.courses(authorized(request), (page - 1) * pageSize);
    return collection(courses, count, '/courses', page);
  },
);

const participation = { schema: { params: common.id, body: common.id } };
app.post<{ Params: Id; Body: Id }>('/courses/:id/participations', participation, async (request) =>
  store.add(request.params.id, request.body.id, authorized(request)),
);
app.delete<{ Params: Id; Body: Id }>('/courses/:id/participations', participation, async (request) =>
  store.remove(request.params.id, request.body.id, authorized(request)),
);

await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
