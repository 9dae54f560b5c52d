// @module-tag divided
import { once } from 'node:events';
import { type IncomingMessage, request as send } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadApplication } from '../../src/application.ts';
import { ApiController, type ApiRequest, type CodeOptions, Voter } from '../../src/index.ts';
import { databases } from '../support/databases.ts';
import {
  Author,
  apis,
  Book,
  BranchController,
  counts,
  library,
  openLibrary,
  type RunningLibrary,
  Tag,
} from './fixtures/library.ts';

class WordController extends ApiController {
  newestApi(_request: ApiRequest, format: string): object {
    return { newest: format };
  }
}

class NoController {}

class UnderscoredController extends ApiController {
  _historyApi(id: number) {
    return { id };
  }
  _changesApi(_request: ApiRequest, format: string) {
    return { format };
  }
}

const get = { methods: { GET: true } } as const;

const declared: CodeOptions = {
  ...library,
  controllers: [...(library.controllers ?? []), WordController, NoController as never, UnderscoredController],
  app_main: {
    ...library.app_main,
    apis: {
      ...apis,
      plain: { class: Author, base_path: '/api/plain', actions: { _index: null, _entity: {} } },
      quiet: {
        class: Author,
        base_path: '/api/quiet',
        actions: { _index: get, _entity: { methods: { GET: true, HEAD: false, DELETE: true } } },
      },
      guarded: {
        class: Author,
        base_path: '/api/guarded',
        actions: { _index: { roles: { GET: 'ROLE_READER' } }, _entity: { roles: { GET: 'ROLE_READER' } } },
      },
      renamed: {
        class: Book,
        base_path: '/api/renamed/{branch}',
        controller: BranchController,
        actions: {
          _index: { path: 'all' },
          _entity: { path: 'card' },
          lend: { ...get, path: 'take/away' },
          newest: { ...get, path: 'fresh', 'single-collection': 'collection' },
        },
      },
      handled: {
        class: Book,
        base_path: '/api/handled/{branch}',
        controller: BranchController,
        actions: {
          _index: { controller_action: 'overviewApi' },
          _entity: { controller_action: 'portraitApi' },
          borrow: { ...get, controller_action: 'lendApi' },
        },
      },
      word: {
        class: Tag,
        base_path: '/api/words',
        controller: WordController,
        actions: {
          _entity: { requirements: { id: '[a-z0-9]+' } },
          newest: { ...get, single_collection: 'collection' },
        },
      },
      early_word: {
        class: Tag,
        base_path: '/api/early-words',
        controller: WordController,
        actions: {
          newest: { ...get, 'single-collection': 'collection' },
          _entity: { requirements: { id: '[a-z0-9]+' } },
        },
      },
      few: {
        class: Author,
        base_path: '/api/few',
        actions: { _entity: { requirements: { id: '[1-3]' } } },
      },
      underscored: {
        class: Author,
        base_path: '/api/underscored',
        controller: UnderscoredController,
        actions: { _history: get, _changes: { ...get, 'single-collection': 'collection' } },
      },
      none: { class: Author, base_path: '/api/none', actions: { _entity: { requirements: [] } } },
    },
  },
};

describe.each(databases)('a declaration, served on %s,', (kind) => {
  let app: RunningLibrary;
  beforeAll(async () => {
    app = await openLibrary(kind, declared);
  });
  afterAll(() => app?.close());

  const routeNamed = (name: string) => app.application.records.find((record) => record.name === name);

  describe('has methods', () => {
    test('GET and HEAD on both default actions by default', async () => {
      for (const path of ['/api/plain.json', '/api/plain/1.json']) {
        expect((await app.request('GET', path)).status).toBe(200);
        expect((await app.request('HEAD', path)).status).toBe(200);
        for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
          const refused = await app.request(method, path);
          expect([method, refused.status, refused.headers.get('allow')]).toEqual([method, 405, 'GET, HEAD']);
          expect(refused.json).toMatchObject({ code: 'method_not_allowed', status: 405 });
        }
      }
    });

    test('only if they are set to true', async () => {
      const refused = await app.request('HEAD', '/api/quiet.json');
      expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET']);
      const single = await app.request('HEAD', '/api/quiet/1.json');
      expect([single.status, single.headers.get('allow')]).toEqual([405, 'GET, DELETE']);
      expect((await app.request('GET', '/api/quiet.json')).status).toBe(200);
      expect((await app.request('GET', '/api/quiet/1.json')).status).toBe(200);
    });

    test('and ignores the body if the method is not enabled', async () => {
      const refused = await app.request('PUT', '/api/plain.json', { body: '{"broken', headers: { 'content-type': 'text/csv' } });
      expect(refused.status).toBe(405);
    });

    test('with HEAD, which responds like GET, without the body', async () => {
      for (const path of ['/api/plain.json', '/api/plain/1.json']) {
        const whole = await app.request('GET', path);
        const head = await app.request('HEAD', path);
        expect(head.text).toBe('');
        for (const name of ['content-type', 'content-length']) expect(head.headers.get(name)).toBe(whole.headers.get(name));
      }
      expect((await app.request('HEAD', '/api/plain/999.json')).status).toBe(404);
      expect((await app.request('HEAD', '/api/plain.json?page=0')).status).toBe(400);
    });

    test('whose HEAD requires the role of GET', async () => {
      for (const path of ['/api/guarded.json', '/api/guarded/1.json']) {
        for (const method of ['GET', 'HEAD']) {
          expect((await app.request(method, path)).status).toBe(401);
          expect((await app.request(method, path, { as: { id: 1 } })).status).toBe(403);
          expect((await app.request(method, path, { as: { id: 1, roles: ['ROLE_READER'] } })).status).toBe(200);
        }
      }
    });
  });

  describe('creates routes', () => {
    test('named after the API and the action', () => {
      const named = (name: string) => {
        const route = routeNamed(name);
        return route && [route.path, route.methods.join(' ')];
      };
      expect(named('app_api_single_plain__index')).toEqual(['/api/plain.{_format}', 'GET HEAD']);
      expect(named('app_api_single_plain__entity')).toEqual(['/api/plain/{id}.{_format}', 'GET HEAD']);
      expect(named('app_api_single_branch_lend')).toEqual(['/api/branches/{branch}/books/{id}/lend.{_format}', 'GET POST']);
      expect(named('app_api_single_branch_newest')).toEqual(['/api/branches/{branch}/books/newest.{_format}', 'GET']);
    });

    test('for custom actions whose names begin with an underscore', async () => {
      const named = (name: string) => routeNamed(name)?.path;
      expect(named('app_api_single_underscored__history')).toBe('/api/underscored/{id}/_history.{_format}');
      expect(named('app_api_single_underscored__changes')).toBe('/api/underscored/_changes.{_format}');
      expect((await app.request('GET', '/api/underscored/1/_history.json')).json).toEqual({ id: 1 });
      expect((await app.request('GET', '/api/underscored/_changes.json')).json).toEqual({ format: 'json' });
      const { paths } = (await app.request('GET', '/openapi.json')).json;
      expect(paths['/api/underscored/{id}/_history.json'].get.operationId).toBe('historyUnderscored');
    });

    test('for custom actions, with the id unless they are declared as collection', async () => {
      expect((await app.request('GET', '/api/branches/north/books/2/lend.json')).json).toEqual({
        lent: 2,
        branch: 'north',
        format: 'json',
      });
      expect((await app.request('GET', '/api/branches/north/books/lend.json')).status).toBe(404);
      expect((await app.request('GET', '/api/branches/north/books/newest.json?any=1')).json).toEqual({
        newest: true,
        query: { any: '1' },
        format: 'json',
      });
      expect((await app.request('GET', '/api/branches/north/books/2/newest.json')).status).toBe(404);
    });

    test('at the path of the action if it sets one', async () => {
      expect((await app.request('GET', '/api/renamed/north/all.json')).json.count).toBe(40);
      expect((await app.request('GET', '/api/renamed/north.json')).status).toBe(404);
      expect((await app.request('GET', '/api/renamed/north/2/card.json')).json.id).toBe(2);
      expect((await app.request('GET', '/api/renamed/north/2.json')).status).toBe(404);
      expect((await app.request('GET', '/api/renamed/north/2/take/away.json')).json.lent).toBe(2);
      expect((await app.request('GET', '/api/renamed/north/2/lend.json')).status).toBe(404);
      expect((await app.request('GET', '/api/renamed/north/fresh.json')).json.newest).toBe(true);
      expect((await app.request('GET', '/api/renamed/north/newest.json')).status).toBe(404);
      expect((await app.request('PUT', '/api/renamed/north/all.json')).headers.get('allow')).toBe('GET, HEAD');
    });

    test('handled by the controller method that the action names', async () => {
      expect((await app.request('GET', '/api/handled/north.json')).json).toEqual({ overview: 'GET', format: 'json' });
      expect((await app.request('GET', '/api/handled/north/2.json')).json).toEqual({ portrait: 2, format: 'json' });
      expect((await app.request('GET', '/api/handled/north/2/borrow.json')).json.lent).toBe(2);
      expect((await app.request('GET', '/api/handled/north/1.json')).status, 'a book of another branch').toBe(404);
    });

    test('that match static before dynamic paths, in any order of declaration', async () => {
      for (const base of ['/api/words', '/api/early-words']) {
        expect((await app.request('GET', `${base}/newest.json`)).json).toEqual({ newest: 'json' });
        expect((await app.request('GET', `${base}/t1.json`)).json.code).toBe('t1');
        expect((await app.request('HEAD', `${base}/newest.json`)).status, 'the route with the id has HEAD').toBe(404);
      }
    });

    test('with the placeholders of the base path in request.params', async () => {
      expect((await app.request('GET', '/api/branches/south/books.json?items_per_page=1')).json.count).toBe(20);
      expect((await app.request('GET', '/api/branches/north/books.json?items_per_page=1')).json.count).toBe(40);
      expect((await app.request('GET', '/api/branches/nowhere/books.json')).json).toMatchObject({ count: 0, results: [] });
      expect((await app.request('GET', '/api/branches/%27%20or%201=1/books/newest.json')).status).toBe(200);
    });

    test('whose placeholders match their requirements', async () => {
      expect((await app.request('GET', '/api/branches/North/books.json')).status, 'only lower case letters').toBe(404);
      expect((await app.request('GET', '/api/few/3.json')).json.id).toBe(3);
      expect((await app.request('GET', '/api/few/4.json')).json.code).toBe('not_found');
      expect((await app.request('GET', '/api/few/13.json')).json.code, 'as a whole').toBe('not_found');
      expect((await app.request('GET', '/api/none/3.json')).json.id).toBe(3);
      expect((await app.request('GET', '/api/none/x.json')).json.code, 'digits').toBe('not_found');
      expect(routeNamed('app_api_single_none__entity')?.requirements).toEqual({ id: '\\d+' });
    });

    test('and returns 404 for unknown paths', async () => {
      for (const path of ['/api', '/api/unknown.json', '/api/books/1/unknown.json', '/api/books/x.json', '/api/booksy.json']) {
        for (const method of ['GET', 'POST', 'DELETE']) {
          const missing = await app.request(method, path);
          expect([method, path, missing.status, missing.json.code]).toEqual([method, path, 404, 'not_found']);
        }
      }
    });

    test('with a format, and returns 404 with the known formats for an unknown one', async () => {
      for (const [path, format] of [
        ['/api/books.xml', 'xml'],
        ['/api/books/1.html', 'html'],
        ['/api/branches/north/books/2/lend.yaml', 'yaml'],
        ['/api/books', ''],
        ['/api/books/1', ''],
        ['/api/books.JSON', 'JSON'],
      ]) {
        const missing = await app.request('GET', path as string);
        expect([path, missing.status, missing.json.code]).toEqual([path, 404, 'unknown_format']);
        const given = format === '' ? 'no format' : `an unknown format "${format}"`;
        expect(missing.json.detail).toBe(`the path has ${given}; end it in one of: .json`);
      }
    });
  });

  describe('validates ids against the column type', () => {
    const uuid = '6f1c8c9e-0f4b-4a3e-9d2b-7d8e5a1c2b3f';
    const everything = async () => {
      const rows = await app.rows(
        'select (select count(*) from book) b, (select count(*) from loan) l, (select count(*) from tag) t, (select count(*) from card) c',
      );
      return Object.values(rows[0] ?? {}).map(Number);
    };

    test.each([
      ['more digits than any column', '/api/books/10000000000000000001.json'],
      ['beyond the column', '/api/books/2147483648.json'],
      ['1 modulo 2^32', '/api/books/4294967297.json'],
      ['what a number would round', '/api/books/9007199254740993.json'],
      ['a negative one', '/api/books/-1.json'],
      ['leading zeros', '/api/books/007.json'],
      ['a fraction', '/api/books/1.0.json'],
      ['an exponent', '/api/books/1e0.json'],
      ['a digit of another script', '/api/books/%D9%A1.json'],
      ['a space', '/api/books/1%20.json'],
      ['a NUL', '/api/books/1%00.json'],
      ['beyond 64 bits', '/api/loans/9223372036854775808.json'],
      ['1 modulo 2^64', '/api/loans/18446744073709551617.json'],
      ['a big one with leading zeros', '/api/loans/01.json'],
      ['a string too long for the column', '/api/tags/t0-and-too-long.json'],
      ['a string too long for any column', `/api/tags/${'t'.repeat(5000)}.json`],
      ['a string with a NUL', '/api/tags/t0%00.json'],
      ['only a NUL', '/api/tags/%00.json'],
      ['another case', '/api/tags/T0.json'],
      ['a space behind', '/api/tags/t0%20.json'],
      ['no UUID', '/api/cards/garbage.json'],
      ['a UUID without dashes', `/api/cards/${uuid.replaceAll('-', '')}.json`],
      ['a UUID in braces', `/api/cards/%7B${uuid}%7D.json`],
      ['a UUID and more', `/api/cards/${uuid}0.json`],
      ['a UUID with a NUL', `/api/cards/${uuid}%00.json`],
      ['half a surrogate pair', '/api/tags/%ED%A0%80.json'],
      ['the other half', '/api/tags/%ED%B0%80.json'],
      ['half a surrogate pair for a number', '/api/books/%ED%A0%80.json'],
    ])('%s returns 404 and matches no other row', async (_, path) => {
      const before = await everything();
      expect(before).toEqual([counts.books + counts.withdrawn, counts.loans, counts.tags, 1]);
      for (const method of ['GET', 'HEAD', 'DELETE'])
        expect([method, (await app.request(method, path)).status]).toEqual([method, 404]);
      for (const method of ['PATCH', 'PUT']) {
        const refused = await app.request(method, path, { json: {} });
        expect([method, refused.status, refused.headers.get('content-type')]).toEqual([
          method,
          404,
          'application/problem+json; charset=utf-8',
        ]);
      }
      expect(await everything()).toEqual(before);
    });

    test('and finds a row by its exact id', async () => {
      expect((await app.request('GET', '/api/books/1.json')).json.id).toBe(1);
      expect((await app.request('GET', '/api/tags/t0.json')).json.code).toBe('t0');
      expect((await app.request('GET', `/api/cards/${uuid}.json`)).json.holder).toBe('Ada');
      expect((await app.request('GET', '/api/loans/1.json')).json.member).toBe('Member 0');
    });
  });
});

const six = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

class EchoController extends ApiController {
  echoApi(_id: number, { method }: ApiRequest): object {
    return { method };
  }
  allApi({ method }: ApiRequest, format: string): object {
    return { method, format };
  }
}

const nothing = { roles: { GET: null }, controller_action: null, path: null } as const;

const echoes: CodeOptions = {
  ...library,
  controllers: [EchoController],
  app_main: {
    ...library.app_main,
    apis: {
      ...Object.fromEntries(
        six.map((only) => {
          const methods = Object.fromEntries(six.map((method) => [method, method === only]));
          const actions = {
            _index: { methods },
            _entity: { methods },
            echo: { methods },
            all: { methods, 'single-collection': 'collection' as const },
          };
          return [only, { class: Author, base_path: `/api/${only.toLowerCase()}`, controller: EchoController, actions }];
        }),
      ),
      defaults: {
        class: Author,
        base_path: '/api/defaults',
        controller: EchoController,
        base_role: null,
        actions: {
          _index: { ...nothing, requirements: {}, 'single-collection': 'collection' },
          _entity: { ...nothing, requirements: {}, 'single-collection': 'single' },
          echo: { ...nothing, ...get, requirements: {}, 'single-collection': 'single' },
          all: { ...nothing, ...get, requirements: [], 'single-collection': 'collection' },
        },
      },
      listed: { class: Author, base_path: '/api/listed', controller: EchoController, actions: { _index: null } },
      moved: {
        class: Author,
        base_path: '/api/moved',
        controller: EchoController,
        actions: { echo: { ...get, path: 'said' } },
      },
    },
  },
};

describe.each(databases)('an action, served on %s,', (kind) => {
  let app: RunningLibrary;
  beforeAll(async () => {
    app = await openLibrary(kind, echoes);
  });
  afterAll(() => app?.close());

  const routesOf = (api: string) => app.application.records.filter((record) => record.api?.name === api);

  test.each(six)('has only %s if only that method is true and the others are false', async (only) => {
    expect(routesOf(only).map(({ methods }) => methods)).toEqual(Array(4).fill([only]));
    for (const rest of ['', only === 'DELETE' ? '/7' : '/6', '/6/echo', '/all']) {
      for (const method of six) {
        const json = method === 'GET' || method === 'HEAD' ? undefined : {};
        const { status, headers } = await app.request(method, `/api/${only.toLowerCase()}${rest}.json`, { json });
        if (method !== only) expect([rest, method, status, headers.get('allow')]).toEqual([rest, method, 405, only]);
        else expect([404, 405]).not.toContain(status);
      }
    }
    const answers = ['6/echo', 'all'].map((rest) => app.request(only, `/api/${only.toLowerCase()}/${rest}.json`));
    for (const { status, json } of await Promise.all(answers)) {
      expect(status).toBe(200);
      if (only !== 'HEAD') expect(json.method).toBe(only);
    }
  });

  test('has its defaults if its fields are null or empty', async () => {
    expect(
      routesOf('defaults').map(({ path, handler, requirements, roles }) => ({ path, handler, requirements, roles })),
    ).toEqual([
      { path: '/api/defaults.{_format}', handler: 'indexApi', requirements: {}, roles: { GET: [], HEAD: [] } },
      { path: '/api/defaults/{id}.{_format}', handler: 'entityApi', requirements: { id: '\\d+' }, roles: { GET: [], HEAD: [] } },
      { path: '/api/defaults/{id}/echo.{_format}', handler: 'echoApi', requirements: { id: '\\d+' }, roles: { GET: [] } },
      { path: '/api/defaults/all.{_format}', handler: 'allApi', requirements: {}, roles: { GET: [] } },
    ]);
    expect((await app.request('GET', '/api/defaults.json')).json.count).toBeGreaterThan(0);
    expect((await app.request('GET', '/api/defaults/1.json')).json.id).toBe(1);
    expect((await app.request('GET', '/api/defaults/1/echo.json')).json).toEqual({ method: 'GET' });
    expect((await app.request('GET', '/api/defaults/x/echo.json')).json.code).toBe('not_found');
    expect((await app.request('GET', '/api/defaults/all.json')).json).toEqual({ method: 'GET', format: 'json' });
  });

  test('has a route below the base path only if it is declared', async () => {
    expect(routesOf('listed').map(({ path }) => path)).toEqual(['/api/listed.{_format}']);
    expect((await app.request('GET', '/api/listed.json')).status).toBe(200);
    for (const path of ['/api/listed/1.json', '/api/listed/1/echo.json', '/api/listed/all.json']) {
      expect([path, (await app.request('GET', path)).json.code]).toEqual([path, 'not_found']);
    }
    for (const { api, path } of app.application.records) expect(path.startsWith(`${api?.basePath}`)).toBe(true);
  });

  test('has its own name in the route name, independent of its path', async () => {
    expect(routesOf('moved').map(({ name, path }) => [name, path])).toEqual([
      ['app_api_single_moved_echo', '/api/moved/{id}/said.{_format}'],
    ]);
  });

  /** The status of a request that `fetch` would not send. */
  async function statusOf(options: { method?: string; path: string; headers: Record<string, string | number> }, body = '') {
    const sent = send({ ...options, port: new URL(app.url).port }).end(body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  }

  test.each(['127.0.0.1', 'localhost:1', 'other.example', '[::1]:8080', 'xn--bcher-kva.example'])(
    'responds for any host and scheme: %s',
    async (host) => {
      for (const target of ['', `http://${host}`, `https://${host}`]) {
        const path = `${target}/api/defaults/1.json`;
        expect([target, await statusOf({ path, headers: { host, 'x-forwarded-proto': 'https' } })]).toEqual([target, 200]);
      }
    },
  );

  test.each(['GET', 'HEAD'])('ignores the payload of %s', async (method) => {
    for (const path of ['/api/defaults.json', '/api/defaults/1.json']) {
      for (const body of ['', '{"id":2}', '{"broken']) {
        const headers = { 'content-type': 'application/json', 'content-length': body.length };
        expect([path, body, await statusOf({ method, path, headers }, body)]).toEqual([path, body, 200]);
      }
    }
  });
});

describe('the APIs', () => {
  const author = { class: Author, actions: { _index: null } };

  test('can be declared as a mapping or a list, with the same result', async () => {
    const routes = async (declarations: CodeOptions['app_main']['apis']) =>
      (await load(declarations)).records.map(({ name, path, methods }) => [name, path, methods]);
    expect(await routes([{ ...author, name: 'writer', base_path: '/w' }])).toEqual(
      await routes({ writer: { ...author, base_path: '/w' } }),
    );
    expect(await routes({ anything: { ...author, name: 'writer', base_path: '/w' } })).toEqual([
      ['app_api_single_writer__index', '/w.{_format}', ['GET', 'HEAD']],
    ]);
  });

  test.each<[string, unknown, RegExp]>([
    ['a list without a name', [{ ...author, base_path: '/w' }], /"name" is missing: every API in a list needs one/],
    [
      'two of one name',
      { one: { ...author, name: 'same', base_path: '/a' }, two: { ...author, name: 'same', base_path: '/b' } },
      /the name "same" is already used/,
    ],
    [
      'two routes of one name',
      {
        one: {
          ...author,
          name: 'one',
          base_path: '/a',
          controller: WordController,
          actions: { a_newest: { ...get, controller_action: 'newestApi' } },
        },
        two: { ...author, name: 'one_a', base_path: '/b', controller: WordController, actions: { newest: get } },
      },
      /app_api_single_one_a_newest/,
    ],
    [
      'two routes for one path and method',
      { one: { ...author, base_path: '/same' }, two: { ...author, base_path: '/same' } },
      /GET, HEAD \/same\.\{_format\} of the route "app_api_single_two__index" is already handled by the route "app_api_single_one__index"/,
    ],
    [
      'an action with no method',
      { one: { ...author, base_path: '/a', actions: { _index: { methods: { GET: false } } } } },
      /no method is enabled/,
    ],
    [
      'a custom action with no method',
      { one: { ...author, base_path: '/a', controller: WordController, actions: { newest: {} } } },
      /no method is enabled/,
    ],
    ['an unknown key', { one: { ...author, base_path: '/a', base_rolle: 'X' } }, /base_rolle/],
    ['an unknown method', { one: { ...author, base_path: '/a', actions: { _index: { methods: { FETCH: true } } } } }, /FETCH/],
    [
      'another value of single-collection',
      { one: { ...author, base_path: '/a', actions: { _entity: { 'single-collection': 'both' } } } },
      /single.*collection/,
    ],
    [
      'a requirement that is no expression',
      { one: { ...author, base_path: '/a', actions: { _entity: { requirements: { id: '(' } } } } },
      /requirement of "id" is not a regular expression/,
    ],
    [
      'a requirement that backtracks without end',
      { one: { ...author, base_path: '/a', actions: { _entity: { requirements: { id: '(a+)+' } } } } },
      /backtrack|ambiguous|more than one way/i,
    ],
    [
      'a requirement for what is not in the path',
      { one: { ...author, base_path: '/a/{tenant}', actions: { _index: { requirements: { tenat: 'x' } } } } },
      /no placeholder "tenat"; did you mean "tenant"\?/,
    ],
    [
      'a controller that is none',
      { one: { ...author, base_path: '/a', controller: NoController } },
      /NoController.*ApiController/,
    ],
    [
      'a custom action whose method does not exist',
      { one: { ...author, base_path: '/a', controller: WordController, actions: { oldest: get } } },
      /oldestApi/,
    ],
    ['a custom action without a controller', { one: { ...author, base_path: '/a', actions: { oldest: get } } }, /oldestApi/],
    [
      'a controller_action that does not exist',
      { one: { ...author, base_path: '/a', controller: WordController, actions: { _index: { controller_action: 'listApi' } } } },
      /listApi/,
    ],
    ['a role that no voter judges', { one: { ...author, base_path: '/a', base_role: 'AUTHOR_SEE' } }, /AUTHOR_SEE/],
    [
      'a role of a method that no voter judges',
      { one: { ...author, base_path: '/a', actions: { _index: { roles: { GET: 'AUTHOR_SEE' } } } } },
      /AUTHOR_SEE/,
    ],
    ['an unknown class', { one: { ...author, class: 'Autor', base_path: '/a' } }, /Autor.*Author/s],
    [
      'a sort by what is no column',
      { one: { ...author, base_path: '/a', default_sort: ['nam'] } },
      /no column for "nam"; did you mean "name"\?/,
    ],
  ])('are rejected at start with %s', async (_, declarations, message) => {
    await expect(load(declarations)).rejects.toThrow(message);
  });

  test('report all their errors at once', async () => {
    const wrong = {
      one: { ...author, base_path: 'a', base_role: 'NOBODY' },
      two: { ...author, class: 'Nothing', base_path: '/b' },
    };
    const error: Error = await load(wrong).then(
      () => new Error('it was accepted'),
      (thrown: Error) => thrown,
    );
    expect(error.message).toMatch(/base_path/);
    expect(error.message).toMatch(/Nothing/);
  });

  test('can have a role that a voter of the application decides', async () => {
    class AuthorVoter extends Voter {
      static override roles = ['AUTHOR_SEE'];
      override vote() {
        return 'grant' as const;
      }
    }
    const { records } = await load({ one: { ...author, base_path: '/a', base_role: 'AUTHOR_SEE' } }, [AuthorVoter]);
    expect(records[0]?.roles).toEqual({ GET: ['AUTHOR_SEE'], HEAD: ['AUTHOR_SEE'] });
  });
});

function load(declarations: unknown, voters: readonly unknown[] = []) {
  return loadApplication({
    ...declared,
    voters: voters as never,
    app_main: { apis: declarations as NonNullable<CodeOptions['app_main']['apis']> },
    databaseUrl: 'sqlite::memory:',
  });
}
