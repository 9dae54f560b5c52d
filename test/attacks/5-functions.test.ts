// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { beforeEach, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, Voter } from '../../src/index.ts';
import { databases } from '../support/databases.ts';
import { example, useTarget } from './support/target.ts';
import { ann, marker, vault } from './support/vault.ts';

const Lever = defineEntity({
  name: 'Lever',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    level: p.integer().default(0).groups('read'),
  },
});

/** Answers that are no vote, and what each makes of a request. */
const answers: Record<string, () => unknown> = {
  THROWS: () => {
    throw new Error('secret of the voter');
  },
  THROWS_NOTHING: () => {
    throw undefined;
  },
  THROWS_GRANT: () => {
    throw 'grant';
  },
  REJECTS: () => Promise.reject(new Error('secret of the voter')),
  REJECTS_GRANT: () => Promise.reject('grant'),
  REJECTS_LATE: async () => {
    await new Promise((resolve) => setImmediate(resolve));
    throw new Error('secret of the voter');
  },
  TRUE: () => true,
  ONE: () => 1,
  NOTHING: () => undefined,
  NULL: () => null,
  OBJECT: () => ({ vote: 'grant' }),
  TO_STRING: () => ({ toString: () => 'grant' }),
  BOXED: () => new String('grant'),
  LIST: () => ['grant'],
  UPPER: () => 'GRANT',
  GRANTED: () => 'granted',
  BLANK: () => 'grant ',
  LOOK_ALIKE: () => 'gr\u0430nt',
  PROMISE_OF_TRUE: () => Promise.resolve(true),
  PROMISE_OF_NOTHING: () => Promise.resolve(),
  PROMISE_OF_PROMISE: async () => async () => 'grant',
  FUNCTION: () => () => 'grant',
  SYMBOL: () => Symbol('grant'),
};

class Wrong extends Voter {
  static override roles = Object.keys(answers);
  override vote(role: string): never {
    return answers[role]?.() as never;
  }
}

/** Judges by the row: what one row grants another one denies. */
class ByRow extends Voter<{ level: number }> {
  static override roles = ['ROW', 'ROW_LATE'];
  override vote(role: string, subject: { level: number } | null, user: { id: unknown } | null) {
    const vote = subject === null || Number(user?.id) >= subject.level ? ('grant' as const) : ('deny' as const);
    return role === 'ROW' ? vote : Promise.resolve(vote);
  }
}

class LeverController extends ApiController {
  pullApi(id: number, request: ApiRequest) {
    return this.getEntity('pull', id, request);
  }
  allApi() {
    return { pulled: true };
  }
}

const everything = {
  _index: { methods: { GET: true, HEAD: true, POST: true } },
  _entity: { methods: { GET: true, HEAD: true, PUT: true, PATCH: true, DELETE: true } },
  pull: { methods: { GET: true, HEAD: true, POST: true } },
  all: { single_collection: 'collection', methods: { GET: true, POST: true } },
} as const;

const lever = (base_path: string, base_role: string | null, actions: unknown = everything) => ({
  class: Lever,
  controller: LeverController,
  base_path,
  base_role,
  actions,
});

const levers = (strategy: string) => ({
  app_main: {
    security: {
      jwt: { secret: 'a secret of the levers that is long enough' },
      strategy,
      role_hierarchy: { ROLE_BOSS: ['ROLE_HAND'] },
    },
    apis: {
      ...Object.fromEntries(Object.keys(answers).map((role) => [role.toLowerCase(), lever(`/${role.toLowerCase()}`, role)])),
      row: lever('/row', 'ROW'),
      late: lever('/late', 'ROW_LATE'),
      both: lever('/both', 'ROW', {
        _entity: { methods: { GET: true, HEAD: true, PATCH: true }, roles: { PATCH: 'ROLE_BOSS', GET: 'ROLE_HAND' } },
      }),
      mixed: lever('/mixed', 'ROLE_HAND', { _entity: { methods: { GET: true }, roles: { GET: 'NULL' } } }),
    },
  } as never,
  models: [Lever],
  controllers: [LeverController],
  voters: [Wrong, ByRow],
  seed: async (em: any) => {
    for (const level of [0, 5, 9]) {
      em.create(Lever, { name: `lever ${level}`, level });
      await em.flush();
    }
  },
});

const user = { id: 5, roles: ['ROLE_HAND'] };

describe.each(databases)('API5:2023 broken function level authorization, on %s', (kind) => {
  describe.each(['affirmative', 'priority'])(
    'voters without a valid vote, with the strategy %s (CWE-636: not failing securely)',
    (strategy) => {
      const target = useTarget(kind, levers(strategy));

      test.each(Object.keys(answers))('%s never grants access', async (role) => {
        const before = await target.rows('select * from lever order by id');
        for (const [method, path, json] of [
          ['GET', ''],
          ['HEAD', ''],
          ['POST', '', { name: 'made' }],
          ['GET', '/1'],
          ['PATCH', '/1', { name: 'changed' }],
          ['PUT', '/1', { name: 'changed' }],
          ['DELETE', '/1'],
          ['POST', '/1/pull', {}],
          ['GET', '/all'],
        ] as [string, string, unknown?][]) {
          const answer = await target.send(method, `/${role.toLowerCase()}${path}.json`, {
            as: user,
            isFault: true,
            ...(json !== undefined && { json }),
          });
          expect(answer.whole).not.toMatch(/secret of the voter|Wrong|lever \d/);
        }
        expect(await target.rows('select * from lever order by id')).toEqual(before);
      });
    },
  );

  describe('decisions are made for each row and each caller (API Platform CVE-2025-31485)', () => {
    const target = useTarget(kind, levers('affirmative'));

    test.each(['row', 'late'])('for sequential and concurrent requests, by %s', async (api) => {
      const ask = async (id: number, level: number) => {
        const { status } = await target.send('GET', `/${api}/${id}.json`, { as: { id: level, roles: [] } });
        return [id, level, status];
      };
      const questions = Array.from(
        { length: 60 },
        (_, index) => [1 + (index % 3), [0, 5, 9][Math.floor(index / 3) % 3] as number] as const,
      );
      const needed = [0, 5, 9];
      const expected = questions.map(([id, level]) => [id, level, level >= (needed[id - 1] as number) ? 200 : 403]);
      expect(await Promise.all(questions.map(([id, level]) => ask(id, level)))).toEqual(expected);
      const inTurn = [];
      for (const [id, level] of questions.slice(0, 9)) inTurn.push(await ask(id, level));
      expect(inTurn).toEqual(expected.slice(0, 9));
    });

    test('a revoked right is lost immediately', async () => {
      const ask = async () => (await target.send('GET', '/row/2.json', { as: user })).status;
      expect(await ask()).toBe(200);
      await target.rows('update lever set level = 8 where id = 2');
      expect(await ask()).toBe(403);
      await target.rows('update lever set level = 5 where id = 2');
      expect(await ask()).toBe(200);
    });

    test('all roles are required, and HEAD requires the same roles as GET (Symfony CVE-2026-45075)', async () => {
      const status = async (method: string, roles: string[], path = '/both/1.json') =>
        (await target.send(method, path, { as: { id: 9, roles }, ...(method === 'PATCH' && { json: { name: 'lever 0' } }) }))
          .status;
      expect([await status('GET', []), await status('HEAD', []), await status('PATCH', ['ROLE_HAND'])]).toEqual([403, 403, 403]);
      expect([await status('GET', ['ROLE_HAND']), await status('HEAD', ['ROLE_HAND'])]).toEqual([200, 200]);
      expect(await status('PATCH', ['ROLE_BOSS'])).toBe(200);
      // the second role of two is judged too
      expect((await target.send('GET', '/mixed/1.json', { as: user, isFault: true })).status).toBe(500);
      expect((await target.send('GET', '/mixed/1.json', { as: { id: 1, roles: [] } })).status).toBe(403);
    });
  });

  describe('only the request line sets the method (Symfony CVE-2019-10913)', () => {
    const target = useTarget(kind, vault);
    beforeEach(() => {
      target.app.statements.length = 0;
    });

    test.each([
      'X-HTTP-Method-Override',
      'X-HTTP-Method',
      'X-Method-Override',
      '_method',
      'X-Original-Method',
      'X-Forwarded-Method',
    ])('the header %s does not override it', async (name) => {
      for (const method of ['DELETE', 'PATCH', 'PUT']) {
        const answer = await target.send('GET', '/page/1.json', { as: ann, headers: { [name]: method } });
        expect(answer.status).toBe(200);
        const posted = await target.send('POST', '/page/1.json', {
          as: ann,
          headers: { [name]: method },
          json: { title: 'stolen' },
        });
        expect(posted.status).toBe(405);
      }
      expect(await target.rows('select title from page where id = 1')).toEqual([{ title: 'ann 1' }]);
    });

    test.each(['_method=DELETE', '_method=delete', 'method=DELETE', 'x-http-method-override=DELETE', '_METHOD=PUT'])(
      'the query %s is rejected',
      async (query) => {
        expect((await target.send('GET', `/page/1.json?${query}`, { as: ann })).status).toBe(400);
        expect((await target.send('POST', `/page.json?${query}`, { as: ann, json: { title: 'x' } })).status).toBe(400);
      },
    );

    test('the field _method in a body is rejected', async () => {
      const answer = await target.send('POST', '/page.json', { as: ann, json: { _method: 'DELETE', title: 'x' } });
      expect([answer.status, answer.json.code]).toEqual([400, 'unknown_field']);
    });

    test.each(['X-Original-URL', 'X-Rewrite-URL', 'X-Forwarded-Uri', 'X-Forwarded-Path', 'X-Forwarded-Prefix', 'Forwarded'])(
      'the header %s does not override the path (Symfony CVE-2018-14773)',
      async (name) => {
        const { json } = await target.send('GET', '/page/1.json', { as: ann, headers: { [name]: '/archive/2.json' } });
        expect(json.title).toBe('ann 1');
      },
    );

    test.each(['OPTIONS', 'TRACE', 'PROPFIND', 'PURGE', 'LOCK', 'SEARCH', 'QUERY', 'REPORT', 'LINK', 'MKCOL'])(
      '%s returns 405 without sending a statement (VU#867593: TRACE)',
      async (method) => {
        const answer = await target.raw(
          `${method} /page/1.json HTTP/1.1\r\nHost: a\r\nCookie: session=42\r\nAuthorization: Bearer ${await target.app.tokenFor(ann)}\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`,
        );
        expect(answer[0]?.status).toBe(405);
        expect(answer[0]?.headers.allow).toBe('GET, HEAD, PUT, PATCH, DELETE');
        expect(answer[0]?.whole).not.toMatch(/session=42|Bearer/);
        expect(target.app.statements).toEqual([]);
      },
    );

    test('CONNECT does not open a tunnel (CWE-441)', async () => {
      const answers = await target.raw('CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1:22\r\n\r\n');
      expect(answers.filter(({ status }) => status < 400)).toEqual([]);
    });

    test.each(['get', 'Get', 'GETS', 'G\tET', 'GET\0', 'DELETE/GET'])(
      'the invalid method %j returns 400 (CVE-2019-10913)',
      async (method) => {
        const [answer] = await target.raw(`${method} /page/1.json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
        expect(answer?.status).toBe(400);
      },
    );

    test.each([['/archive.json'], ['/archive/1.json'], ['/archive/2.json']])(
      '%s is reserved for the administrator with every method',
      async (path) => {
        for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']) {
          const json = ['POST', 'PUT', 'PATCH'].includes(method) ? { title: 'x' } : undefined;
          const answer = await target.send(method, path, { as: ann, ...(json && { json }) });
          expect([403, 405]).toContain(answer.status);
          expect(answer.whole).not.toContain(marker);
          expect([401, 405]).toContain((await target.send(method, path, { ...(json && { json }) })).status);
        }
      },
    );
  });
});

describe.each(databases)('API5:2023 broken function level authorization, in the example on %s', (kind) => {
  const target = useTarget(kind, example);
  const clerk = { id: 3, roles: ['ROLE_USER'], centers: [1] };

  test.each([
    ['DELETE', '/api/person/1.json', undefined],
    ['GET', '/api/user.json', undefined],
    ['HEAD', '/api/user.json', undefined],
    ['GET', '/api/user/1.json', undefined],
    ['PATCH', '/api/user/1.json', { name: 'Eve' }],
    ['PATCH', '/api/course/1.json', { title: 'Eve' }],
    ['POST', '/api/course/1/close.json', {}],
    ['POST', '/api/course/1/tags.json', { id: 'health' }],
    ['POST', '/api/course/1/participation.json', { id: 1 }],
  ])('%s %s is denied to a clerk and to an anonymous caller (CVE-2026-45075)', async (method, path, json) => {
    expect((await target.send(method, path, { as: clerk, ...(json && { json }) })).status).toBe(403);
    // what `customizeQuery` hides from whoever is not signed in is not there
    expect([401, 404]).toContain((await target.send(method, path, { ...(json && { json }) })).status);
  });

  test('a custom claim does not make the caller a supervisor (CVE-2017-12635)', async () => {
    for (const more of [{ role: 'ROLE_ADMIN' }, { admin: true }, { Roles: ['ROLE_ADMIN'] }, { user: { roles: ['ROLE_ADMIN'] } }])
      expect((await target.send('GET', '/api/user.json', { as: { ...clerk, ...more } })).status).toBe(403);
  });
});
