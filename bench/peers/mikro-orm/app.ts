// Fastify + MikroORM as its documentation advises: an entity manager for each request, findAndCount with populate,
// changes through entities and flush, responses by its own serializer. DATABASE_URL=postgresql://… or sqlite:…
import { defineEntity, MikroORM, p, serialize } from '@mikro-orm/core';
import { NodeSqliteDialect, SqliteDriver } from '@mikro-orm/sql';
import Fastify from 'fastify';

const Center = defineEntity({ name: 'Center', tableName: 'center', properties: { id: p.integer().primary(), name: p.string() } });
const Person = defineEntity({
  name: 'Person',
  tableName: 'person',
  properties: {
    id: p.integer().primary(),
    kind: p.string(),
    first_name: p.string(),
    last_name: p.string(),
    email: p.string(),
    birthdate: p.date(),
    created_at: p.datetime(),
    center: () => p.manyToOne(Center),
  },
});
const Course = defineEntity({
  name: 'Course',
  tableName: 'course',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    participants: () => p.manyToMany(Person).pivotTable('course_person').joinColumn('course_id').inverseJoinColumn('person_id'),
  },
});

const url = process.env.DATABASE_URL ?? '';
const entities = [Center, Person, Course];
const orm = url.startsWith('sqlite:') ? await onSqlite(url.slice('sqlite:'.length)) : await onPostgres();

async function onSqlite(file: string) {
  const mapper = await MikroORM.init({
    driver: SqliteDriver,
    entities,
    dbName: file,
    driverOptions: new NodeSqliteDialect(file),
  });
  for (const pragma of ['journal_mode = wal', 'synchronous = full', 'foreign_keys = on']) {
    await mapper.em.getConnection().execute(`pragma ${pragma}`);
  }
  return mapper;
}

async function onPostgres() {
  const postgres = await import('@mikro-orm/postgresql');
  return postgres.MikroORM.init({ entities, clientUrl: url, pool: { min: 2, max: 10 } });
}

const app = Fastify();
const pageSize = 20;
const populate = ['center'] as const;
const envelope = (results: unknown[], count: number, page: number) => ({
  count,
  results,
  pagination: { more: page * pageSize < count, first: (page - 1) * pageSize, items_per_page: pageSize },
});

app.get<{ Params: { id: number } }>('/people/:id', async (request, reply) => {
  const person = await orm.em.fork().findOne(Person, Number(request.params.id), { populate });
  return person ? serialize(person, { populate }) : reply.code(404).send();
});

app.get<{ Querystring: { page?: number; center?: number } }>('/people', async ({ query }) => {
  const page = Number(query.page ?? 1);
  const [people, count] = await orm.em.fork().findAndCount(Person, query.center ? { center: Number(query.center) } : {}, {
    populate,
    orderBy: { id: 'asc' },
    limit: pageSize,
    offset: (page - 1) * pageSize,
  });
  return envelope(serialize(people, { populate }), count, page);
});

app.patch<{ Params: { id: number }; Body: { email: string } }>('/people/:id', async (request, reply) => {
  const em = orm.em.fork();
  const person = await em.findOne(Person, Number(request.params.id), { populate });
  if (!person) return reply.code(404).send();
  person.email = request.body.email;
  await em.flush();
  return serialize(person, { populate });
});

app.get<{ Querystring: { page?: number } }>('/courses', async ({ query }) => {
  const page = Number(query.page ?? 1);
  const embedded = ['participants.center'] as const;
  const [courses, count] = await orm.em
    .fork()
    .findAndCount(Course, {}, { populate: embedded, orderBy: { id: 'asc' }, limit: pageSize, offset: (page - 1) * pageSize });
  return envelope(serialize(courses, { populate: embedded }), count, page);
});

for (const method of ['POST', 'DELETE'] as const) {
  app.route<{ Params: { id: number }; Body: { id: number } }>({
    method,
    url: '/courses/:id/participants',
    async handler(request) {
      const em = orm.em.fork();
      const course = await em.findOneOrFail(Course, Number(request.params.id), { populate: ['participants'] });
      const person = await em.findOneOrFail(Person, request.body.id, { populate });
      if (method === 'POST') course.participants.add(person);
      else course.participants.remove(person);
      await em.flush();
      return serialize(person, { populate });
    },
  });
}

await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
