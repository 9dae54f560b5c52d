import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { ApiController, type ApiRequest, type ModelQuery, type User, Voter } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

/** Restricts enrolments in the form that the request names. */
class EnrolmentController extends ApiController {
  override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Any>): void {
    const form = request.headers['x-form'];
    if (form === 'where') query.andWhere({ seat: { $gt: 1 } });
    if (form === 'raw') query.andWhere('seat > ?', [1]);
    if (form === 'to-one') query.andWhere({ course: { name: 'art' } });
    if (form === 'to-many') query.leftJoin('e.tags', 't').andWhere({ 't.name': { $like: 't%' } });
    if (form === 'group by') query.leftJoin('e.tags', 't').groupBy(['e.course', 'e.person']).having('count(t.id) > ?', [1]);
    if (form === 'limit') query.orderBy({ seat: 'desc' }).limit(2);
    if (form === 'offset') query.limit(10, 1);
    if (form === 'none') query.andWhere({ seat: -1 });
  }
}

/** Hides a course from callers who do not see it. */
class CourseController extends ApiController {
  override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Any>): void {
    if (request.headers['x-sees'] !== undefined) query.andWhere({ name: String(request.headers['x-sees']) });
  }
}

class MarkVoter extends Voter {
  static override roles = ['MARKS'];
  override async vote(_role: string, _subject: unknown, user: User | null) {
    if (user?.roles.includes('BROKEN')) throw new Error('the directory is not available');
    return user?.roles.includes('TEACHER') ? ('grant' as const) : ('deny' as const);
  }
}

function optionsOf(url: string): Any {
  const named = () => ({ id: p.integer().primary().groups('read'), name: p.string().groups('read') });
  const Course = defineEntity({ name: 'Course', properties: named() });
  const Person = defineEntity({ name: 'Person', properties: named() });
  const Tag = defineEntity({ name: 'Tag', properties: named() });
  const Enrolment: Any = defineEntity({
    name: 'Enrolment',
    properties: {
      course: () => (p.manyToOne(Course) as Any).primary().groups('read'),
      person: () => (p.manyToOne(Person) as Any).primary().groups('read'),
      seat: p.integer().groups('read'),
      mark: p.integer().nullable().groups('marks'),
      tags: () => (p.manyToMany(Tag) as Any).groups('read'),
    },
  });
  return {
    app_main: {
      formats: ['json', 'csv'],
      groups: { marks: { role: 'MARKS' } },
      apis: {
        enrolment: {
          class: Enrolment,
          base_path: '/enrolment',
          controller: EnrolmentController,
          groups: { read: ['read', 'marks'] },
          filters: { seat: ['gte'], mark: ['gte'] },
          default_sort: ['mark'],
          pagination: { items_per_page: 50 },
          aggregate: { by: ['course.id', 'course.name', 'person.name'], of: { seat: ['sum', 'max'], mark: ['sum', 'max'] } },
          actions: { _index: null, _entity: null },
        },
        course: { class: Course, base_path: '/course', controller: CourseController, actions: { _entity: null } },
      },
      database: { url, schema: 'update' },
    },
    models: [Course, Person, Tag, Enrolment],
    controllers: [EnrolmentController, CourseController],
    voters: [MarkVoter],
  };
}

const teacher = { id: 1, roles: ['TEACHER'] };
const student = { id: 2, roles: ['STUDENT'] };

describe.each(databases)('aggregates of a model with a composite key on %s', (kind) => {
  let fresh: FreshDatabase;
  let app: TestApplication;
  beforeAll(async () => {
    fresh = await freshDatabase(kind);
    app = await startApplication(optionsOf(fresh.url));
    const em = app.application.mapper.em.fork() as Any;
    const make = (type: string, names: string[]) => names.map((name, i) => em.create(type, { id: i + 1, name }));
    const [art, law] = make('Course', ['art', 'law']);
    const [ann, bob] = make('Person', ['ann', 'bob']);
    const tags = make('Tag', ['t1', 't2']);
    em.create('Enrolment', { course: art, person: ann, seat: 1, mark: 6, tags });
    em.create('Enrolment', { course: art, person: bob, seat: 2, mark: 5, tags: [tags[0]] });
    em.create('Enrolment', { course: law, person: ann, seat: 3, mark: null, tags });
    em.create('Enrolment', { course: law, person: bob, seat: 4, mark: 4 });
    await em.flush();
  });
  afterAll(async () => {
    await app?.close();
    await fresh?.drop();
  });

  const get = (path: string, headers: Record<string, string> = {}, as: Any = student) =>
    app.request('GET', path, { as, headers });

  test.each(['', 'where', 'raw', 'to-one', 'to-many', 'group by', 'limit', 'offset', 'none'])(
    'have the rows of the list, restriction: %s',
    async (form) => {
      for (const sees of [undefined, 'art'])
        for (const as of [student, teacher]) {
          const headers = { 'x-form': form, ...(sees && { 'x-sees': sees }) };
          const list = await get('/enrolment.json', headers, as);
          expect(list.status, list.text).toBe(200);
          const rows: Any[] = list.json.results;
          const expected = Map.groupBy(rows, ({ course }) => course?.name ?? null);
          const { json, status, text } = await get('/enrolment/aggregate.json?by=course.name&of=seat:sum', headers, as);
          expect(status, text).toBe(200);
          expect(json.results).toEqual(
            [...expected]
              .sort(([a], [b]) => String(a ?? 'zz').localeCompare(String(b ?? 'zz')))
              .map(([name, those]) => ({
                'course.name': name,
                count: those.length,
                seat: { sum: those.reduce((sum, { seat }) => sum + seat, 0) },
              })),
          );
          const whole = (await get('/enrolment/aggregate.json?seat[gte]=2', headers, as)).json;
          expect(whole.results).toEqual([{ count: rows.filter(({ seat }) => seat >= 2).length }]);
        }
    },
  );

  test('have fields by role', async () => {
    expect((await get('/enrolment/aggregate.json?of=mark:max', {}, teacher)).json.results).toEqual([
      { count: 4, mark: { max: 6 } },
    ]);
    for (const query of ['of=mark:max', 'sort=mark:sum', 'mark[gte]=1']) {
      const [one, other] = [query, query.replace('mark', 'marz')];
      const seen = await get(`/enrolment/aggregate.json?${one}`);
      const missing = await get(`/enrolment/aggregate.json?${other}`);
      expect(seen.status).toBe(400);
      expect(seen.text.replaceAll('mark', 'marz')).toBe(missing.text);
    }
  });

  test('fail if a voter of a group fails, without a value', async () => {
    const broken = { id: 3, roles: ['BROKEN'] };
    for (const path of ['/enrolment/aggregate.json?of=mark:max', '/enrolment/aggregate.json', '/enrolment.json']) {
      const { status, text } = await get(path, {}, broken);
      expect(status).toBe(500);
      expect(text).not.toMatch(/mark|directory/);
    }
  });
});
