// Fastify with response schemas over prepared statements, as an expert writes it.
import Fastify from 'fastify';
import { collection, pageSize } from './people.ts';
import { store } from './postgres.ts';
import * as schemas from './schemas.ts';
import { verify } from './token.ts';

const app = Fastify();
const notFound = { message: 'not found' };
type Id = { id: number };

app.get<{ Params: Id }>(
  '/people/:id',
  { schema: { params: schemas.id, response: { 200: schemas.person } } },
  async (request, reply) => {
    return (await store.one(request.params.id)) ?? reply.code(404).send(notFound);
  },
);

app.get('/people/kinds', { schema: { response: { 200: schemas.collectionOf(schemas.kind) } } }, () => store.kinds());

app.patch<{ Params: Id; Body: { email: string } }>(
  '/people/:id',
  { schema: { params: schemas.id, body: schemas.patch, response: { 200: schemas.person } } },
  async (request, reply) => (await store.patch(request.params.id, request.body.email)) ?? reply.code(404).send(notFound),
);

app.get<{ Querystring: { page: number; center?: number; born_since?: string } }>(
  '/people',
  { schema: { querystring: schemas.pageOfPeople, response: { 200: schemas.collectionOf(schemas.person) } } },
  async ({ query: { page, center, born_since: bornSince } }) => {
    if (center !== undefined && bornSince !== undefined) {
      const [people, count] = await store.sorted(center, bornSince, (page - 1) * pageSize);
      return collection(people, count, '/people', page, `center=${center}&born_since=${bornSince}&`);
    }
    const [people, count] = await store.page(center, (page - 1) * pageSize);
    return collection(people, count, '/people', page, center === undefined ? '' : `center=${center}&`);
  },
);

app.get<{ Querystring: { page: number } }>(
  '/my/people',
  { schema: { querystring: schemas.page, response: { 200: schemas.collectionOf(schemas.person) } } },
  async (request, reply) => {
    const claims = verify(request.headers.authorization);
    if (!claims) return reply.code(401).send({ message: 'who are you?' });
    const { page } = request.query;
    const [people, count] = await store.page(claims.center ?? 0, (page - 1) * pageSize);
    return collection(people, count, '/my/people', page);
  },
);

app.get<{ Querystring: { page: number } }>(
  '/courses',
  { schema: { querystring: schemas.page, response: { 200: schemas.collectionOf(schemas.course) } } },
  async ({ query: { page } }) => {
    const [courses, count] = await store.courses((page - 1) * pageSize);
    return collection(courses, count, '/courses', page);
  },
);

const participant = { schema: { params: schemas.id, body: schemas.id, response: { 200: schemas.person } } };
app.post<{ Params: Id; Body: Id }>('/courses/:id/participants', participant, async (request, reply) => {
  return (await store.add(request.params.id, request.body.id)) ?? reply.code(400).send(notFound);
});
app.delete<{ Params: Id; Body: Id }>('/courses/:id/participants', participant, async (request, reply) => {
  return (await store.remove(request.params.id, request.body.id)) ?? reply.code(400).send(notFound);
});

await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
