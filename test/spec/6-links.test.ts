// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, type ModelQuery } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { casesOn } from '../support/random.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Team = defineEntity({
  name: 'Team',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read'), secret: p.string() },
});

const Player = defineEntity({
  name: 'Player',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read'),
    rank: p.integer().nullable().groups('read'),
    salary: p.integer(),
    born: p.date().groups('read'),
    joined: p.datetime(6).groups('read'),
    score: p.decimal().precision(10).scale(2).groups('read'),
    ratio: p.float().groups('read'),
    active: p.boolean().groups('read'),
    code: p.uuid().groups('read'),
    note: p.text().groups('read'),
    level: p.enum(['low', 'high']).groups('read'),
    big: p.bigint().groups('read'),
    team: () => p.manyToOne(Team).groups('read'),
  },
});

const Masked = defineEntity({
  name: 'Masked',
  properties: {
    id: p.integer().primary().groups('read'),
    masked: p
      .string()
      .serializer(() => '***')
      .groups('read'),
  },
});

const Hidden = defineEntity({
  name: 'Hidden',
  properties: { id: p.integer().primary(), name: p.string().groups('read') },
});

class OrderedController extends ApiController {
  override customizeQuery(_action: string, { query: parameters }: ApiRequest, query: ModelQuery<object>): void {
    query.andWhere({ rank: { $ne: null } } as never);
    if ('page' in (parameters as object)) query.orderBy({ name: 'desc' } as never);
  }
}

class RestrictedController extends ApiController {
  override customizeQuery(_action: string, _request: ApiRequest, query: ModelQuery<object>): void {
    query.andWhere({ id: { $gt: 4 } } as never);
  }
}

class JoiningController extends ApiController {
  override customizeQuery(_action: string, _request: ApiRequest, query: ModelQuery<object>): void {
    query.andWhere({ team: { name: 'blue' } } as never);
  }
}

class MaskingController extends ApiController {
  override beforeSerialize(_action: string, _request: ApiRequest, value: unknown): void {
    for (const item of (value as { results: { name: string }[] }).results) item.name = 'hidden';
  }
}

class FetchedController extends ApiController {
  override afterFetch(): void {}
}

class SearchController extends ApiController {
  searchApi(request: ApiRequest): unknown {
    return this.paginate('search', request, this.em.createQueryBuilder(Player, 'p'));
  }
}

const columns = ['rank', 'born', 'joined', 'score', 'ratio', 'active', 'code', 'note', 'level', 'big'];

const list = (base_path: string, more: object = {}) => ({ class: Player, base_path, actions: { _index: null }, ...more });

const apis = {
  player: list('/player'),
  other: list('/other'),
  ...Object.fromEntries(columns.map((name) => [name, list(`/by/${name}`, { default_sort: [`-${name}`] })])),
  by_team: list('/by-team', { default_sort: ['team.name', '-rank'] }),
  by_salary: list('/by-salary', { default_sort: ['salary'] }),
  by_team_secret: list('/by-team-secret', { default_sort: ['team.secret'] }),
  by_masked: { class: Masked, base_path: '/by-masked', default_sort: ['masked'], actions: { _index: null } },
  hidden: { class: Hidden, base_path: '/hidden', actions: { _index: null } },
  ordered: list('/ordered', { controller: OrderedController }),
  restricted: list('/restricted', { controller: RestrictedController, default_sort: ['-rank'] }),
  joining: list('/joining', { controller: JoiningController, default_sort: ['team.name'] }),
  masking: list('/masking', { controller: MaskingController }),
  fetched: list('/fetched', { controller: FetchedController }),
  search: list('/search', {
    controller: SearchController,
    actions: { search: { methods: { GET: true }, 'single-collection': 'collection' } },
  }),
};

function valuesOf(i: number) {
  return {
    id: i,
    name: `Player ${i}`,
    rank: i % 4 === 0 ? null : i % 3,
    salary: 1000 + i,
    born: `200${i % 3}-02-0${1 + (i % 5)}`,
    joined: new Date(Date.UTC(2020, i % 3, 1, 0, 0, 0, i % 2)),
    score: `${i % 3}.50`,
    ratio: (i % 3) / 8,
    active: i % 2 === 0,
    code: `0000000${i % 3}-0000-4000-8000-000000000000`,
    note: `a 'note' \\ "?" é😀 ${i % 2}`,
    level: i % 2 === 0 ? 'low' : 'high',
    big: 2n ** 60n + BigInt(i % 3),
  };
}

const count = 11;

describe.each(databases.flatMap((database) => [[database, 'compiled'] as const, [database, 'through entities'] as const]))(
  'links on %s, %s',
  (database, how) => {
    let fresh: FreshDatabase;
    let app: TestApplication;
    beforeAll(async () => {
      fresh = await freshDatabase(database);
      app = await startApplication({
        app_main: { apis: apis as never, pagination: { items_per_page: 3 } },
        models: [Player, Team, Hidden, Masked],
        controllers: [
          OrderedController,
          RestrictedController,
          JoiningController,
          MaskingController,
          FetchedController,
          SearchController,
        ],
        databaseUrl: fresh.url,
        compiledReads: how === 'compiled',
      });
      const em = app.application.mapper.em.fork();
      const teams = ['red', 'blue'].map((name, i) => em.create(Team, { id: i + 1, name, secret: `s${i}` }));
      for (let i = 1; i <= count; i++) {
        em.create(Player, { ...valuesOf(i), team: teams[i % 2] } as never);
        em.create(Hidden, { id: i, name: `h${i}` });
        em.create(Masked, { id: i, masked: `m${i}` });
      }
      await em.flush();
    });
    afterAll(async () => {
      await app?.close();
      await fresh?.drop();
    });

    async function page(path: string) {
      const { status, json } = await app.request('GET', path);
      expect([path, status]).toEqual([path, 200]);
      return json;
    }
    async function refused(path: string): Promise<string> {
      const { status, json } = await app.request('GET', path);
      expect([path, status, json.code]).toEqual([path, 400, 'invalid_parameter']);
      return json.detail;
    }
    const nextOf = async (path: string): Promise<string> => (await page(path)).pagination.next;
    const tokenOf = (link: string): string => new URLSearchParams(link.split('?')[1]).get('after') as string;
    const contentOf = (token: string): unknown[] => JSON.parse(Buffer.from(token, 'base64url').toString());
    const tokenWith = (content: unknown): string => Buffer.from(JSON.stringify(content)).toString('base64url');
    const idsOf = (results: { id: number }[]): number[] => results.map(({ id }) => id);

    async function walked(path: string): Promise<number[]> {
      const seen: number[] = [];
      for (let at: string | null = path; at !== null; ) {
        const { results, pagination } = await page(at);
        seen.push(...idsOf(results));
        at = pagination.next;
      }
      return seen;
    }

    test('seek by key, without an offset', async () => {
      for (const path of ['/player.json', '/by/rank.json', '/by-team.json', '/restricted.json']) {
        const next = await nextOf(path);
        app.statements.length = 0;
        await page(next);
        expect(app.statements.length).toBeGreaterThan(0);
        expect(app.statements.filter((sql) => /offset/i.test(sql))).toEqual([]);
        app.statements.length = 0;
        await page(`${path}?page=2`);
        expect(app.statements.filter((sql) => /offset/i.test(sql))).toHaveLength(1);
      }
    });

    test('put the new token next to the page, and keep all other parameters in place', async () => {
      const first = await nextOf('/player.json?page=1&items_per_page=2');
      expect(first).toMatch(/^\/player\.json\?page=2&after=[\w-]+&items_per_page=2$/);
      const moved = `/player.json?after=${tokenOf(first)}&items_per_page=2&p%61ge=2`;
      const { next, previous } = (await page(moved)).pagination;
      expect(next).toMatch(/^\/player\.json\?items_per_page=2&page=3&after=[\w-]+$/);
      expect(previous).toMatch(/^\/player\.json\?items_per_page=2&page=1&before=[\w-]+$/);
    });

    test('work with every type of sort key', async () => {
      for (const name of columns) {
        const whole = await page(`/by/${name}.json?items_per_page=50`);
        expect([name, await walked(`/by/${name}.json`)]).toEqual([name, idsOf(whole.results)]);
        expect(tokenOf(await nextOf(`/by/${name}.json`))).toMatch(/^[\w-]+$/);
      }
    });

    test('show only rows that customizeQuery allows, for any token', async () => {
      const expected = [5, 6, 7, 8, 9, 10, 11];
      expect((await walked('/restricted.json')).toSorted((a, b) => a - b)).toEqual(expected);
      // the same token, as the list would give it for a row that it does not show
      const [tag, , ...rest] = contentOf(tokenOf(await nextOf('/restricted.json')));
      expect(rest).toHaveLength(1);
      const key = database === 'sqlite' ? 1 : '1';
      const { count: counted, results } = await page(`/restricted.json?page=2&after=${tokenWith([tag, null, key])}`);
      expect(counted).toBe(7);
      for (const { id } of results) expect(id).toBeGreaterThan(4);
    });

    test('work with the joins of a restriction', async () => {
      const whole = await page('/joining.json?items_per_page=50');
      expect(whole.results.length).toBeGreaterThan(3);
      expect(await walked('/joining.json')).toEqual(idsOf(whole.results));
      expect(await nextOf('/joining.json')).toMatch(/&after=/);
    });

    test.each(['/by-salary.json', '/by-team-secret.json', '/by-masked.json', '/hidden.json', '/masking.json', '/fetched.json'])(
      'reveal nothing that the caller cannot read: %s',
      async (path) => {
        const { pagination } = await page(`${path}?page=2`);
        expect(pagination).toMatchObject({ next: `${path}?page=3`, previous: `${path}?page=1` });
        const token = tokenOf(await nextOf('/player.json'));
        expect(await refused(`${path}?page=2&after=${token}`)).toBe(
          'the query parameter "after" must be given once, as in a link of this list',
        );
      },
    );

    test('contain no token if the controller sorts, and older tokens are rejected', async () => {
      const first = await page('/ordered.json');
      expect(first.pagination.next).toMatch(/&after=/);
      expect(await refused(first.pagination.next)).toMatch(/^the query parameter "after" must be given once/);
      expect((await page('/ordered.json?page=2')).pagination.next).toBe('/ordered.json?page=3');
    });

    test('of paginate contain no token, and leave parameters of that name to the handler', async () => {
      const { pagination } = await page('/search/search.json?after=x&page=2&before=y');
      expect(pagination).toMatchObject({
        next: '/search/search.json?after=x&page=3&before=y',
        previous: '/search/search.json?after=x&page=1&before=y',
      });
    });

    test('reject invalid tokens with an explanation', async () => {
      const next = await nextOf('/player.json');
      const token = tokenOf(next);
      const asked = 'the query parameter "after" must be given once, as in a link of this list';
      const [tag, key] = contentOf(token);
      const wrong = [
        '',
        'x',
        '%00',
        token.slice(1),
        `${token}=`,
        `${token}%20`,
        `${token}A`,
        tokenWith([tag]),
        tokenWith([tag, key, key]),
        tokenWith([tag, null]),
        tokenWith([tag, [key]]),
        tokenWith([tag, { key }]),
        tokenWith([tag, true]),
        tokenWith([tag, 'one']),
        tokenWith(['000000', key]),
        tokenWith([key]),
        tokenWith({ tag, key }),
        tokenWith(null),
        tokenWith('text'),
        Buffer.from([0xff, 0xfe]).toString('base64url'),
        'A'.repeat(1000),
      ];
      for (const text of wrong) expect([text, await refused(`/player.json?page=2&after=${text}`)]).toEqual([text, asked]);
      expect(await refused(`${next}&after=${token}`)).toBe(asked);
      expect(await refused(`/other.json?page=2&after=${token}`)).toBe(asked);
      expect(await refused(`/by/rank.json?page=2&after=${token}`)).toBe(asked);
      expect(await refused(`/player.json?page=2&before=${token}x`)).toBe(
        'the query parameter "before" must be given once, as in a link of this list',
      );
      expect(await refused(`${next}&before=${token}`)).toBe(
        'the query parameter "after" must not be given together with "before"',
      );
      expect(await refused(`/player.json?after=${token}`)).toBe(
        'the query parameter "after" must be given together with "page", as in the link',
      );
    });

    test('return 200 or 400 for any token, never 5xx', async () => {
      const tags = new Map<string, unknown>();
      for (const name of columns) tags.set(name, contentOf(tokenOf(await nextOf(`/by/${name}.json`)))[0]);
      const value = fc.oneof(
        fc.constantFrom(
          null,
          '',
          '0',
          '-1',
          '99999999999999999999',
          '2147483648',
          '1e999',
          '1e-400',
          'NaN',
          'Infinity',
          't',
          'true',
          '2026-02-31',
          '0000-01-01',
          '2026-01-01 25:00:00+00',
          '2026-01-01 10:00:00+99',
          '2026-01-01 10:00:00.123456+00',
          '9223372036854775808',
          'infinity',
          'low',
          'none',
          '\0',
          '\ud800',
          "' or 1=1 --",
          1e308,
          -0,
          1.5,
        ),
        fc.string(),
        fc.double(),
        fc.integer(),
        fc.integer().map(String),
        fc.double({ noNaN: true }).map(String),
        fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
        fc.date({ noInvalidDate: true }).map((date) => date.toISOString().replace('T', ' ').replace('Z', '+00')),
        fc.jsonValue(),
      );
      const statuses = new Set<number>();
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...columns),
          fc.constantFrom('after', 'before'),
          value,
          fc.oneof(fc.integer(), fc.integer().map(String), value),
          async (name, side, first, key) => {
            const token = tokenWith([tags.get(name), first, key]);
            const { status, json } = await app.request('GET', `/by/${name}.json?page=2&${side}=${token}`);
            statuses.add(status);
            if (status !== 200)
              expect([name, first, key, status, json.code]).toEqual([name, first, key, 400, 'invalid_parameter']);
          },
        ),
        { numRuns: 150, ...casesOn(database) },
      );
      expect([...statuses].toSorted()).toEqual([200, 400]);
    });

    test('end at the last row, independent of the page number', async () => {
      const last = await nextOf(`/player.json?items_per_page=${count - 1}`);
      expect((await page(last)).pagination).toMatchObject({ more: false, next: null, first: count - 1 });
      const token = tokenOf(await nextOf('/player.json'));
      expect((await page(`/player.json?page=9&after=${token}`)).pagination).toMatchObject({
        more: true,
        next: expect.stringMatching(/page=10&after=/),
        first: 24,
      });
      const back = await page(`/player.json?page=9&before=${token}`);
      expect(idsOf(back.results)).toEqual([1, 2]);
      expect(back.pagination).toMatchObject({ more: true, previous: null });
    });

    test('work the same with HEAD', async () => {
      const next = await nextOf('/player.json');
      expect((await app.request('HEAD', next)).status).toBe(200);
    });
  },
);
