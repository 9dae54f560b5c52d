// @module-tag divided
import { type Collection, defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiRequest } from '../../src/access/user.ts';
import { ApiController } from '../../src/actions/controller/api-controller.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Tag = defineEntity({
  name: 'Tag',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read', 'write') },
});
// the version is nothing that callers may read
const CourseSchema = defineEntity({
  name: 'Course',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().groups('read', 'write'),
    seats: p.integer().default(0).groups('read', 'write'),
    notes: p.string().nullable().groups('write'),
    revision: p.integer().version(),
    tags: () => p.manyToMany(Tag).groups('read', 'write'),
    lessons: () => p.oneToMany(Lesson).mappedBy('course'),
    main: () => p.manyToOne(Tag).nullable().groups('read', 'write'),
  },
});
class Course extends CourseSchema.class {
  addLesson(lesson: object) {
    (this.lessons as unknown as Collection<object>).add(lesson);
  }
  removeLesson(lesson: object) {
    (this.lessons as unknown as Collection<object>).remove(lesson);
  }
}
CourseSchema.setClass(Course);
const Lesson = defineEntity({
  name: 'Lesson',
  properties: {
    id: p.integer().primary().groups('read'),
    course: () => p.manyToOne(CourseSchema).nullable(),
  },
});
const Bare = defineEntity({
  name: 'Bare',
  properties: {
    id: p.integer().primary().groups('read'),
    revision: p.integer().version(),
    tags: () => p.manyToMany(Tag).groups('read', 'write'),
  },
});
const Dated = defineEntity({
  name: 'Dated',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().groups('read', 'write'),
    changed: p.datetime(3).version(),
  },
});
const Note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary().groups('read'), text: p.string().groups('read', 'write') },
});

class CourseController extends ApiController {
  async closeApi(id: number, request: ApiRequest) {
    const course = await this.getEntity('close', id, request);
    await this.transactional(course, () => {
      course.seats = 0;
    });
    return course;
  }

  async renameApi(id: number, request: ApiRequest) {
    const course = await this.getEntity('rename', id, request);
    // somebody else comes first
    await this.em.fork().nativeUpdate(CourseSchema, { id }, { seats: 9 });
    course.title = 'renamed';
    await this.em.flush();
    return course;
  }

  async retagApi(id: number, request: ApiRequest) {
    const course = await this.getEntity('retag', id, request);
    await course.tags.init();
    course.tags.removeAll();
    await this.em.flush();
    return course;
  }

  statsApi() {
    return { stats: 1 };
  }

  ownApi() {
    return this.json({ own: 1 }, { headers: { ETag: '"mine"', 'cache-control': 'max-age=60' } });
  }
}

class HookedController extends ApiController {
  override afterFetch() {
    return undefined;
  }
}

const get = { GET: true, HEAD: true };
const write = { ...get, PATCH: true, PUT: true, DELETE: true };
const models = [Tag, CourseSchema, Lesson, Bare, Dated, Note];

const setups = databases.flatMap((kind) => [
  { kind, compiledReads: true, how: 'compiled' },
  { kind, compiledReads: false, how: 'through entities' },
]);

describe.each(setups)('conditional requests on $kind, $how', ({ compiledReads, kind }) => {
  let database: FreshDatabase;
  let app: TestApplication;

  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication({
      app_main: {
        formats: ['json', 'xml', 'csv'],
        security: { jwt: { secret: 'a secret of more than thirty-two characters' } },
        apis: {
          course: {
            class: CourseSchema,
            base_path: '/courses',
            controller: CourseController,
            actions: {
              _index: { methods: { ...get, POST: true } },
              _entity: { methods: write },
              tag: { association: { property: 'tags' } },
              lesson: { association: { property: 'lessons' } },
              close: { methods: { POST: true } },
              rename: { methods: { POST: true } },
              retag: { methods: { POST: true } },
              stats: { methods: get, 'single-collection': 'collection' },
              own: { methods: get, 'single-collection': 'collection' },
            },
          },
          hooked: {
            class: CourseSchema,
            base_path: '/hooked',
            controller: HookedController,
            actions: { _index: { methods: get }, _entity: { methods: write } },
          },
          guarded: {
            class: CourseSchema,
            base_path: '/guarded',
            base_role: 'ROLE_ADMIN',
            actions: { _index: { methods: get }, _entity: { methods: write }, tag: { association: { property: 'tags' } } },
          },
          strict: {
            class: CourseSchema,
            base_path: '/strict',
            require_if_match: true,
            actions: { _entity: { methods: write }, tag: { association: { property: 'tags' } } },
          },
          bare: {
            class: Bare,
            base_path: '/bare',
            actions: { _entity: { methods: write }, tag: { association: { property: 'tags' } } },
          },
          dated: {
            class: Dated,
            base_path: '/dated',
            actions: { _index: { methods: { POST: true } }, _entity: { methods: write } },
          },
          note: {
            class: Note,
            base_path: '/notes',
            require_if_match: true,
            actions: { _index: { methods: { ...get, POST: true } }, _entity: { methods: write } },
          },
          tag: { class: Tag, base_path: '/tags', actions: { _entity: { methods: write } } },
        },
      },
      models,
      controllers: [CourseController, HookedController],
      databaseUrl: database.url,
      compiledReads,
      seed: async (em) => {
        for (const name of ['a', 'b', 'c']) em.create(Tag, { name });
        for (let i = 0; i < 3; i++) em.create(Lesson, {});
        em.create(Bare, {});
      },
    });
  });
  afterAll(async () => {
    await app?.close();
    await database.drop();
  });

  const ask = (method: string, path: string, headers: Record<string, string> = {}, json?: unknown) =>
    app.request(method, path, { headers, ...(json !== undefined && { json }) });
  const tagOf = async (path: string) => (await ask('GET', path)).headers.get('etag') as string;
  const made = async (base = '/courses', json: object = { title: 'a' }) => {
    const { headers, json: entity } = await ask('POST', `${base}.json`, {}, json);
    return { path: `${base}/${entity.id}.json`, id: entity.id as number, tag: headers.get('etag') as string };
  };
  const ofVersion = (tag: string) => tag.split('.')[0];

  const strong = /^"[0-9a-f]{16}\.[0-9a-f]{16}"$/;
  const weak = /^W\/"[0-9a-f]{16}"$/;

  describe('reading', () => {
    test('an entity with a version has a strong tag, other responses have a weak one', async () => {
      const { path } = await made();
      expect(await tagOf(path)).toMatch(strong);
      expect(await tagOf(path.replace('courses', 'hooked'))).toMatch(strong);
      expect(await tagOf(path.replace('json', 'xml'))).toMatch(strong);
      expect(await tagOf(path.replace('json', 'csv'))).toMatch(strong);
      expect(await tagOf('/courses.json')).toMatch(weak);
      expect(await tagOf('/courses.xml')).toMatch(weak);
      expect(await tagOf('/hooked.json')).toMatch(weak);
      expect(await tagOf('/courses/stats.json')).toMatch(weak);
      expect(await tagOf((await made('/notes', { text: 'x' })).path)).toMatch(weak);
      // the whole list is sent as it is read
      expect(await tagOf('/courses.csv')).toBeNull();
    });

    test.each([
      '/courses.json',
      '/hooked.json',
      '/courses/1.json',
      '/hooked/1.json',
      '/courses/1.xml',
      '/courses/1.csv',
      '/courses/stats.json',
    ])('GET and HEAD of %s return 304 if If-None-Match has the current tag', async (path) => {
      await made();
      const first = await ask('GET', path);
      expect(first.status).toBe(200);
      const tag = first.headers.get('etag') as string;
      const head = await ask('HEAD', path);
      expect(head.headers.get('etag')).toBe(tag);
      for (const method of ['GET', 'HEAD']) {
        const named = [tag, `W/${tag.replace('W/', '')}`, `"x", ${tag}`, '*', ` ,${tag},`];
        for (const header of method === 'GET' ? named : [tag]) {
          const again = await ask(method, path, { 'if-none-match': header });
          expect([again.status, again.text]).toEqual([304, '']);
          expect(again.headers.get('etag')).toBe(tag);
          expect(again.headers.get('cache-control')).toBe('private, no-cache');
          expect(again.headers.get('content-type')).toBeNull();
          expect(again.headers.get('content-length')).toBeNull();
        }
        const others = ['"x"', 'W/"x", "y"', 'no tag', tag.replaceAll('"', '')];
        for (const header of method === 'GET' ? others : ['"x"']) {
          const again = await ask(method, path, { 'if-none-match': header });
          expect(again.status).toBe(200);
          expect(again.text).toBe(method === 'GET' ? first.text : '');
        }
      }
      expect((await ask('GET', path, { 'if-match': '"x"' })).status).toBe(412);
      expect((await ask('GET', path, { 'if-match': '*' })).status).toBe(200);
      expect((await ask('GET', path, { 'if-match': tag })).status).toBe(strong.test(tag) ? 200 : 412);
    });

    test('the tag changes with the response body and with the version', async () => {
      const { path, tag } = await made();
      expect(await tagOf(path)).toBe(tag);
      // a field that nobody can read
      const { headers } = await ask('PATCH', path, {}, { notes: 'hidden' });
      expect(headers.get('etag')).not.toBe(tag);
      expect(headers.get('etag')).toBe(await tagOf(path));
      expect((headers.get('etag') as string).split('.')[1]).toBe(tag.split('.')[1]);
      await ask('PATCH', path, {}, { main: { id: 1 } });
      const before = await tagOf(path);
      await ask('PATCH', '/tags/1.json', {}, { name: `a${Math.random()}` });
      const after = await tagOf(path);
      expect(after).not.toBe(before);
      expect(ofVersion(after)).toBe(ofVersion(before));
      expect((await ask('GET', path, { 'if-none-match': before })).status).toBe(200);
    });

    test('rows of the same version have different tags, and each row has one tag in all APIs', async () => {
      const [one, other] = [await made(), await made()];
      expect(ofVersion(one.tag)).not.toBe(ofVersion(other.tag));
      expect(await tagOf(one.path.replace('courses', 'hooked'))).toBe(one.tag);
    });

    test('callers without read access get no 304, whatever If-None-Match says', async () => {
      const { path, tag } = await made();
      const guarded = path.replace('courses', 'guarded');
      const user = { id: 1 };
      for (const header of [tag, '*']) {
        expect((await app.request('GET', guarded, { headers: { 'if-none-match': header } })).status).toBe(401);
        expect((await app.request('GET', guarded, { headers: { 'if-none-match': header }, as: user })).status).toBe(403);
        expect((await app.request('GET', '/guarded.json', { headers: { 'if-none-match': header }, as: user })).status).toBe(403);
        expect((await app.request('GET', '/guarded/999.json', { headers: { 'if-none-match': header } })).status).toBe(404);
      }
      const as = { id: 1, roles: ['ROLE_ADMIN'] };
      expect((await app.request('GET', guarded, { headers: { 'if-none-match': tag }, as })).status).toBe(304);
    });

    test("a handler's own tag takes precedence", async () => {
      const { headers } = await ask('GET', '/courses/own.json');
      expect([headers.get('etag'), headers.get('cache-control')]).toEqual(['"mine"', 'max-age=60']);
      const known = await ask('GET', '/courses/own.json', { 'if-none-match': 'W/"mine"' });
      expect([known.status, known.headers.get('cache-control')]).toEqual([304, 'max-age=60']);
      expect((await ask('GET', '/courses/own.json', { 'if-none-match': '"other"' })).status).toBe(200);
    });
  });

  describe('writing', () => {
    test('POST, PATCH and PUT return the same tag as the next GET', async () => {
      for (const [base, body] of [
        ['/courses', { title: 'a' }],
        ['/notes', { text: 'a' }],
        ['/dated', { title: 'a' }],
      ] as const) {
        const { path, tag } = await made(base, body);
        expect(tag).toBe(await tagOf(path));
        for (const method of ['PATCH', 'PUT']) {
          const answer = await ask(method, path, { 'if-match': '*' }, body);
          expect([answer.status, answer.headers.get('etag')]).toEqual([200, await tagOf(path)]);
          expect(answer.headers.get('content-location')).toBe(method === 'PUT' ? path : null);
        }
      }
    });

    test.each(['PATCH', 'PUT', 'DELETE'])(
      '%s succeeds with the current tag and returns 412 with an older one',
      async (method) => {
        for (const base of ['/courses', '/hooked', '/dated']) {
          const { id, tag } = await made(base === '/hooked' ? '/courses' : base);
          const path = `${base}/${id}.json`;
          const json = method === 'DELETE' ? undefined : { title: 'b' };
          await new Promise((resolve) => setTimeout(resolve, 2));
          const fresh = await ask('PATCH', path, { 'if-match': tag }, { title: 'c' });
          expect(fresh.status).toBe(200);
          const stale = await ask(method, path, { 'if-match': tag }, json);
          expect([stale.status, stale.json.code]).toEqual([412, 'precondition_failed']);
          expect(stale.json.detail).toContain('has changed since');
          expect((await ask('GET', path)).json.title).toBe('c');
          // the tag of another format is of the same version
          const other = await tagOf(path.replace('json', 'xml'));
          const done = await ask(method, path, { 'if-match': `"x", ${other}` }, json);
          expect(done.status).toBe(method === 'DELETE' ? 204 : 200);
        }
      },
    );

    test('the tag of another row returns 412', async () => {
      const [one, other] = [await made(), await made()];
      expect((await ask('PATCH', one.path, { 'if-match': other.tag }, { title: 'b' })).status).toBe(412);
    });

    test('a weak tag never matches, and the error says why', async () => {
      const note = await made('/notes', { text: 'a' });
      const refused = await ask('PATCH', note.path, { 'if-match': note.tag }, { text: 'b' });
      expect([refused.status, refused.json.detail]).toEqual([412, expect.stringContaining('has no version')]);
      expect((await ask('DELETE', note.path, { 'if-match': note.tag })).status).toBe(412);
      expect((await ask('GET', note.path)).json.text).toBe('a');
      expect((await ask('PATCH', note.path, { 'if-match': '*' }, { text: 'b' })).status).toBe(200);
      const course = await made();
      const weakened = await ask('PATCH', course.path, { 'if-match': `W/${course.tag}` }, { title: 'b' });
      expect([weakened.status, weakened.json.detail]).toEqual([412, expect.stringContaining('weak')]);
    });

    test('a malformed tag list returns 400, but 404, 401 and 403 take precedence', async () => {
      const { path, tag } = await made();
      for (const header of ['x', '"a" "b"', '"a', 'w/"a"', '*, "a"', '"a"b']) {
        for (const name of ['if-match', 'if-none-match']) {
          const { json, status } = await ask('PATCH', path, { [name]: header }, { title: 'b' });
          expect([header, status, json.code]).toEqual([header, 400, 'invalid_precondition']);
        }
      }
      expect((await ask('PATCH', '/courses/99999.json', { 'if-match': 'x' }, { title: 'b' })).status).toBe(404);
      const guarded = path.replace('courses', 'guarded');
      expect((await ask('PATCH', guarded, { 'if-match': '"x"' }, { title: 'b' })).status).toBe(401);
      const as = { id: 1 };
      const denied = await app.request('PATCH', guarded, { headers: { 'if-match': '"x"' }, json: { title: 'b' }, as });
      expect(denied.status).toBe(403);
      // the tag is looked at before the body
      expect((await ask('PATCH', path, { 'if-match': '"x"' }, { nothing: 1 })).status).toBe(412);
      expect((await ask('PATCH', path, { 'if-match': tag }, { nothing: 1 })).status).toBe(400);
    });

    test('If-None-Match prevents changes to an existing row', async () => {
      const { path, tag } = await made();
      for (const header of ['*', tag, `"x", W/${tag}`.replace('W/', '')]) {
        expect((await ask('PUT', path, { 'if-none-match': header }, { title: 'b' })).status).toBe(412);
        expect((await ask('PATCH', path, { 'if-none-match': header }, { title: 'b' })).status).toBe(412);
      }
      expect((await ask('PATCH', path, { 'if-none-match': '"x"' }, { title: 'b' })).status).toBe(200);
      const note = await made('/notes', { text: 'a' });
      expect((await ask('PATCH', note.path, { 'if-none-match': '*', 'if-match': '*' }, { text: 'b' })).status).toBe(412);
    });

    test('POST with a tag in If-Match returns 412', async () => {
      expect((await ask('POST', '/notes.json', { 'if-match': '"x"' }, { text: 'a' })).status).toBe(412);
      expect((await ask('POST', '/notes.json', { 'if-match': '*' }, { text: 'a' })).status).toBe(201);
      expect((await ask('POST', '/notes.json', { 'if-none-match': '*' }, { text: 'a' })).status).toBe(201);
    });

    test('a missing If-Match returns 428 if it is required and the row has a version', async () => {
      const { path, tag } = await made();
      const strict = path.replace('courses', 'strict');
      for (const method of ['PATCH', 'PUT', 'DELETE']) {
        const { json, status } = await ask(method, strict, {}, { title: 'b' });
        expect([status, json.code]).toEqual([428, 'precondition_required']);
      }
      for (const method of ['POST', 'DELETE']) {
        expect((await ask(method, strict.replace('.json', '/tag.json'), {}, { id: 1 })).status).toBe(428);
      }
      expect(await tagOf(path)).toBe(tag);
      expect((await ask('PATCH', strict, { 'if-match': tag }, { title: 'b' })).status).toBe(200);
      expect((await ask('PATCH', '/strict/99999.json', {}, { title: 'b' })).status).toBe(404);
      const note = await made('/notes', { text: 'a' });
      expect((await ask('PATCH', note.path, {}, { text: 'b' })).status).toBe(200);
    });

    test('a request with an idempotency key is replayed even if its tag is outdated', async () => {
      const { path, tag } = await made();
      const headers = { 'if-match': tag, 'idempotency-key': `key-${path}` };
      const first = await ask('PATCH', path, headers, { title: 'once' });
      const again = await ask('PATCH', path, headers, { title: 'once' });
      expect([first.status, again.status, again.headers.get('etag')]).toEqual([200, 200, first.headers.get('etag')]);
      expect(again.headers.get('idempotency-replayed')).toBe('true');
      const stale = await ask('PATCH', path, { ...headers, 'idempotency-key': `other-${path}` }, { title: 'twice' });
      expect(stale.status).toBe(412);
      expect(await tagOf(path)).toBe(first.headers.get('etag'));
    });

    test('the version cannot be set in a body', async () => {
      const { path } = await made();
      expect((await ask('PATCH', path, {}, { revision: 7 })).status).toBe(400);
      expect((await ask('POST', '/courses.json', {}, { title: 'a', revision: 7 })).status).toBe(400);
    });
  });

  describe('associations', () => {
    test.each(['/courses', '/bare'])(
      'adding and removing in %s creates a new version only if something changes',
      async (base) => {
        const path = base === '/bare' ? '/bare/1.json' : (await made()).path;
        const action = path.replace('.json', '/tag.json');
        let tag = await tagOf(path);
        const expectNew = async (isNew: boolean) => {
          const next = await tagOf(path);
          expect(ofVersion(next) === ofVersion(tag)).toBe(!isNew);
          tag = next;
        };
        for (const isNew of [true, false]) {
          expect((await ask('POST', action, {}, { id: 1 })).status).toBe(200);
          await expectNew(isNew);
        }
        const stale = tag;
        expect((await ask('POST', action, { 'if-match': tag }, { id: 2 })).status).toBe(200);
        await expectNew(true);
        for (const method of ['POST', 'DELETE']) {
          expect((await ask(method, action, { 'if-match': stale }, { id: 1 })).status).toBe(412);
        }
        expect((await ask('GET', path)).json.tags.map(({ id }: { id: number }) => id)).toEqual([1, 2]);
        for (const isNew of [true, false]) {
          expect((await ask('DELETE', action, {}, { id: 1 })).status).toBe(200);
          await expectNew(isNew);
        }
        for (const [tags, isNew] of [
          [[{ id: 1 }, { id: 3 }], true],
          [[{ id: 3 }, { id: 1 }], false],
          [[], true],
          [[], false],
        ] as const) {
          expect((await ask('PATCH', path, { 'if-match': tag }, { tags })).status).toBe(200);
          await expectNew(isNew);
        }
      },
    );

    test('the same applies to inverse associations and to changes by a controller', async () => {
      const { path } = await made();
      const before = await tagOf(path);
      const action = path.replace('.json', '/lesson.json');
      expect((await ask('POST', action, {}, { id: 1 })).status).toBe(200);
      const added = await tagOf(path);
      expect(ofVersion(added)).not.toBe(ofVersion(before));
      expect((await ask('POST', action, {}, { id: 1 })).status).toBe(200);
      expect(await tagOf(path)).toBe(added);
      expect((await ask('DELETE', action, { 'if-match': added }, { id: 1 })).status).toBe(200);
      await ask('PATCH', path, {}, { tags: [{ id: 1 }] });
      const tagged = await tagOf(path);
      expect(ofVersion(tagged)).not.toBe(ofVersion(added));
      expect((await ask('POST', path.replace('.json', '/retag.json'))).status).toBe(200);
      expect(ofVersion(await tagOf(path))).not.toBe(ofVersion(tagged));
    });
  });

  describe('custom actions', () => {
    test('If-Match applies to custom actions too', async () => {
      const { path, tag } = await made('/courses', { title: 'a', seats: 3 });
      const action = path.replace('.json', '/close.json');
      expect((await ask('POST', action, { 'if-match': '"x"' })).status).toBe(412);
      expect((await ask('GET', path)).json.seats).toBe(3);
      expect((await ask('POST', action, { 'if-match': tag })).status).toBe(200);
      expect((await ask('GET', path)).json.seats).toBe(0);
      expect((await ask('POST', action, { 'if-match': tag })).status).toBe(412);
    });

    test('a handler that writes an outdated version returns 409, or 412 if the caller sent a tag', async () => {
      const { path } = await made();
      const action = path.replace('.json', '/rename.json');
      const late = await ask('POST', action);
      expect([late.status, late.json.code]).toEqual([409, 'conflict_version']);
      const bound = await ask('POST', action, { 'if-match': await tagOf(path) });
      expect([bound.status, bound.json.code]).toEqual([412, 'precondition_failed']);
      expect((await ask('POST', action, { 'if-match': '*' })).status).toBe(409);
    });
  });

  describe('concurrent requests', () => {
    test('one of a hundred changes of the same version succeeds, and the others return 412', async () => {
      const { path, tag } = await made();
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, seats) => ask('PATCH', path, { 'if-match': tag }, { seats: seats + 1 })),
      );
      const counts = Object.groupBy(answers, ({ status }) => String(status));
      expect([counts['200']?.length, counts['412']?.length]).toEqual([1, 99]);
      expect((await ask('GET', path)).json.seats).toBe(counts['200']?.[0]?.json.seats);
    });

    test('changes without If-Match each create a new version or return 409', async () => {
      const { path } = await made();
      const seen: number[] = [0];
      const answers = await Promise.all(
        Array.from({ length: 60 }, async (_, i) => {
          const seats = i + 1;
          if (i % 3 === 0) return ask('PUT', path, {}, { title: 'a', seats });
          return ask('PATCH', path, {}, { seats });
        }),
      );
      for (const { json, status } of answers) if (status === 200) seen.push(json.seats);
      expect(answers.every(({ status }) => status === 200 || status === 409)).toBe(true);
      const em = app.application.mapper.em.fork();
      const course = await em.findOneOrFail(CourseSchema, { id: Number(/\d+/.exec(path)?.[0]) });
      // as many versions as there were successes
      expect(course.revision).toBe(seen.length);
      expect(seen).toContain(course.seats);
    });

    test('DELETE during changes of the row returns 204 or 409, and the row is gone only after 204', async () => {
      for (let round = 0; round < 5; round++) {
        const { path } = await made();
        const [removed, ...changed] = await Promise.all([
          ask('DELETE', path),
          ...Array.from({ length: 4 }, (_, seats) => ask('PATCH', path, {}, { seats: seats + 1 })),
        ]);
        expect([204, 409]).toContain(removed?.status);
        expect(changed.every(({ status }) => [200, 404, 409].includes(status))).toBe(true);
        expect((await ask('GET', path)).status).toBe(removed?.status === 204 ? 404 : 200);
      }
    });

    test('additions of different items all succeed, but only one with the same If-Match tag', async () => {
      const { path } = await made();
      const action = path.replace('.json', '/tag.json');
      const answers = await Promise.all([1, 2, 3].map((id) => ask('POST', action, {}, { id })));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
      const tag = await tagOf(path);
      const bound = await Promise.all([1, 2, 3].map((id) => ask('DELETE', action, { 'if-match': tag }, { id })));
      expect(bound.map(({ status }) => status).sort()).toEqual([200, 412, 412]);
    });
  });
});
