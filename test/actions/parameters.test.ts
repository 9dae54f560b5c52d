// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, type CodeOptions, type ParametersOf, type User, Voter } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication, type TestRequest } from '../support/testing.ts';
import { stores } from './application.ts';

type Any = any;

const Tag: Any = defineEntity({
  name: 'Tag',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read', 'write') },
});

/** What others embed: hidden unless it is public, or the request asks for drafts. */
const Leaflet: Any = defineEntity({
  name: 'Leaflet',
  properties: { id: p.integer().primary().groups('read'), state: p.string().groups('read') },
});

class LeafletController extends ApiController<Any> {
  override customizeQuery(_action: string, request: ApiRequest<{ state: string }>, query: Any) {
    query.andWhere({ state: request.parameters.state });
  }
}

const Course: Any = defineEntity({
  name: 'Course',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().groups('read', 'write'),
    season: p.integer().groups('read', 'write'),
    tags: () => (p.manyToMany(Tag) as Any).groups('read'),
    leaflet: () => (p.manyToOne(Leaflet) as Any).nullable().groups('read', 'write'),
  },
});

const seasonal = { season: { type: 'integer', minimum: 2000, maximum: 2100 } } as const;
const everyType = {
  text: { pattern: '[a-z]+' },
  size: { type: 'integer', minimum: 1, default: 10 },
  ratio: { type: 'number' },
  open: { type: 'boolean' },
  day: { type: 'date' },
  since: { type: 'datetime' },
  key: { type: 'uuid' },
  state: { enum: ['draft', 'public'], default: 'public' },
  years: { type: 'integer', list: true },
  names: { list: true, default: ['a,b', 'c\\'] },
  constructor: { type: 'integer' },
} as const;

type SeasonRequest = ApiRequest<ParametersOf<typeof seasonal>>;

const called: string[] = [];

class CourseController extends ApiController<Any> {
  override customizeQuery(action: string, request: SeasonRequest, query: Any) {
    const season: number | undefined = request.parameters.season;
    called.push(`${action} ${season}`);
    if (season !== undefined) query.andWhere({ season });
  }
  typesApi(request: ApiRequest<ParametersOf<typeof everyType>>) {
    const { key, names, since, size, years } = request.parameters;
    const typed: [string | undefined, readonly string[], Date | undefined, number, readonly number[] | undefined] = [
      key,
      names,
      since,
      size,
      years,
    ];
    return { ...request.parameters, ...(typed[2] && { since: typed[2].toISOString() }) };
  }
  echoApi(id: number, request: SeasonRequest) {
    return { id, season: request.parameters.season, query: request.query };
  }
  mineApi(request: SeasonRequest) {
    return this.paginate('mine', request, this.em.createQueryBuilder(Course, 'c'));
  }
}

class SeasonVoter extends Voter<Any> {
  static override roles = ['SEASON'];
  vote(_role: string, _subject: unknown, _user: User | null, request: FastifyRequest) {
    return (request as SeasonRequest).parameters.season === 2026 ? 'grant' : 'deny';
  }
}

/** Whatever request refers to a leaflet, the parameter is that of the leaflet's own API. */
class LeafletVoter extends Voter<Any> {
  static override roles = ['LEAFLET'];
  vote(_role: string, _subject: unknown, _user: User | null, request: FastifyRequest) {
    return typeof (request as ApiRequest).parameters.state === 'string' ? 'grant' : 'deny';
  }
}

class LoadingController extends ApiController<Any> {
  override getEntity(_action: string, id: unknown, request: SeasonRequest) {
    called.push(`load ${request.parameters.season}`);
    return this.em.findOneOrFail(Course, { id, season: request.parameters.season } as Any) as Any;
  }
}

const reading = { GET: true, HEAD: true } as const;
const options: CodeOptions = {
  app_main: {
    formats: ['json', 'csv', 'ndjson'],
    pagination: { items_per_page: 2 },
    security: { jwt: { secret: 'a secret of the seasons that is long enough' } },
    apis: {
      course: {
        class: Course,
        base_path: '/course',
        controller: CourseController,
        filters: { title: ['eq'] },
        actions: {
          _index: { methods: { ...reading, POST: true }, parameters: seasonal },
          _entity: { methods: { ...reading, PATCH: true, PUT: true, DELETE: true }, parameters: seasonal },
          types: { methods: { GET: true }, 'single-collection': 'collection', parameters: everyType },
          echo: { methods: { GET: true, POST: true }, parameters: seasonal },
          mine: { methods: { GET: true }, 'single-collection': 'collection', parameters: seasonal },
          tag: { association: { property: 'tags' }, parameters: { note: { required: true } } },
        },
      },
      needed: {
        class: Course,
        base_path: '/needed',
        base_role: 'ROLE_USER',
        actions: {
          _index: { parameters: { season: { type: 'integer', required: true } } },
          _entity: { parameters: { season: { type: 'integer', required: true } } },
        },
      },
      judged: {
        class: Course,
        base_path: '/judged',
        base_role: 'SEASON',
        actions: { _index: { parameters: seasonal }, _entity: { parameters: seasonal } },
      },
      loaded: {
        class: Course,
        base_path: '/loaded',
        controller: LoadingController,
        actions: { _entity: { parameters: { season: { type: 'integer', required: true } } } },
      },
      leaflet: {
        class: Leaflet,
        base_path: '/leaflet',
        controller: LeafletController,
        base_role: 'LEAFLET',
        actions: { _entity: { parameters: { state: { enum: ['draft', 'public'], default: 'public' } } } },
      },
      shelf: {
        class: Course,
        base_path: '/shelf',
        actions: { _index: { methods: { ...reading, POST: true }, parameters: { state: { type: 'integer' } } } },
      },
      tag: { class: Tag, base_path: '/tag', actions: { _index: null } },
    },
  },
  models: [Course, Leaflet, Tag],
  controllers: [CourseController, LeafletController, LoadingController],
  voters: [LeafletVoter, SeasonVoter],
  seed: async (em: Any) => {
    for (const id of [1, 2, 3, 4, 5, 6]) {
      const leaflet = id > 2 ? null : em.create(Leaflet, { state: id === 1 ? 'public' : 'draft' });
      em.create(Course, { title: `Course ${id}`, season: id % 2 ? 2025 : 2026, leaflet });
    }
    em.create(Tag, { name: 'health' });
    await em.flush();
  },
};

describe.each(databases)('declared query parameters on %s', (kind) => {
  describe.each(stores)('through $store', ({ compiledReads }) => {
    let database: FreshDatabase;
    let app: TestApplication;
    const user: TestRequest = { as: { id: 1, roles: ['ROLE_USER'] } };
    const send = (method: string, path: string, request?: TestRequest) => app.request(method, path, request);
    const refusal = async (method: string, path: string, request?: TestRequest) => {
      const { json, status } = await send(method, path, request);
      return [status, json?.code, json?.detail];
    };
    const ids = async (path: string) => (await send('GET', path)).json.results.map(({ id }: Any) => id);

    beforeAll(async () => {
      database = await freshDatabase(kind);
      app = await startApplication({ ...options, databaseUrl: database.url, compiledReads });
    });
    afterAll(async () => {
      await app?.close();
      await database?.drop();
    });

    test('are passed to customizeQuery for rows, counts, links and single rows', async () => {
      expect(await ids('/course.json')).toEqual([1, 2]);
      expect(await ids('/course.json?season=2026')).toEqual([2, 4]);
      expect(await ids('/course.json?season=2025')).toEqual([1, 3]);
      const { json } = await send('GET', '/course.json?season=2026&title=Course%202');
      expect(json).toMatchObject({ count: 1, results: [{ id: 2 }] });
      expect((await send('GET', '/course/2.json?season=2026')).status).toBe(200);
      expect((await send('GET', '/course/2.json?season=2025')).status).toBe(404);
      expect((await send('GET', '/course/2.json')).status).toBe(200);
    });

    test('are kept in links, with their original encoding', async () => {
      const { json } = await send('GET', '/course.json?%73eason=%32026');
      expect(json.pagination.next).toMatch(/^\/course\.json\?%73eason=%32026&page=2&after=/);
      const next = (await send('GET', json.pagination.next)).json;
      expect(next).toMatchObject({ count: 3, results: [{ id: 6 }] });
      expect((await send('GET', next.pagination.previous)).json.results).toMatchObject([{ id: 2 }, { id: 4 }]);
    });

    test('work with HEAD and in exports', async () => {
      expect((await send('HEAD', '/course/2.json?season=2026')).status).toBe(200);
      expect((await send('HEAD', '/course/2.json?season=2025')).status).toBe(404);
      expect((await send('HEAD', '/course.json?season=x')).status).toBe(400);
      expect((await send('GET', '/course.csv?season=2026')).text.trim().split(/\r?\n/)).toHaveLength(4);
      expect((await send('GET', '/course.ndjson?season=2026')).text.trim().split('\n')).toHaveLength(3);
      expect(await refusal('GET', '/course.csv?season=1')).toEqual([400, 'invalid_parameter', expect.stringContaining('2000')]);
      expect((await send('GET', '/course/2.csv?season=2026')).status).toBe(200);
    });

    test('lead to different entity tags for different values', async () => {
      const first = await send('GET', '/course.json?season=2026');
      const headers = { 'if-none-match': first.headers.get('etag') as string };
      expect((await send('GET', '/course.json?season=2026', { headers })).status).toBe(304);
      expect((await send('GET', '/course.json?season=2025', { headers })).status).toBe(200);
    });

    test.each([
      ['season=1999', 'season', 'must be given once, as an integer from 2000 to 2100'],
      ['season=', 'season', 'must be given once, as an integer from 2000 to 2100'],
      ['season', 'season', 'must be given once'],
      ['season=2026&season=2026', 'season', 'must be given once'],
      ['season=2026&%73eason=2025', 'season', 'must be given once'],
      ['season=2026.0', 'season', 'must be given once'],
      ['season=+2026', 'season', 'must be given once'],
      ['season=0x7ea', 'season', 'must be given once'],
      [`season=${'9'.repeat(400)}`, 'season', 'must be given once'],
    ])('are rejected with 400 for ?%s', async (query, name, message) => {
      const answer = [400, 'invalid_parameter', expect.stringContaining(`"${name}" ${message}`)];
      expect(await refusal('GET', `/course.json?${query}`)).toEqual(answer);
      expect(await refusal('GET', `/course/2.json?${query}`)).toEqual(answer);
      expect(await refusal('PATCH', `/course/2.json?${query}`, { json: { title: 'no' } })).toEqual(answer);
      expect(await refusal('POST', `/course.json?${query}`, { json: { title: 'no', season: 2026 } })).toEqual(answer);
      expect(await refusal('GET', `/course/2/echo.json?${query}`)).toEqual(answer);
    });

    test.each(['seasons=1', 'season[eq]=2026', 'season.x=1', '__proto__=1', 'constructor=1'])(
      'reject the unknown parameter ?%s',
      async (query) => {
        for (const path of ['/course.json', '/course/2.json', '/course.csv'])
          expect(await refusal('GET', `${path}?${query}`)).toEqual([400, 'unknown_parameter', expect.stringContaining('season')]);
      },
    );

    test('are converted to their declared types', async () => {
      const plain = { size: 10, state: 'public', names: ['a,b', 'c\\'] };
      expect((await send('GET', '/course/types.json')).json).toEqual(plain);
      const query =
        'text=abc&size=3&ratio=-1.5e3&open=false&day=2026-02-28&since=2026-01-01T00:00:00%2B01:00&key=3F2504E0-4F89-41D3-9A0C-0305E82C3301' +
        '&state=draft&years=2025,2026&names=x%5C,y,z&constructor=7';
      expect((await send('GET', `/course/types.json?${query}`)).json).toEqual({
        text: 'abc',
        size: 3,
        ratio: -1500,
        open: false,
        day: '2026-02-28',
        since: '2025-12-31T23:00:00.000Z',
        key: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
        state: 'draft',
        years: [2025, 2026],
        names: ['x,y', 'z'],
        constructor: 7,
      });
      const repeated = await send('GET', '/course/types.json?years=2025&years=2026,2027&names=x%5C,y&names=z');
      expect(repeated.json).toMatchObject({ years: [2025, 2026, 2027], names: ['x,y', 'z'] });
      // a handler may know further parameters
      expect((await send('GET', '/course/types.json?other=1')).json).toEqual(plain);
    });

    test.each([
      ['text=', 'must be given once, as text of at most 100 characters that matches [a-z]+'],
      ['text=aB', 'matches [a-z]+'],
      [`text=${'a'.repeat(101)}`, 'at most 100 characters'],
      ['names=%00', 'without NUL characters'],
      ['names=a%5Cb', 'values separated by commas'],
      ['size=0', 'an integer from 1'],
      ['ratio=1e999', 'a number'],
      ['ratio=NaN', 'a number'],
      ['open=1', 'true or false'],
      ['day=2026-02-30', 'a date such as "2026-11-15"'],
      ['since=2026-01-01T00:00:00', 'with its offset'],
      ['key=1', 'a UUID'],
      ['state=PUBLIC', 'one of: draft, public'],
      ['state=draft&state=public', 'one of: draft, public'],
      ['years=2025,', 'values separated by commas, each of them an integer'],
      ['years=2025&years=x', 'must be given as values separated by commas, each of them an integer'],
      ['years=', 'values separated by commas, each of them an integer'],
    ])('list the allowed values in the error for ?%s', async (query, expected) => {
      expect(await refusal('GET', `/course/types.json?${query}`)).toEqual([
        400,
        'invalid_parameter',
        expect.stringContaining(expected),
      ]);
    });

    test('are parsed for custom actions, and other parameters are left to the handler', async () => {
      expect((await send('GET', '/course/2/echo.json?season=2026&x=1')).json).toEqual({
        id: 2,
        season: 2026,
        query: { season: '2026', x: '1' },
      });
      expect((await send('GET', '/course/2/echo.json?season=2025')).status).toBe(404);
      expect((await send('POST', '/course/2/echo.json?season=2026')).json).toMatchObject({ season: 2026 });
      const { json } = await send('GET', '/course/mine.json?season=2026&page=2');
      expect(json).toMatchObject({
        count: 3,
        results: [{ id: 6 }],
        pagination: { previous: '/course/mine.json?season=2026&page=1' },
      });
    });

    test('apply to writes', async () => {
      expect((await send('PATCH', '/course/2.json?season=2025', { json: { title: 'hidden' } })).status).toBe(404);
      expect((await send('PATCH', '/course/2.json?season=2026', { json: { title: 'Course 2' } })).status).toBe(200);
      expect((await send('PUT', '/course/2.json?season=2026', { json: { title: 'Course 2', season: 2026 } })).status).toBe(200);
      expect(await refusal('PATCH', '/course/2.json?x=1', { json: {} })).toEqual([
        400,
        'unknown_parameter',
        expect.stringContaining('allowed: season'),
      ]);
      const made = await send('POST', '/course.json?season=2030', { json: { title: 'New', season: 2030 } });
      expect([made.status, made.headers.get('location')]).toEqual([201, `/course/${made.json.id}.json`]);
      expect((await send('DELETE', `/course/${made.json.id}.json?season=2031`)).status).toBe(404);
      expect((await send('DELETE', `/course/${made.json.id}.json?season=2030`)).status).toBe(204);
    });

    test('are required if declared so', async () => {
      const missing = [400, 'invalid_parameter', 'the query parameter "season" is required, as an integer'];
      expect(await refusal('GET', '/needed.json', user)).toEqual(missing);
      expect(await refusal('GET', '/needed/2.json', user)).toEqual(missing);
      expect((await send('GET', '/needed.json?season=1', user)).status).toBe(200);
      expect((await send('GET', '/needed/2.json?season=1', user)).status).toBe(200);
      const tag = { json: { id: 1 } };
      expect((await refusal('POST', '/course/2/tag.json', tag)).slice(0, 2)).toEqual([400, 'invalid_parameter']);
      expect((await send('POST', '/course/2/tag.json?note=', tag)).status).toBe(200);
      expect((await send('DELETE', '/course/2/tag.json?note=x', tag)).status).toBe(200);
      expect((await refusal('DELETE', '/course/2/tag.json?note=x&y=1', tag)).slice(0, 2)).toEqual([400, 'unknown_parameter']);
    });

    test('do not reveal their allowed values to callers without the role', async () => {
      for (const path of ['/needed.json', '/needed/2.json', '/needed.json?season=x', '/needed/2.json?season=x']) {
        expect((await send('GET', path)).status).toBe(401);
        expect((await send('GET', path, { as: { id: 1, roles: [] } })).status).toBe(403);
      }
    });

    test('are passed to voters', async () => {
      for (const path of ['/judged.json', '/judged/2.json']) {
        expect((await send('GET', `${path}?season=2026`)).status).toBe(200);
        expect((await send('GET', `${path}?season=2025`)).status).toBe(401);
        expect((await send('GET', path)).status).toBe(401);
        expect((await refusal('GET', `${path}?season=x`)).slice(0, 2)).toEqual([400, 'invalid_parameter']);
      }
    });

    test('are part of the fingerprint of a request with an idempotency key', async () => {
      const headers = { 'idempotency-key': 'one-course' };
      const json = { title: 'Once', season: 2040 };
      const first = await send('POST', '/course.json?season=2040', { headers, json });
      const again = await send('POST', '/course.json?season=2040', { headers, json });
      expect([first.status, again.status, again.json.id]).toEqual([201, 201, first.json.id]);
      expect(again.headers.get('idempotency-replayed')).toBe('true');
      expect((await refusal('POST', '/course.json?season=2041', { headers, json })).slice(1, 2)).toEqual([
        'idempotency_key_reused',
      ]);
      expect((await send('DELETE', `/course/${first.json.id}.json`)).status).toBe(204);
    });

    test('have separate values in concurrent requests', async () => {
      const seasons = Array.from({ length: 40 }, (_, i) => (i % 2 ? 2025 : 2026));
      const answers = await Promise.all(seasons.map((season) => send('GET', `/course.json?season=${season}&page=2`)));
      expect(answers.map(({ json }) => json.results[0].id)).toEqual(seasons.map((season) => (season === 2025 ? 5 : 6)));
    });

    test('do not affect embedded rows of another API, which uses its own defaults', async () => {
      expect((await send('GET', '/leaflet/2.json')).status).toBe(404);
      expect((await send('GET', '/leaflet/2.json?state=draft')).status).toBe(200);
      for (const path of ['/shelf.json', '/shelf.json?state=7']) {
        const { json } = await send('GET', path);
        expect(json.results.map(({ leaflet }: Any) => leaflet)).toEqual([{ id: 1, state: 'public' }, null]);
      }
      const json = { title: 'x', season: 2026, leaflet: { id: 2 } };
      expect((await refusal('POST', '/shelf.json?state=7', { json })).slice(0, 2)).toEqual([400, 'invalid_reference']);
    });

    test('are validated before getEntity of the controller is called', async () => {
      called.length = 0;
      expect((await refusal('GET', '/loaded/2.json')).slice(0, 2)).toEqual([400, 'invalid_parameter']);
      expect((await refusal('GET', '/loaded/2.json?season=x')).slice(0, 2)).toEqual([400, 'invalid_parameter']);
      expect((await send('GET', '/loaded/2.json?season=2026')).json).toMatchObject({ id: 2 });
      expect(called).toEqual(['load 2026']);
    });

    test('do not make customizeQuery run more than once', async () => {
      called.length = 0;
      await send('GET', '/course.json?season=2026');
      await send('GET', '/course/2.json?season=2026');
      expect(called).toEqual(['_index 2026', '_entity 2026']);
    });
  });
});
