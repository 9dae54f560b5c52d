// @module-tag divided
import { connect } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CodeOptions } from '../../src/index.ts';
import { databases } from '../support/databases.ts';
import { casesOn } from '../support/random.ts';
import { apis, counts, library, openLibrary, type RunningLibrary, views } from './fixtures/library.ts';

interface BookJson {
  readonly id: number;
  readonly title: string;
  readonly rank: number;
  readonly branch: string;
  readonly author: { readonly name: string; readonly publisher: { readonly name: string } | null } | null;
  readonly tags: readonly { readonly code: string; readonly label: string }[];
}

type SortKey = readonly [(book: BookJson) => string | number | null, 'asc' | 'desc'];

interface Expected {
  readonly filter?: (book: BookJson) => boolean;
  readonly order?: readonly SortKey[];
  readonly slice?: readonly [number, number];
}

const north = { filter: ({ branch }: BookJson) => branch === 'north' };
const rank: SortKey = [(book) => book.rank, 'desc'];
const title: SortKey = [(book) => book.title, 'asc'];
const id: SortKey = [(book) => book.id, 'asc'];
const severalTags = { filter: ({ tags }: BookJson) => tags.some(({ code }) => code !== 't0') };
const author: SortKey = [(book) => book.author?.name ?? null, 'asc'];
const greatestLabel: SortKey = [
  ({ tags }) =>
    tags
      .map(({ label }) => label)
      .toSorted()
      .at(-1) ?? null,
  'desc',
];

/** What each view of the fixture lets through, and how it orders that. */
const expectations: Readonly<Record<string, Expected>> = {
  all: {},
  north,
  later: north,
  returned: north,
  tagged: {},
  selected: {},
  distinct: {},
  condition: severalTags,
  joined: severalTags,
  ordered: { order: [rank] },
  distinctOrdered: { order: [rank] },
  groupedAlone: {},
  groupedHaving: { filter: (book) => book.rank > 2 },
  byTag: { order: [greatestLabel] },
  byAuthor: { order: [author] },
  byRaw: { order: [[(book) => book.rank % 2, 'desc']] },
  limited: { slice: [0, 7] },
  limitedOrdered: { order: [rank, title], slice: [2, 9] },
  limitedJoined: { order: [rank, [(book) => book.id, 'desc']], slice: [0, 7] },
  grouped: { filter: ({ tags }) => tags.length >= 3 },
  groupedOrdered: { filter: ({ tags }) => tags.length > 0, order: [[({ tags }) => tags.length, 'desc']] },
  subquery: { order: [[({ tags }) => tags.length, 'desc']] },
  withTag: { filter: ({ tags }) => tags.length > 0 },
  groupedByTag: { filter: ({ tags }) => tags.length > 0 },
  second: { slice: [1, 2] },
  rawText: { filter: (book) => book.rank > 0 && book.rank < 4 },
  rawFragment: { filter: (book) => book.rank % 2 === 1 },
  or: { filter: ({ branch, rank }) => branch === 'south' || rank === 4 },
  nothing: { filter: () => false },
};

describe.each(databases)('a list on %s', (kind) => {
  let app: RunningLibrary;
  let books: readonly BookJson[];
  beforeAll(async () => {
    app = await openLibrary(kind);
    books = (await list('/api/books.json?items_per_page=200')).results;
  });
  afterAll(() => app?.close());

  async function list(path: string) {
    const { status, json } = await app.request('GET', path);
    expect([path, status]).toEqual([path, 200]);
    return json;
  }
  const ids = (results: readonly { id: number }[]) => results.map((item) => item.id);
  const idsOf = async (path: string) => ids((await list(path)).results);

  /** Follows `next` from the first page to the last. */
  async function walk(path: string): Promise<number[]> {
    const seen: number[] = [];
    for (let next: string | null = path; next !== null; ) {
      const { results, pagination, count } = await list(next);
      expect(pagination.first).toBe(seen.length);
      seen.push(...ids(results));
      expect(pagination.more).toBe(seen.length < count);
      expect(pagination.next === null).toBe(!pagination.more);
      next = pagination.next;
    }
    return seen;
  }

  // the databases differ in where null stands, and each is right
  function compare(a: string | number | null, b: string | number | null): number {
    if (a === b) return 0;
    if (a === null || b === null) return (a === null) === (kind === 'sqlite') ? -1 : 1;
    return a < b ? -1 : 1;
  }

  function expectedIds({ filter = () => true, order, slice = [0, 100] }: Expected, fallback: readonly SortKey[] = []): number[] {
    const keys = [...(order ?? fallback), id];
    const sorted = books.filter(filter).toSorted((a, b) => {
      for (const [of, direction] of keys) {
        const difference = compare(of(a), of(b)) * (direction === 'asc' ? 1 : -1);
        if (difference !== 0) return difference;
      }
      return 0;
    });
    return ids(sorted).slice(...slice);
  }

  describe('has the collection model', () => {
    test('without additional members', async () => {
      const answer = await app.request('GET', '/api/authors.json?items_per_page=3&page=2');
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(answer.json).toEqual({
        count: counts.authors,
        results: [expect.objectContaining({ id: 4 }), expect.objectContaining({ id: 5 }), expect.objectContaining({ id: 6 })],
        pagination: {
          more: true,
          next: expect.stringMatching(/^\/api\/authors\.json\?items_per_page=3&page=3&after=[\w-]+$/),
          previous: expect.stringMatching(/^\/api\/authors\.json\?items_per_page=3&page=1&before=[\w-]+$/),
          first: 3,
          items_per_page: 3,
        },
      });
    });

    test('with the read fields of its items, and embedded associations', async () => {
      const { results } = await list('/api/books.json?items_per_page=2');
      expect(results[1]).toEqual({
        id: 2,
        type: 'audio',
        title: 'Title 37',
        subtitle: null,
        isbn: null,
        rank: 1,
        language: 'en',
        branch: 'north',
        details: null,
        author: { id: 2, name: 'Author 5', born: 1901, publisher: { id: 2, name: 'Publisher 3' } },
        tags: [{ code: 't0', label: 'Label 0' }],
        minutes: 1,
      });
      expect(results[0]).toMatchObject({ type: 'printed', pages: 0 });
      expect(results[0]).not.toHaveProperty('minutes');
      expect(results[0]).not.toHaveProperty('withdrawn');
    });

    test('without links if there is only one page', async () => {
      expect((await list('/api/authors.json')).pagination).toEqual({
        more: false,
        next: null,
        previous: null,
        first: 0,
        items_per_page: 50,
      });
    });

    test('without a next link on the last page', async () => {
      expect((await list('/api/books.json?items_per_page=30&page=2')).pagination).toMatchObject({ more: false, next: null });
      expect((await list('/api/books.json?items_per_page=40&page=2')).pagination).toMatchObject({
        more: false,
        next: null,
        first: 40,
      });
      expect((await list('/api/books.json?items_per_page=59')).pagination).toMatchObject({ more: true });
      expect((await list('/api/books.json?items_per_page=60')).pagination).toMatchObject({ more: false });
    });

    test('with 200 and no results past the end', async () => {
      for (const path of [
        '/api/books.json',
        '/api/views/tagged/books.json',
        '/api/views/north/books.json',
        '/api/views/limited/books.json',
      ]) {
        const { count, results, pagination } = await list(`${path}?page=7`);
        expect(results).toEqual([]);
        expect(count).toBe((await list(path)).count);
        const last = Math.ceil(count / 50);
        expect(pagination).toEqual({ more: false, next: null, previous: `${path}?page=${last}`, first: 300, items_per_page: 50 });
        expect((await list(pagination.previous)).results).not.toEqual([]);
      }
      expect((await list('/api/views/nothing/books.json?page=7')).pagination.previous).toBeNull();
      expect((await list('/api/books.json?page=3')).pagination.previous).toBe('/api/books.json?page=2');
      expect((await list('/api/books.json?items_per_page=1&page=1000000000000')).results).toEqual([]);
    });

    test('with an empty result', async () => {
      expect(await list('/api/views/nothing/books.json')).toEqual({
        count: 0,
        results: [],
        pagination: { more: false, next: null, previous: null, first: 0, items_per_page: 50 },
      });
    });
  });

  describe('links', () => {
    test('lead to all pages, forwards and backwards', async () => {
      const { next } = (await list('/api/books.json?items_per_page=25')).pagination;
      const second = await list(next);
      expect(ids(second.results)).toEqual(ids(books as never).slice(25, 50));
      expect((await list(second.pagination.next)).pagination.first).toBe(50);
      expect((await list(second.pagination.previous)).pagination.first).toBe(0);
    });

    test('keep all other parameters in place', async () => {
      const path = '/api/branches/north/books/search.json';
      for (const [query, next] of [
        ['q=a%20b&page=2&items_per_page=2&empty=&q=c', 'q=a%20b&page=3&items_per_page=2&empty=&q=c'],
        ['items_per_page=2&q=why?&r=a/b?c=d', 'items_per_page=2&q=why?&r=a/b?c=d&page=2'],
        ['items_per_page=2&q=%F0%9F%98%80%26page%3D7', 'items_per_page=2&q=%F0%9F%98%80%26page%3D7&page=2'],
        ['p%61ge=2&items_per_page=2', 'page=3&items_per_page=2'],
      ]) {
        expect((await list(`${path}?${query}`)).pagination.next).toBe(`${path}?${next}`);
      }
    });

    test('of a handler with its own query lead to all pages, forwards and backwards', async () => {
      const path = '/api/branches/north/books/search.json?items_per_page=15';
      const walked = await walk(path);
      expect(walked).toHaveLength((await list(path)).count);
      const back: number[] = [];
      for (let previous: string | null = `${path}&page=3`; previous !== null; ) {
        const { results, pagination } = await list(previous);
        back.unshift(...ids(results));
        previous = pagination.previous;
        expect(previous === null).toBe(pagination.first === 0);
      }
      expect(back).toEqual(walked);
    });

    test('are relative, even if a proxy sends an absolute URL', async () => {
      const answer = await send(app.url, 'GET http://elsewhere.example/api/books.json?items_per_page=2&page=2 HTTP/1.1');
      expect(answer).toMatch(/^HTTP\/1.1 200/);
      expect(answer).toMatch(
        /"next":"\/api\/books\.json\?items_per_page=2&page=3&after=[\w-]+","previous":"\/api\/books\.json\?items_per_page=2&page=1&before=[\w-]+"/,
      );
    });
  });

  describe('has pages', () => {
    test('of 50 items by default, and at most 200', async () => {
      expect((await list('/api/books.json')).results).toHaveLength(50);
      expect((await list('/api/books.json?items_per_page=200')).pagination.items_per_page).toBe(200);
      expect((await app.request('GET', '/api/books.json?items_per_page=201')).json.detail).toBe(
        'the query parameter "items_per_page" must be given once, as a whole number from 1 to 200',
      );
    });

    test('of the size that the API configures', async () => {
      expect((await list('/api/small.json')).pagination).toMatchObject({
        items_per_page: 3,
        next: expect.stringMatching(/^\/api\/small\.json\?page=2&after=[\w-]+$/),
      });
      expect((await list('/api/small.json?items_per_page=5')).results).toHaveLength(5);
      expect((await app.request('GET', '/api/small.json?items_per_page=6')).status).toBe(400);
      expect((await list('/api/views/all/books.json?items_per_page=500')).pagination.items_per_page).toBe(500);
      expect((await list('/api/views/all/books.json')).pagination.items_per_page).toBe(50);
    });

    const wrong = [
      '0',
      '-1',
      '-0',
      '1.5',
      '1.0',
      '1e1',
      '0x1',
      '01',
      '+1',
      '%201',
      '1%20',
      '',
      'one',
      'NaN',
      'Infinity',
      '%D9%A1',
      '1,2',
      '1;2',
      'null',
    ];
    const huge = ['99999999999999999999', '9007199254740993', '9007199254740991', `1${'0'.repeat(400)}`];
    test.each([
      ...wrong.flatMap((value) => [`page=${value}`, `items_per_page=${value}`]),
      ...huge.flatMap((value) => [`page=${value}`, `items_per_page=${value}`]),
      'items_per_page=201',
      'page=1&page=1',
      'page=1&p%61ge=2',
      'items_per_page=2&items_per_page=2',
    ])('and rejects ?%s', async (query) => {
      const { status, json } = await app.request('GET', `/api/books.json?${query}`);
      expect([status, json.code]).toEqual([400, 'invalid_parameter']);
      expect(json.detail).toMatch(
        /^the query parameter "(page|items_per_page)" must be given once, as a whole number from 1 to \d+$/,
      );
    });

    test.each([
      'page[]=1',
      'page[0]=1',
      'items_per_page[x]=1',
      'Page=1',
      'limit=5',
      'sort=title',
      '__proto__=1',
      'constructor=1',
      '=1',
      'page%00=1',
      'id=1',
    ])('and rejects ?%s as unknown', async (query) => {
      for (const path of ['/api/books.json', '/api/views/north/books.json']) {
        const { status, json } = await app.request('GET', `${path}?${query}`);
        expect([status, json.code]).toEqual([400, 'unknown_parameter']);
        expect(json.detail).toMatch(/allowed: page, items_per_page, after, before, fields$/);
      }
    });

    test('and does not query the database if parameters are invalid', async () => {
      app.statements.length = 0;
      await app.request('GET', '/api/books.json?page=0');
      await app.request('GET', '/api/books.json?unknown=1');
      expect(app.statements).toEqual([]);
    });

    test('and other actions reject page parameters', async () => {
      for (const [method, path] of [
        ['GET', '/api/books/1.json?page=1'],
        ['HEAD', '/api/books/1.json?page=1'],
        ['DELETE', '/api/books/1.json?force=1'],
      ] as const) {
        expect((await app.request(method, path)).status).toBe(400);
      }
      for (const [method, path] of [
        ['POST', '/api/authors.json?page=1'],
        ['PATCH', '/api/authors/1.json?page=1'],
        ['PUT', '/api/authors/1.json?page=1'],
      ] as const) {
        expect((await app.request(method, path, { json: { name: 'Nobody' } })).json.code).toBe('unknown_parameter');
      }
      expect(await list('/api/authors.json')).toMatchObject({ count: counts.authors });
    });
  });

  describe('is totally ordered', () => {
    test('by key', async () => {
      expect(await walk('/api/books.json?items_per_page=7')).toEqual(Array.from({ length: counts.books }, (_, i) => i + 1));
      expect((await list('/api/tags.json')).results.map(({ code }: { code: string }) => code)).toEqual(['t0', 't1', 't2', 't3']);
    });

    test('by the declared sort order, then by key', async () => {
      const expected = expectedIds({ order: [rank] });
      expect(await idsOf('/api/by-rank.json?items_per_page=100')).toEqual(expected);
      expect(await walk('/api/by-rank.json?items_per_page=5')).toEqual(expected);
    });

    test('by fields of associations, including rows without the association', async () => {
      const publisher: SortKey = [(book) => book.author?.publisher?.name ?? null, 'asc'];
      const writer: SortKey = [(book) => book.author?.name ?? null, 'desc'];
      const expected = expectedIds({ order: [publisher, writer] });
      expect(await idsOf('/api/by-author.json?items_per_page=100')).toEqual(expected);
      expect(await walk('/api/by-author.json?items_per_page=7')).toEqual(expected);
    });

    test('by the declared default if the controller restricts but does not sort', async () => {
      for (const view of ['north', 'tagged', 'joined', 'grouped', 'limited', 'distinct']) {
        const expected = expectedIds(expectations[view] as Expected, [rank, title]);
        expect([view, await idsOf(`/api/ranked/${view}/books.json?items_per_page=100`)]).toEqual([view, expected]);
      }
      for (const view of ['ordered', 'byTag', 'limitedOrdered']) {
        const expected = expectedIds(expectations[view] as Expected);
        expect([view, await idsOf(`/api/ranked/${view}/books.json?items_per_page=100`)]).toEqual([view, expected]);
      }
    });

    test('on pages of any size, with each row exactly once', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(
            '/api/books.json',
            '/api/by-rank.json',
            '/api/by-author.json',
            ...Object.keys(expectations).flatMap((view) => [`/api/views/${view}/books.json`, `/api/ranked/${view}/books.json`]),
          ),
          fc.integer({ min: 4, max: 70 }),
          async (path, size) => {
            const whole = await list(`${path}?items_per_page=100`);
            const walked = await walk(`${path}?items_per_page=${size}`);
            expect(walked).toEqual(ids(whole.results));
            expect(new Set(walked).size).toBe(whole.count);
          },
        ),
        { numRuns: 13, ...casesOn(kind) },
      );
    });
  });

  describe('shows the rows that customizeQuery allows', () => {
    test('for every view of the fixture', () => {
      expect([...Object.keys(expectations), 'united'].toSorted()).toEqual(Object.keys(views).toSorted());
    });

    test.each(Object.entries(expectations))('in rows, count and links: %s', async (view, expectation) => {
      const expected = expectedIds(expectation);
      const whole = await list(`/api/views/${view}/books.json?items_per_page=500`);
      expect(ids(whole.results)).toEqual(expected);
      expect(whole.count).toBe(expected.length);
      expect(await walk(`/api/views/${view}/books.json?items_per_page=13`)).toEqual(expected);
    });

    // the mapper writes unions in brackets, which SQLite does not take
    if (kind === 'postgresql') {
      test('for a union', async () => {
        const expected = expectedIds({ filter: (book) => book.rank === 1 || book.rank === 4 });
        expect(await walk('/api/views/united/books.json?items_per_page=13')).toEqual(expected);
        expect((await app.request('GET', `/api/views/united/books/${expected[0]}.json`)).status).toBe(200);
        expect((await app.request('GET', '/api/views/united/books/1.json')).status).toBe(404);
      });
    }

    test.each(Object.entries(expectations))('with all their fields, whatever was joined or selected: %s', async (view) => {
      const { results } = await list(`/api/views/${view}/books.json?items_per_page=500`);
      for (const book of results) expect(book).toEqual(books.find((other) => other.id === book.id));
    });

    test.each(Object.entries(expectations))('and no other row by id: %s', async (view, expectation) => {
      const visible = expectedIds(expectation);
      const hidden = ids(books as never).filter((other) => !visible.includes(other));
      for (const shown of [visible[0], visible.at(-1)]) {
        if (shown !== undefined) expect((await app.request('GET', `/api/views/${view}/books/${shown}.json`)).json.id).toBe(shown);
      }
      for (const other of [hidden[0], hidden.at(-1), counts.books + 1]) {
        if (other !== undefined) expect((await app.request('GET', `/api/views/${view}/books/${other}.json`)).status).toBe(404);
      }
    });
  });

  describe('applies the default filters of a model', () => {
    const withdrawn = counts.books + 1;

    test('in rows and counts, with and without a restriction', async () => {
      for (const path of ['/api/books.json', '/api/views/all/books.json', '/api/views/tagged/books.json']) {
        const { count, results } = await list(`${path}?items_per_page=200`);
        expect([path, count, results.length]).toEqual([path, counts.books, counts.books]);
        expect(ids(results)).not.toContain(withdrawn);
      }
      // a handler that pages through a query of its own sees what customizeQuery leaves
      const [listed, searched] = await Promise.all(
        ['/api/branches/north/books.json', '/api/branches/north/books/search.json'].map((path) =>
          list(`${path}?items_per_page=200`),
        ),
      );
      expect(ids(searched?.results ?? [])).toEqual(ids(listed?.results ?? []));
      expect(ids(searched?.results ?? [])).not.toContain(withdrawn);
      expect(Number((await app.rows('select count(*) n from book'))[0]?.n)).toBe(counts.books + counts.withdrawn);
    });

    test('to rows by id', async () => {
      for (const path of [
        `/api/books/${withdrawn}.json`,
        `/api/views/all/books/${withdrawn}.json`,
        `/api/views/all/books/${withdrawn}/peek.json`,
      ]) {
        expect((await app.request('GET', path)).status).toBe(404);
      }
      expect((await app.request('DELETE', `/api/books/${withdrawn}.json`)).status).toBe(404);
      expect((await app.request('PATCH', `/api/books/${withdrawn}.json`, { json: { title: 'found' } })).status).toBe(404);
    });

    test('of a required association, consistently in rows, counts and by id', async () => {
      for (const path of ['/api/loans.json', '/api/loan-views/all/loans.json']) {
        const { count, results } = await list(path);
        expect([path, count, results.length]).toEqual([path, counts.loans - 1, counts.loans - 1]);
      }
      for (const path of ['/api/loans/6.json', '/api/loan-views/all/loans/6.json'])
        expect((await app.request('GET', path)).status).toBe(404);
      for (const path of ['/api/loans/5.json', '/api/loan-views/all/loans/5.json'])
        expect((await app.request('GET', path)).status).toBe(200);
    });

    test('to references', async () => {
      const refused = await app.request('POST', '/api/loans.json', {
        json: { member: 'Eve', book: { id: withdrawn, type: 'printed' } },
      });
      expect([refused.status, refused.json.code]).toEqual([400, 'invalid_reference']);
    });
  });

  test.each([
    ['/api/books.json', 'a to-one, a to-many and a nested to-one'],
    ['/api/views/tagged/books.json', 'the same, joined by the application'],
    ['/api/audio.json', 'one class of several'],
    ['/api/loan-views/all/loans.json', 'everything one level deeper'],
  ])('%s needs as many statements for 2 items as for 50: %s', async (path) => {
    const taken = async (size: number) => {
      app.statements.length = 0;
      const { results } = await list(`${path}?items_per_page=${size}`);
      expect(results.length).toBeGreaterThan(1);
      // a page that is not full tells the number of items, and need not ask for it
      return app.statements.filter((sql) => !/^select count\(/.test(sql)).length;
    };
    const two = await taken(2);
    expect(two).toBeLessThanOrEqual(10);
    expect([await taken(10), await taken(50)]).toEqual([two, two]);
  });
});

describe.each(databases)('application-wide pagination settings on %s', (kind) => {
  let app: RunningLibrary;
  beforeAll(async () => {
    const options: CodeOptions = {
      ...library,
      app_main: {
        ...library.app_main,
        apis: { ...apis, huge: { ...apis.small, base_path: '/api/huge', pagination: { max_items_per_page: 1000 } } },
        pagination: { items_per_page: 4, max_items_per_page: 8 },
        server: { base_url: 'https://library.example/v1' },
      },
    };
    app = await openLibrary(kind, options);
  });
  afterAll(() => app?.close());

  test('apply to APIs without their own settings', async () => {
    expect((await app.request('GET', '/api/books.json')).json.results).toHaveLength(4);
    expect((await app.request('GET', '/api/books.json?items_per_page=8')).json.results).toHaveLength(8);
    expect((await app.request('GET', '/api/books.json?items_per_page=9')).status).toBe(400);
  });

  test('do not apply to APIs with their own settings', async () => {
    expect((await app.request('GET', '/api/small.json')).json.results).toHaveLength(3);
    expect((await app.request('GET', '/api/small.json?items_per_page=6')).status).toBe(400);
    expect((await app.request('GET', '/api/huge.json')).json.results).toHaveLength(4);
    expect((await app.request('GET', '/api/huge.json?items_per_page=1000')).json.results).toHaveLength(counts.books);
  });

  test('make links start with the base URL', async () => {
    expect((await app.request('GET', '/api/books.json?page=2')).json.pagination).toMatchObject({
      next: expect.stringMatching(/^https:\/\/library\.example\/v1\/api\/books\.json\?page=3&after=[\w-]+$/),
      previous: expect.stringMatching(/^https:\/\/library\.example\/v1\/api\/books\.json\?page=1&before=[\w-]+$/),
    });
  });
});

/** Sends a request line that no client library would, and gives the whole answer. */
function send(url: string, line: string): Promise<string> {
  const { port, hostname } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () =>
      socket.write(`${line}\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`),
    );
    let answer = '';
    socket.setEncoding('utf8');
    socket.on('data', (text) => {
      answer += text;
    });
    socket.on('end', () => resolve(answer));
    socket.on('error', reject);
  });
}
