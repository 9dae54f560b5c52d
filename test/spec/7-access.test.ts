// @module-tag divided
import { createHash, createHmac, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { connect } from 'node:net';
import { type Collection, defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  ApiController,
  type ApiRequest,
  Authenticator,
  type CodeOptions,
  DeclarationErrors,
  type ModelQuery,
  problem,
  type User,
  type Vote,
  Voter,
} from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication, type TestRequest } from '../support/testing.ts';

const secret = 'a-secret-of-more-than-thirty-two-characters';
const issuer = 'https://issuer.test';
const audience = 'reports';

const Reader = defineEntity({
  name: 'Reader',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
});

const reportSchema = defineEntity({
  name: 'Report',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().groups('read', 'write'),
    owner: p.string().groups('read', 'write'),
    archived: p.boolean().default(false).groups('read', 'write'),
    readers: () => p.manyToMany(Reader).groups('read'),
  },
});
class Report extends reportSchema.class {}
reportSchema.setClass(Report);

interface ListQuery {
  readonly role: string;
  readonly subject: unknown;
  readonly user: unknown;
}
const asked: ListQuery[] = [];

/** Only an owner sees a report; a list is for everybody who is known. */
class ReportVoter extends Voter<Report> {
  static override roles = ['REPORT_SEE', 'REPORT_WRITE'];

  async vote(role: string, report: Report | null, user: User | null): Promise<Vote> {
    asked.push({ role, subject: report && { class: report.constructor, id: report.id, owner: report.owner }, user });
    if (user === null) return 'deny';
    if (role === 'REPORT_WRITE') return user.roles.includes('WRITER') ? 'grant' : 'deny';
    return report === null || report.owner === user.id ? 'grant' : 'deny';
  }
}

class AbstainingVoter extends Voter {
  static override roles = ['UNDECIDED'];
  vote(): Vote {
    return 'abstain';
  }
}

const answers: Readonly<Record<string, () => unknown>> = {
  THROWS: () => {
    throw new Error('the voter broke on select * from report');
  },
  THROWS_A_REFUSAL: () => {
    throw problem('access_denied');
  },
  THROWS_NOTHING: () => {
    throw undefined;
  },
  REJECTS: () => Promise.reject(new Error('later')),
  TRUE: () => true,
  ONE: () => 1,
  UNDEFINED: () => undefined,
  NULL: () => null,
  GRANTED: () => 'granted',
  GRANT_IN_CAPITALS: () => 'GRANT',
  LIST: () => ['grant'],
  OBJECT: () => ({ vote: 'grant', toString: () => 'grant' }),
  STRING_OBJECT: () => new String('grant'),
  PROMISE_OF_TRUE: async () => true,
  PROMISE_OF_NOTHING: async () => undefined,
};
class FaultyVoter extends Voter {
  static override roles = Object.keys(answers);
  override vote(role: string): Vote {
    return answers[role]?.() as Vote;
  }
}

class ReportController extends ApiController<Report> {
  override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Report>): void {
    if (!request.user?.roles.includes('ROLE_ARCHIVIST')) query.andWhere({ archived: false });
  }

  noteApi(id: number, _request: ApiRequest) {
    return { noted: id };
  }

  summaryApi(request: ApiRequest) {
    return { for: request.user?.id ?? null };
  }
}

class Badge extends Authenticator {
  override async authenticate({ headers }: FastifyRequest): Promise<User | null> {
    const badge = headers['x-badge'];
    if (badge === undefined) return null;
    if (badge === 'nonsense') return { id: 'x', roles: 'ROLE_EDITOR' } as never;
    if (badge !== 'gold') throw problem('invalid_credentials', { reason: 'the badge is not known' });
    return { id: 'goldie', roles: ['ROLE_ADMIN'], department: 'press' };
  }

  override challenge(): string {
    return 'Badge';
  }
}

const everyMethod = { GET: true, HEAD: true, POST: true, PUT: true, PATCH: true, DELETE: true };
const faulty = Object.fromEntries(
  Object.keys(answers).map((role) => [
    role.toLowerCase(),
    {
      class: Report,
      base_path: `/faulty/${role}`,
      base_role: role,
      actions: { _index: null, _entity: { methods: everyMethod } },
    },
  ]),
);

const options: CodeOptions = {
  app_main: {
    apis: {
      report: {
        class: Report,
        base_path: '/report',
        controller: ReportController,
        base_role: 'REPORT_SEE',
        actions: {
          _index: { methods: { GET: true, HEAD: true, POST: true }, roles: { POST: 'ROLE_EDITOR' } },
          _entity: {
            methods: { GET: true, HEAD: true, PUT: true, PATCH: true, DELETE: true },
            roles: { GET: null, PUT: 'ROLE_EDITOR', PATCH: 'REPORT_WRITE', DELETE: 'ROLE_ADMIN' },
          },
          note: { methods: { GET: true, HEAD: true, POST: true }, roles: { GET: 'REPORT_WRITE' } },
          summary: { methods: { GET: true }, 'single-collection': 'collection' },
          readers: { association: { property: 'readers' }, roles: { POST: 'ROLE_EDITOR', DELETE: 'ROLE_EDITOR' } },
        },
      },
      open: {
        class: Report,
        base_path: '/open',
        base_role: null,
        actions: { _index: null, _entity: { methods: { GET: true, DELETE: true }, roles: { DELETE: 'ROLE_ADMIN' } } },
      },
      undecided: { class: Report, base_path: '/undecided', base_role: 'UNDECIDED', actions: { _index: null } },
      headOnly: {
        class: Report,
        base_path: '/head',
        actions: { _index: { methods: { HEAD: true }, roles: { GET: 'ROLE_EDITOR' } } },
      },
      peek: {
        class: Report,
        base_path: '/peek',
        actions: { _index: { roles: { GET: 'ROLE_EDITOR', HEAD: 'ROLE_ARCHIVIST' } } },
      },
      peekOne: {
        class: Report,
        base_path: '/peek',
        base_role: 'ROLE_USER',
        actions: { _entity: { roles: { GET: 'ROLE_EDITOR', HEAD: null } } },
      },
      ...faulty,
    },
    security: {
      jwt: { secret, issuer, audience },
      api_keys: {
        reporting: { key: 'the-key-of-the-reporting-job', roles: ['ROLE_EDITOR'] },
        hashed: { key: `sha256:${createHash('sha256').update('the-key-that-is-kept-hashed').digest('hex')}`, roles: [] },
      },
      role_hierarchy: { ROLE_ADMIN: ['ROLE_EDITOR'], ROLE_OWNER: ['ROLE_ADMIN'] },
    },
  },
  models: [Report, Reader],
  controllers: [ReportController],
  voters: [ReportVoter, AbstainingVoter, FaultyVoter],
  authenticators: [Badge],
  seed: async (em) => {
    em.create(Report, { title: 'Of Ada', owner: 'ada', archived: false });
    em.create(Report, { title: 'Of Ben', owner: 'ben', archived: false });
    em.create(Report, { title: 'Old of Ada', owner: 'ada', archived: true });
    em.create(Reader, { name: 'Ray' });
    await em.flush();
  },
};

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const now = () => Math.floor(Date.now() / 1000);
const claims = (more: object = {}) => ({
  sub: 'ada',
  roles: ['ROLE_ADMIN'],
  iss: issuer,
  aud: audience,
  exp: now() + 60,
  ...more,
});

/** A token made by hand, with a true signature unless another is given. */
function token(
  payload: object,
  { header = { alg: 'HS256', typ: 'JWT' } as object, key = secret as string | Buffer, signature = '' } = {},
) {
  const signed = `${encode(header)}.${encode(payload)}`;
  return `${signed}.${signature || createHmac('sha256', key).update(signed).digest('base64url')}`;
}

describe.each(databases)('access on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  const send = (method: string, path: string, request?: TestRequest) => app.request(method, path, request);
  const status = async (method: string, path: string, request?: TestRequest) => (await send(method, path, request)).status;
  const ada = (...roles: string[]) => ({ id: 'ada', roles });
  const stored = async () =>
    (await app.application.mapper.em.fork().find(Report, {}, { orderBy: { id: 'asc' }, populate: ['readers'] as never })).map(
      ({ id, title, owner, archived, readers }) => ({
        id,
        title,
        owner,
        archived,
        readers: (readers as Collection<InferEntity<typeof Reader>>).getItems().map((reader) => reader.id),
      }),
    );

  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication({ ...options, databaseUrl: database.url });
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });
  beforeEach(() => {
    asked.length = 0;
    app.statements.length = 0;
  });

  describe('a role', () => {
    test('of the API protects every action', async () => {
      for (const [method, path] of [
        ['GET', '/report.json'],
        ['HEAD', '/report.json'],
        ['GET', '/report/1.json'],
        ['HEAD', '/report/1.json'],
        ['GET', '/report/summary.json'],
        ['POST', '/report/1/note.json'],
      ] as const) {
        expect([method, path, await status(method, path)]).toEqual([method, path, 401]);
        expect([method, path, await status(method, path, { as: ada('WRITER') })]).toEqual([method, path, 200]);
      }
    });

    test('of the method is required in addition to that of the API', async () => {
      const patch = (id: number, user: User) => status('PATCH', `/report/${id}.json`, { json: { title: 'Of Ada' }, as: user });
      expect(await patch(1, ada())).toBe(403);
      expect(await patch(2, ada('WRITER'))).toBe(403);
      expect(await patch(1, ada('WRITER'))).toBe(200);
      const post = (user: User) => status('POST', '/report.json', { json: {}, as: user });
      expect(await post(ada())).toBe(403);
      expect(await post(ada('ROLE_EDITOR'))).toBe(422);
    });

    test('of the method that is null leaves only the role of the API', async () => {
      expect(await status('GET', '/report/2.json', { as: ada('WRITER') })).toBe(403);
      expect(await status('GET', '/report/1.json', { as: ada() })).toBe(200);
    });

    test('missing on both method and API makes the route public', async () => {
      expect(await status('GET', '/open.json')).toBe(200);
      expect(await status('GET', '/open/2.json')).toBe(200);
      expect(await status('DELETE', '/open/2.json')).toBe(401);
      expect(asked).toEqual([]);
    });

    test('is denied if every voter abstains', async () => {
      expect(await status('GET', '/undecided.json')).toBe(401);
      expect(await status('GET', '/undecided.json', { as: ada('UNDECIDED', 'ROLE_OWNER') })).toBe(403);
    });

    test('named ROLE_… is granted only to users who have it, directly or through the hierarchy', async () => {
      const put = (...roles: string[]) => status('PUT', '/report/1.json', { json: {}, as: ada(...roles) });
      expect(await put()).toBe(403);
      expect(await put('ROLE_EDITORS', 'role_editor', 'EDITOR')).toBe(403);
      for (const role of ['ROLE_EDITOR', 'ROLE_ADMIN', 'ROLE_OWNER']) expect([role, await put(role)]).toEqual([role, 422]);
      expect(await status('DELETE', '/open/99.json', { as: ada('ROLE_EDITOR') })).toBe(404);
      expect(await status('DELETE', '/open/2.json', { as: ada('ROLE_EDITOR') })).toBe(403);
    });
  });

  describe('the subject', () => {
    const subjects = () => asked.map(({ role, subject }) => [role, subject]);
    const first = { class: Report, id: 1, owner: 'ada' };

    test('is null for _index and for a collection action', async () => {
      await send('GET', '/report.json', { as: ada() });
      await send('HEAD', '/report.json', { as: ada() });
      await send('POST', '/report.json', { as: ada('ROLE_EDITOR'), json: {} });
      await send('GET', '/report/summary.json', { as: ada() });
      expect(subjects()).toEqual(Array(4).fill(['REPORT_SEE', null]));
    });

    test('is the entity for _entity, a single action and an association, for each role', async () => {
      await send('GET', '/report/1.json', { as: ada() });
      await send('PATCH', '/report/1.json', { as: ada('WRITER'), json: {} });
      await send('POST', '/report/1/note.json', { as: ada() });
      await send('DELETE', '/report/1/readers.json', { as: ada('ROLE_EDITOR'), json: { id: 1 } });
      expect(subjects()).toEqual([
        ['REPORT_SEE', first],
        ['REPORT_SEE', first],
        ['REPORT_WRITE', first],
        ['REPORT_SEE', first],
        ['REPORT_SEE', first],
      ]);
    });

    test('is the stored entity, before the body changes it', async () => {
      expect(await status('PUT', '/report/2.json', { as: ada('ROLE_EDITOR'), json: { title: 'mine', owner: 'ada' } })).toBe(403);
      expect(subjects()).toEqual([['REPORT_SEE', { class: Report, id: 2, owner: 'ben' }]]);
    });

    test('decides: one user has different rights on two rows of one API', async () => {
      expect(await status('GET', '/report/1.json', { as: ada() })).toBe(200);
      expect(await status('GET', '/report/2.json', { as: ada() })).toBe(403);
      expect(await status('GET', '/report/1.json', { as: { id: 'ben' } })).toBe(403);
      expect(await status('GET', '/report/2.json', { as: { id: 'ben' } })).toBe(200);
    });

    test('that does not exist or is hidden by the controller returns 404 before any voter runs', async () => {
      expect(await status('GET', '/report/99.json', { as: ada() })).toBe(404);
      expect(await status('GET', '/report/3.json', { as: ada() })).toBe(404);
      expect(asked).toEqual([]);
    });

    test('is passed with the whole user, including claims', async () => {
      await send('GET', '/report.json', { as: { id: 'ada', roles: ['A'], department: { name: 'press' } } });
      expect(asked[0]?.user).toMatchObject({ id: 'ada', roles: ['A'], department: { name: 'press' } });
      await send('GET', '/report.json');
      expect(asked[1]?.user).toBeNull();
    });
  });

  test('the user is available in customizeQuery and handlers as request.user', async () => {
    expect((await send('GET', '/report.json', { as: ada() })).json.count).toBe(2);
    expect((await send('GET', '/report.json', { as: ada('ROLE_ARCHIVIST') })).json.count).toBe(3);
    expect((await send('GET', '/report/summary.json', { as: ada() })).json).toEqual({ for: 'ada' });
  });

  describe('HEAD', () => {
    test('requires the role of GET', async () => {
      expect(await status('HEAD', '/report/1/note.json', { as: ada() })).toBe(403);
      expect(await status('HEAD', '/report/1/note.json', { as: ada('WRITER') })).toBe(200);
      expect(await status('HEAD', '/report/2.json', { as: ada() })).toBe(403);
    });

    test('requires its own role instead of that of GET, if it has one', async () => {
      expect(await status('HEAD', '/peek.json', { as: ada('ROLE_EDITOR') })).toBe(403);
      expect(await status('HEAD', '/peek.json', { as: ada('ROLE_ARCHIVIST') })).toBe(200);
      expect(await status('GET', '/peek.json', { as: ada('ROLE_ARCHIVIST') })).toBe(403);
    });

    test('requires only the base role if its own is null', async () => {
      expect(await status('HEAD', '/peek/1.json')).toBe(401);
      expect(await status('HEAD', '/peek/1.json', { as: ada() })).toBe(403);
      expect(await status('HEAD', '/peek/1.json', { as: ada('ROLE_USER') })).toBe(200);
      expect(await status('GET', '/peek/1.json', { as: ada('ROLE_USER') })).toBe(403);
      expect(await status('GET', '/peek/1.json', { as: ada('ROLE_USER', 'ROLE_EDITOR') })).toBe(200);
    });

    test('requires the role of GET even if GET is not enabled', async () => {
      expect(await status('HEAD', '/head.json')).toBe(401);
      expect(await status('HEAD', '/head.json', { as: ada('ROLE_EDITOR') })).toBe(200);
    });
  });

  describe('a denied write', () => {
    const writes: readonly [string, string, unknown][] = [
      ['POST', '/report.json', { title: 'new', owner: 'ada' }],
      ['PATCH', '/report/2.json', { title: 'changed' }],
      ['PUT', '/report/2.json', { title: 'changed', owner: 'ada', archived: true }],
      ['DELETE', '/report/1.json', undefined],
      ['DELETE', '/open/1.json', undefined],
      ['POST', '/report/1/readers.json', { id: 1 }],
    ];

    test.each(writes)('%s %s changes nothing and sends no write statement', async (method, path, json) => {
      const before = await stored();
      app.statements.length = 0;
      expect(await status(method, path, { json })).toBe(401);
      expect(await status(method, path, { json, as: ada() })).toBe(403);
      expect(app.statements.filter((sql) => !/^(select|with _selected)/i.test(sql))).toEqual([]);
      expect(await stored()).toEqual(before);
    });

    test('is denied for any body, because access is checked before validation', async () => {
      const request = { body: '{', headers: { 'content-type': 'application/json' } };
      expect([400, 401]).toContain(await status('PATCH', '/report/1.json', request));
      expect(await status('PATCH', '/report/1.json', { json: { nonsense: 1 } })).toBe(401);
      expect(await status('PATCH', '/report/1.json', { json: { nonsense: 1 }, as: ada() })).toBe(403);
      expect(await status('PATCH', '/report/1.json', { json: { nonsense: 1 }, as: ada('WRITER') })).toBe(400);
    });
  });

  describe('a voter with the invalid result', () => {
    test.each(Object.keys(answers))(
      '%s never grants access: reads and writes return 500, and nothing is written',
      async (role) => {
        const before = await stored();
        const requests: [string, string, TestRequest][] = [
          ['GET', `/faulty/${role}.json`, {}],
          ['GET', `/faulty/${role}/1.json`, { as: ada('ROLE_OWNER') }],
          ['PATCH', `/faulty/${role}/1.json`, { as: ada('ROLE_OWNER'), json: { title: 'changed' } }],
          ['DELETE', `/faulty/${role}/1.json`, {}],
        ];
        for (const [method, path, request] of requests) {
          const { status, json, headers } = await send(method, path, request);
          expect(status).toBe(500);
          expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
          expect(json).toMatchObject({ code: 'internal_error', detail: 'an internal error occurred; it has been logged' });
          expect(Object.keys(json).sort()).toEqual(['code', 'detail', 'instance', 'status', 'title', 'type']);
        }
        expect(await stored()).toEqual(before);
      },
    );
  });

  describe('a denied request', () => {
    test('returns 401 with a challenge if there is no user', async () => {
      const { status, headers, json } = await send('GET', '/report.json');
      expect(status).toBe(401);
      expect(headers.get('www-authenticate')).toBe('Bearer realm="api"');
      expect(json).toMatchObject({ code: 'authentication_required', status: 401 });
    });

    test('returns 403 without a challenge if there is a user', async () => {
      const { status, headers, json } = await send('GET', '/report/2.json', { as: ada() });
      expect(status).toBe(403);
      expect(headers.get('www-authenticate')).toBeNull();
      expect(json).toMatchObject({ code: 'access_denied', status: 403, detail: 'access to this resource is denied' });
    });
  });

  describe('a token', () => {
    const bearer = (value: string) => ({ headers: { authorization: `Bearer ${value}` } });

    test('that is valid authenticates the user, and its claims decide', async () => {
      expect(await status('GET', '/report/1.json', bearer(token(claims())))).toBe(200);
      expect(await status('GET', '/report/1.json', bearer(token(claims({ sub: 'ben' }))))).toBe(403);
      expect(await status('GET', '/report.json', bearer(token(claims({ roles: undefined }))))).toBe(200);
      expect(await status('GET', '/report.json', bearer(token(claims({ aud: ['other', audience] }))))).toBe(200);
    });

    const valid = token(claims());
    const [head, body, signature] = valid.split('.') as [string, string, string];
    const wrong: Readonly<Record<string, () => Record<string, string>>> = {
      'alg none': () => ({ authorization: `Bearer ${encode({ alg: 'none' })}.${encode(claims())}.` }),
      'alg None with a signature': () => bearer(token(claims(), { header: { alg: 'None' } })).headers,
      'no signature': () => ({ authorization: `Bearer ${head}.${body}.` }),
      'only two parts': () => ({ authorization: `Bearer ${head}.${body}` }),
      'another algorithm of the same secret': () => {
        const signed = `${encode({ alg: 'HS512' })}.${encode(claims())}`;
        return { authorization: `Bearer ${signed}.${createHmac('sha512', secret).update(signed).digest('base64url')}` };
      },
      'another secret': () => bearer(token(claims(), { key: `${secret}!` })).headers,
      'the empty secret': () => bearer(token(claims(), { key: '' })).headers,
      'a tampered payload': () => ({ authorization: `Bearer ${head}.${encode(claims({ sub: 'ben' }))}.${signature}` }),
      'a tampered header': () => ({ authorization: `Bearer ${encode({ alg: 'HS256', kid: '1' })}.${body}.${signature}` }),
      'a key of its own in the header': () => {
        const header = { alg: 'HS256', jwk: { kty: 'oct', k: Buffer.from('mine').toString('base64url') } };
        return bearer(token(claims(), { header, key: 'mine' })).headers;
      },
      'a critical extension': () => bearer(token(claims(), { header: { alg: 'HS256', crit: ['b64'], b64: true } })).headers,
      'no exp': () => bearer(token(claims({ exp: undefined }))).headers,
      'an exp that is text': () => bearer(token(claims({ exp: String(now() + 60) }))).headers,
      'an exp in the past': () => bearer(token(claims({ exp: now() - 1 }))).headers,
      'an exp of this very second': () => bearer(token(claims({ exp: now() }))).headers,
      'an nbf in the future': () => bearer(token(claims({ nbf: now() + 30 }))).headers,
      'no sub': () => bearer(token(claims({ sub: undefined }))).headers,
      'an empty sub': () => bearer(token(claims({ sub: '' }))).headers,
      'a sub that is a number': () => bearer(token(claims({ sub: 7 }))).headers,
      'roles that are text': () => bearer(token(claims({ roles: 'ROLE_ADMIN' }))).headers,
      'no iss': () => bearer(token(claims({ iss: undefined }))).headers,
      'another iss': () => bearer(token(claims({ iss: `${issuer}/` }))).headers,
      'no aud': () => bearer(token(claims({ aud: undefined }))).headers,
      'another aud': () => bearer(token(claims({ aud: 'report' }))).headers,
      'no token after Bearer': () => ({ authorization: 'Bearer' }),
      'a comma and a second token': () => ({ authorization: `Bearer ${valid}, Bearer ${valid}` }),
      'a payload that is no JSON': () => bearer(`${head}.${Buffer.from('{').toString('base64url')}.${signature}`).headers,
      'text that is no token': () => ({ authorization: 'Bearer open sesame' }),
      'a scheme that nobody knows': () => ({ authorization: `Basic ${Buffer.from('ada:pw').toString('base64')}` }),
      'the token without its scheme': () => ({ authorization: valid }),
      'an API key that is not known': () => ({ 'x-api-key': 'the-key-of-the-reporting-jub' }),
      'an empty API key': () => ({ 'x-api-key': '' }),
      'the hash in place of the API key': () => ({
        'x-api-key': createHash('sha256').update('the-key-that-is-kept-hashed').digest('hex'),
      }),
      'a badge that is not known': () => ({ 'x-badge': 'silver' }),
      'a right token beside a wrong badge': () => ({ ...bearer(valid).headers, 'x-badge': 'silver' }),
      'a wrong token beside a right badge': () => ({ authorization: 'Bearer x.y.z', 'x-badge': 'gold' }),
    };

    test.each(Object.keys(wrong))('with %s returns 401 on protected and public routes, before any query', async (name) => {
      for (const [method, path] of [
        ['GET', '/report.json'],
        ['GET', '/open.json'],
        ['GET', '/open/1.json'],
        ['POST', '/report.json'],
      ] as const) {
        const request = { headers: wrong[name]?.() ?? {}, ...(method === 'POST' && { json: { title: 'x', owner: 'ada' } }) };
        const response = await send(method, path, request);
        expect([path, response.status]).toEqual([path, 401]);
        expect(response.headers.get('www-authenticate')).toMatch(/^(Bearer|ApiKey|Badge)\b/);
        expect(response.json.code).toBe('invalid_credentials');
      }
      expect(app.statements).toEqual([]);
      expect(asked).toEqual([]);
    });

    test('sent twice returns 401', async () => {
      const { hostname, port } = new URL(app.url);
      const answer = await new Promise<string>((resolve, reject) => {
        const socket = connect(Number(port), hostname);
        let text = '';
        socket.on('error', reject).on('close', () => resolve(text));
        socket.on('data', (chunk) => {
          text += chunk;
        });
        const header = `authorization: Bearer ${valid}\r\n`;
        socket.write(`GET /open.json HTTP/1.1\r\nhost: x\r\n${header}${header}connection: close\r\n\r\n`);
      });
      expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    });

    test('that was accepted is rejected after it expires', async () => {
      const request = bearer(token(claims({ exp: now() + 2 })));
      expect(await status('GET', '/report/1.json', request)).toBe(200);
      const until = Date.now() + 4000;
      let last = 200;
      while (last === 200 && Date.now() < until) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        last = await status('GET', '/report/1.json', request);
      }
      expect(last).toBe(401);
    });
  });

  describe('an API key', () => {
    test('is accepted in either header, and grants its roles', async () => {
      const key = 'the-key-of-the-reporting-job';
      for (const headers of [{ 'x-api-key': key }, { authorization: `ApiKey ${key}` }]) {
        expect((await send('GET', '/report/summary.json', { headers: { ...headers } as Record<string, string> })).json).toEqual({
          for: 'reporting',
        });
        expect(await status('POST', '/report.json', { headers: { ...headers } as Record<string, string>, json: {} })).toBe(422);
      }
    });

    test('can be declared as its hash', async () => {
      const headers = { 'x-api-key': 'the-key-that-is-kept-hashed' };
      expect((await send('GET', '/report/summary.json', { headers })).json).toEqual({ for: 'hashed' });
      expect(await status('POST', '/report.json', { headers, json: {} })).toBe(403);
    });
  });

  describe('an authenticator of the application', () => {
    test('is called, and its user becomes the user of the request', async () => {
      expect((await send('GET', '/report/summary.json', { headers: { 'x-badge': 'gold' } })).json).toEqual({ for: 'goldie' });
      expect(asked[0]?.user).toEqual({ id: 'goldie', roles: ['ROLE_ADMIN'], department: 'press' });
      expect(await status('DELETE', '/open/99.json', { headers: { 'x-badge': 'gold' } })).toBe(404);
    });

    test('that returns an invalid user makes the request return 500', async () => {
      const { status, json } = await send('GET', '/open.json', { headers: { 'x-badge': 'nonsense' } });
      expect([status, json.code]).toEqual([500, 'internal_error']);
      expect(app.statements).toEqual([]);
    });
  });
});

/** An application in memory, where the rows do not matter. */
async function inMemory(app_main: CodeOptions['app_main'], more: Partial<CodeOptions> = {}): Promise<TestApplication> {
  return startApplication({
    models: [Report, Reader],
    ...more,
    app_main: { database: { url: 'sqlite::memory:' }, ...app_main },
  });
}

describe('an authenticator that throws', () => {
  const throwers: Readonly<Record<string, (value: unknown) => never | Promise<never>>> = {
    'at once': (value) => {
      throw value;
    },
    later: (value) => Promise.reject(value),
  };

  test.each(
    Object.keys(throwers).flatMap((when) => [undefined, null, 0, 'no', new Error('no')].map((value) => [when, value] as const)),
  )('%s, with the value %s, makes every request return 500', async (when, value) => {
    class Thrower extends Authenticator {
      override authenticate(): never | Promise<never> {
        return (throwers[when] as (value: unknown) => never)(value);
      }
    }
    const actions = { _index: null, _entity: null };
    const app = await inMemory({ apis: { open: { class: Report, base_path: '/open', actions } } }, { authenticators: [Thrower] });
    try {
      for (const path of ['/open.json', '/open/1.json']) {
        app.statements.length = 0;
        expect((await app.request('GET', path)).status).toBe(500);
        expect(app.statements).toEqual([]);
      }
    } finally {
      await app.close();
    }
  });
});

describe('strategies', () => {
  const panels = ['', 'g', 'd', 'a', 'gd', 'dg', 'ggd', 'gdd', 'ag', 'ad', 'adg', 'agd', 'gg', 'aa'];
  const votes: Readonly<Record<string, Vote>> = { g: 'grant', d: 'deny', a: 'abstain' };
  /** The voter at a place of every panel: first, second, third; the second answers later. */
  const voters = [0, 1, 2].map((place) => {
    return class extends Voter {
      static override roles = panels.filter((panel) => panel[place] !== undefined).map((panel) => `PANEL_${panel}`);
      override vote(role: string): Vote | Promise<Vote> {
        const vote = votes[role.slice('PANEL_'.length)[place] as string] as Vote;
        return place === 1 ? Promise.resolve(vote) : vote;
      }
    };
  });
  const granted = {
    affirmative: ['g', 'gd', 'dg', 'ggd', 'gdd', 'ag', 'adg', 'agd', 'gg'],
    consensus: ['g', 'ggd', 'ag', 'gg'],
    unanimous: ['g', 'ag', 'gg'],
    priority: ['g', 'gd', 'ggd', 'gdd', 'ag', 'agd', 'gg'],
  } as const;

  test.each([undefined, 'affirmative', 'consensus', 'unanimous', 'priority'] as const)(
    '%s grants access exactly for the expected votes',
    async (strategy) => {
      const judged = panels.filter((panel) => panel !== '');
      const apis = Object.fromEntries(
        judged.map((panel) => [
          panel,
          { class: Report, base_path: `/${panel}`, base_role: `PANEL_${panel}`, actions: { _index: null } },
        ]),
      );
      const app = await inMemory({ apis, ...(strategy && { security: { strategy } }) }, { voters });
      try {
        const passed: string[] = [];
        for (const panel of judged) {
          const { status } = await app.request('GET', `/${panel}.json`);
          expect([200, 401]).toContain(status);
          if (status === 200) passed.push(panel);
        }
        expect(passed).toEqual(granted[strategy ?? 'affirmative']);
      } finally {
        await app.close();
      }
    },
  );
});

describe('public keys', () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' };
  let app: TestApplication;

  beforeAll(async () => {
    app = await inMemory({
      apis: { report: { class: Report, base_path: '/report', base_role: 'ROLE_ADMIN', actions: { _index: null } } },
      security: { jwt: { algorithm: 'RS256', jwks: { keys: [jwk] } } },
    });
  });
  afterAll(() => app?.close());

  const ask = async (value: string) =>
    (await app.request('GET', '/report.json', { headers: { authorization: `Bearer ${value}` } })).status;

  test('accept a token of the private key', async () => {
    const { sign } = await import('node:crypto');
    const signed = `${encode({ alg: 'RS256', kid: 'one' })}.${encode(claims())}`;
    const signature = sign('sha256', Buffer.from(signed), privateKey).toString('base64url');
    expect(await ask(`${signed}.${signature}`)).toBe(200);
  });

  test('are never accepted as the secret of a symmetric token', async () => {
    const pem = publicKey.export({ format: 'pem', type: 'spki' }) as string;
    const keys = [pem, pem.trim(), publicKey.export({ format: 'der', type: 'spki' }), JSON.stringify(jwk), jwk.n as string];
    for (const key of keys) {
      for (const header of [{ alg: 'HS256' }, { alg: 'HS256', kid: 'one' }, { alg: 'RS256', kid: 'one' }]) {
        expect(await ask(token(claims(), { header, key }))).toBe(401);
      }
    }
  });

  test('reject a token of another private key', async () => {
    const { sign } = await import('node:crypto');
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
    for (const kid of ['one', 'two']) {
      const header = { alg: 'RS256', kid, jwk: createPublicKey(other.privateKey).export({ format: 'jwk' }) };
      const signed = `${encode(header)}.${encode(claims())}`;
      expect(await ask(`${signed}.${sign('sha256', Buffer.from(signed), other.privateKey).toString('base64url')}`)).toBe(401);
    }
  });
});

describe('at start', () => {
  const api = { class: Report, base_path: '/report', actions: { _index: { methods: everyMethod }, _entity: null } };
  const refusal = async (app_main: CodeOptions['app_main'], more: Partial<CodeOptions> = {}) => {
    const started = await inMemory(app_main, more).catch((error: unknown) => error);
    if (started instanceof DeclarationErrors) return started.message;
    if (started instanceof Error) return `another error: ${started.message}`;
    await (started as TestApplication).close();
    return 'it started';
  };

  test('a role without a voter is an error, for APIs and methods', async () => {
    const message = await refusal(
      {
        apis: { report: { ...api, base_role: 'REPORT_SE', actions: { _index: { roles: { GET: 'REPORT_LIST' } } } } },
      },
      { voters: [ReportVoter] },
    );
    expect(message).toMatch(/app_main\.apis\.report\.base_role: no voter judges the role "REPORT_SE"; did you mean "REPORT_SEE"/);
    expect(message).toMatch(/app_main\.apis\.report\.actions\._index\.roles\.GET: no voter judges the role "REPORT_LIST"/);
  });

  test('require_role rejects every public method, and accepts a role on each', async () => {
    const security = { require_role: true };
    const message = await refusal({
      apis: { report: { ...api, actions: { _index: { methods: everyMethod, roles: { POST: 'ROLE_A' } }, _entity: null } } },
      security,
    });
    expect(message).toMatch(/_index" is public for GET, HEAD, PUT, PATCH, DELETE/);
    expect(message).toMatch(/_entity" is public for GET, HEAD/);
    expect(await refusal({ apis: { report: { ...api, base_role: 'ROLE_A' } }, security })).toBe('it started');
    expect(await refusal({ apis: { report: api } })).toBe('it started');
  });

  test('a short secret, an unknown algorithm and an unknown strategy are errors that hide the secret', async () => {
    const message = await refusal({
      apis: { report: api },
      security: { jwt: { secret: 'only-thirty-one-characters-long', algorithm: 'none' }, strategy: 'majority' as never },
    });
    expect(message).toMatch(/secret.*32 characters or more/);
    expect(message).toMatch(/algorithm.*HS256/);
    expect(message).toMatch(/strategy.*affirmative/);
    expect(message).not.toContain('only-thirty-one');
  });

  test('a class that does not extend Voter is not a voter', async () => {
    class Imposter {
      static roles = ['REPORT_SEE'];
      vote() {
        return 'grant';
      }
    }
    const message = await refusal({ apis: { report: { ...api, base_role: 'REPORT_SEE' } } }, { voters: [Imposter as never] });
    expect(message).toMatch(/no voter judges the role "REPORT_SEE"|Imposter/);
  });
});
