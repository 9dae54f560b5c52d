// @module-tag divided
import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import declarest, { type CodeOptions, Voter } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import {
  Author,
  apis,
  Book,
  counts,
  library,
  openLibrary,
  publisherActions,
  type RunningLibrary,
  Tag,
  ViewController,
} from './fixtures/library.ts';

/** What the voter was asked, in turn. */
const asked: { role: string; subject: unknown }[] = [];

/** Grants everything but what belongs to the south. */
class BookVoter extends Voter {
  static override roles = ['BOOK_TOUCH', 'BOOK_KEEP'];
  override vote(role: string, subject: unknown) {
    asked.push({ role, subject });
    return (subject as { branch?: string } | null)?.branch === 'south' ? ('deny' as const) : ('grant' as const);
  }
}

/** Lets nobody list. */
class ListVoter extends Voter {
  static override roles = ['LIST'];
  override vote() {
    return 'deny' as const;
  }
}

class RefusingController extends ViewController {
  override afterValidation() {
    return this.json({ refused: true }, { status: 418 });
  }
}

const every = { GET: true, HEAD: true, POST: true, PUT: true, PATCH: true, DELETE: true } as const;

const options: CodeOptions = {
  ...library,
  controllers: [...(library.controllers ?? []), RefusingController],
  voters: [BookVoter, ListVoter],
  app_main: {
    ...library.app_main,
    apis: {
      ...apis,
      checked: {
        class: Book,
        base_path: '/api/checked/{view}/books',
        controller: ViewController,
        base_role: 'BOOK_TOUCH',
        actions: { _index: { methods: every }, _entity: { methods: every, roles: { DELETE: 'BOOK_KEEP' } } },
      },
      unlisted: { class: Author, base_path: '/api/unlisted', base_role: 'LIST', actions: { _index: { methods: every } } },
      refusing: {
        class: Book,
        base_path: '/api/refusing/{view}',
        controller: RefusingController,
        actions: { _index: { methods: every }, _entity: { methods: every } },
      },
      paged: {
        class: Tag,
        base_path: '/api/paged',
        actions: { _index: { methods: { POST: true }, path: 'all' }, _entity: { path: 'page', requirements: { id: '.+' } } },
      },
    },
  },
};

describe.each(databases)('on %s', (kind) => {
  let app: RunningLibrary;
  beforeAll(async () => {
    app = await openLibrary(kind, options);
  });
  afterAll(() => app?.close());
  beforeEach(() => {
    asked.length = 0;
  });

  const post = (path: string, json: unknown) => app.request('POST', path, { json });
  const patch = (path: string, json: unknown) => app.request('PATCH', path, { json });
  const put = (path: string, json: unknown) => app.request('PUT', path, { json });
  const get = async (path: string) => (await app.request('GET', path)).json;

  /** Every row of the tables that these tests write to. */
  async function everything(): Promise<unknown> {
    const tables = ['book', 'author', 'publisher', 'tag', 'card', 'loan', 'book_tags'];
    const orders: Record<string, string> = { tag: 'code', book_tags: 'book_id, tag_code' };
    return Promise.all(tables.map((table) => app.rows(`select * from ${table} order by ${orders[table] ?? 'id'}`)));
  }

  /** Makes a book of its own for a test. */
  async function newBook(fields: Record<string, unknown> = {}): Promise<{ id: number; path: string }> {
    const { status, json } = await post('/api/books.json', { type: 'printed', title: 'A book', ...fields });
    expect(status).toBe(201);
    return { id: json.id, path: `/api/books/${json.id}.json` };
  }

  describe('_index', () => {
    test('GET lists rows, HEAD responds alike without a body', async () => {
      const listed = await app.request('GET', '/api/publishers.json');
      expect(listed.status).toBe(200);
      expect(listed.json).toMatchObject({ count: counts.publishers, pagination: { first: 0 } });
      const head = await app.request('HEAD', '/api/publishers.json');
      expect([head.status, head.text, head.headers.get('content-length')]).toEqual([
        200,
        '',
        listed.headers.get('content-length'),
      ]);
    });

    test('POST creates an entity from the write group and returns 201 with the entity and its Location', async () => {
      const made = await post('/api/books.json', {
        type: 'audio',
        title: 'Emma',
        rank: 3,
        minutes: 90,
        details: { a: [1, null], b: null },
        author: { id: 2 },
        tags: [{ id: 't2' }, { id: 't1' }],
      });
      expect([made.status, made.headers.get('content-type')]).toEqual([201, 'application/json; charset=utf-8']);
      const { id } = made.json;
      expect(made.headers.get('location')).toBe(`/api/books/${id}.json`);
      expect(made.json).toEqual({
        id,
        type: 'audio',
        title: 'Emma',
        subtitle: null,
        isbn: null,
        rank: 3,
        language: 'en',
        branch: 'north',
        details: { a: [1, null], b: null },
        author: { id: 2, name: 'Author 5', born: 1901, publisher: { id: 2, name: 'Publisher 3' } },
        tags: [
          { code: 't1', label: 'Label 3' },
          { code: 't2', label: 'Label 2' },
        ],
        minutes: 90,
      });
      expect(await get(made.headers.get('location') as string)).toEqual(made.json);
      expect(await app.rows(`select type, title, withdrawn, author_id from book where id = ${id}`)).toEqual([
        { type: 'audio', title: 'Emma', withdrawn: kind === 'sqlite' ? 0 : false, author_id: 2 },
      ]);
      expect(await app.rows(`select tag_code from book_tags where book_id = ${id} order by 1`)).toEqual([
        { tag_code: 't1' },
        { tag_code: 't2' },
      ]);
    });

    test('POST returns a Location with placeholders, path segments and escaped keys', async () => {
      const branch = await post('/api/branches/north/books.json', { type: 'printed', title: 'Here', branch: 'north' });
      expect(branch.headers.get('location')).toBe(`/api/branches/north/books/${branch.json.id}.json`);
      const odd = await post('/api/paged/all.json', { code: 'ä b/?#.%', label: 'odd' });
      expect(odd.headers.get('location')).toBe('/api/paged/%C3%A4%20b%2F%3F%23.%25/page.json');
      for (const { headers, json } of [branch, odd]) expect(await get(headers.get('location') as string)).toEqual(json);
    });

    test.each([
      ['missing', { title: 'X' }],
      ['outside the map', { type: 'film', title: 'X' }],
      ['the name of a class', { type: 'PrintedBook', title: 'X' }],
      ['the abstract root', { type: 'book', title: 'X' }],
      ['null', { type: null, title: 'X' }],
      ['a list', { type: ['printed'], title: 'X' }],
      ['a property of every object', { type: 'constructor', title: 'X' }],
    ])('POST returns 400 if the type is %s', async (_, body) => {
      const before = await everything();
      const { status, json } = await post('/api/books.json', body);
      expect([status, json.code, json.detail]).toEqual([400, 'unknown_type', 'the field "type" must be one of: printed, audio']);
      expect(await everything()).toEqual(before);
    });

    test('POST in the API of one subclass needs no type, and accepts no other type', async () => {
      expect((await post('/api/audio.json', { title: 'Heard' })).json).toMatchObject({ type: 'audio', title: 'Heard' });
      expect((await post('/api/audio.json', { type: 'audio', title: 'Heard' })).status).toBe(201);
      expect((await post('/api/audio.json', { type: 'printed', title: 'Heard' })).status).toBe(400);
      expect((await post('/api/books.json', { type: 'printed', title: 'X', minutes: 3 })).json.code).toBe('unknown_field');
    });

    test.each([
      ['nothing that is required', { type: 'printed' }, 422],
      ['null for what is required', { type: 'printed', title: null }, 422],
      ['too long a title', { type: 'printed', title: 'x'.repeat(101) }, 422],
      ['an unknown field', { type: 'printed', title: 'X', colour: 'red' }, 400],
      ['a field that is not writable', { type: 'printed', title: 'X', withdrawn: true }, 400],
      ['an id', { type: 'printed', title: 'X', id: 5 }, 400],
      ['an unknown author', { type: 'printed', title: 'X', author: { id: 999 } }, 400],
      ['one unknown tag among known ones', { type: 'printed', title: 'X', tags: [{ id: 't0' }, { id: 'nope' }] }, 400],
      ['a list', [], 400],
    ])('POST writes nothing with %s', async (_, body, status) => {
      const before = await everything();
      expect((await post('/api/books.json', body)).status).toBe(status);
      expect(await everything()).toEqual(before);
    });

    test('checks access with a null subject, before parameters, body and database', async () => {
      for (const method of ['GET', 'HEAD'] as const) await app.request(method, '/api/checked/all/books.json');
      await post('/api/checked/all/books.json', { type: 'audio', title: 'Granted' });
      expect(asked).toEqual(Array(3).fill({ role: 'BOOK_TOUCH', subject: null }));
      const before = await everything();
      app.statements.length = 0;
      for (const method of ['GET', 'HEAD', 'DELETE']) expect((await app.request(method, '/api/unlisted.json')).status).toBe(401);
      expect((await app.request('GET', '/api/unlisted.json?page=0', { as: { id: 1 } })).status, 'before the parameters').toBe(
        403,
      );
      expect((await post('/api/unlisted.json', { nonsense: 1 })).status, 'before the body').toBe(401);
      expect(app.statements).toEqual([]);
      expect(await everything()).toEqual(before);
    });
  });

  describe('_entity', () => {
    test('GET returns one entity, HEAD responds alike without a body', async () => {
      const fetched = await app.request('GET', '/api/authors/3.json');
      expect([fetched.status, fetched.json]).toEqual([
        200,
        { id: 3, name: 'Author 3', born: 1902, publisher: { id: 3, name: 'Publisher 2' } },
      ]);
      const head = await app.request('HEAD', '/api/authors/3.json');
      expect([head.status, head.text, head.headers.get('content-length')]).toEqual([
        200,
        '',
        fetched.headers.get('content-length'),
      ]);
      expect((await app.request('GET', '/api/authors/999.json')).json).toMatchObject({
        status: 404,
        code: 'entity_not_found',
        detail: 'no author has this id',
      });
      expect((await app.request('HEAD', '/api/authors/999.json')).status).toBe(404);
    });

    test('PATCH sets the sent fields, null clears, other fields stay', async () => {
      const { id, path } = await newBook({
        subtitle: 'old',
        rank: 4,
        author: { id: 1 },
        tags: [{ id: 't1' }],
        details: { a: 1 },
      });
      const before = await get(path);
      const changed = await patch(path, { title: 'New', subtitle: null });
      expect([changed.status, changed.json]).toEqual([200, { ...before, title: 'New', subtitle: null }]);
      expect(await get(path)).toEqual(changed.json);
      expect((await patch(path, { author: null })).json).toEqual({ ...changed.json, author: null });
      expect((await patch(path, {})).json, 'nothing sent').toEqual({ ...changed.json, author: null });
      expect((await patch(path, { details: null })).json.details).toBe(null);
      expect(await app.rows(`select title, subtitle, rank, author_id, details from book where id = ${id}`)).toEqual([
        { title: 'New', subtitle: null, rank: 4, author_id: null, details: null },
      ]);
    });

    test('PATCH merges objects within a JSON column, as in RFC 7396', async () => {
      const { path } = await newBook();
      const steps: [unknown, unknown][] = [
        [
          { a: 'b', c: { d: 'e', f: 'g' } },
          { a: 'b', c: { d: 'e', f: 'g' } },
        ],
        [
          { a: 'z', c: { f: null } },
          { a: 'z', c: { d: 'e' } },
        ],
        [
          { a: null, list: [1, null, { x: null }] },
          { c: { d: 'e' }, list: [1, null, { x: null }] },
        ],
        [{ list: { 0: 'object' } }, { c: { d: 'e' }, list: { 0: 'object' } }],
        [{ c: 'text' }, { c: 'text', list: { 0: 'object' } }],
        [{ c: { deep: { gone: null, kept: 1 } } }, { c: { deep: { kept: 1 } }, list: { 0: 'object' } }],
        [{}, { c: { deep: { kept: 1 } }, list: { 0: 'object' } }],
        [['whole'], ['whole']],
        ['text', 'text'],
        [{ again: true }, { again: true }],
        [null, null],
      ];
      for (const [sent, expected] of steps) {
        const { status, json } = await patch(path, { details: sent });
        expect([sent, status, json.details]).toEqual([sent, 200, expected]);
        expect((await get(path)).details).toEqual(expected);
      }
    });

    test('PATCH accepts the merge patch content type', async () => {
      const { path } = await newBook();
      const headers = { 'content-type': 'application/merge-patch+json' };
      const merged = await app.request('PATCH', path, { body: '{"title":"Merged"}', headers });
      expect([merged.status, merged.json.title]).toEqual([200, 'Merged']);
    });

    test('PATCH sets a to-one association by type and id, together with own fields', async () => {
      const moved = await patch('/api/loans/1.json', { id: 1, type: 'loan', book: { id: 2, type: 'audio' } });
      expect([moved.status, moved.json.book.id]).toEqual([200, 2]);
      expect((await patch('/api/loans/1.json', { book: { id: 3 } })).json.book).toMatchObject({ id: 3, type: 'printed' });
      const before = await everything();
      for (const body of [
        { book: { id: 2, type: 'printed' } },
        { book: { id: 999 } },
        { id: 2, book: { id: 2 } },
        { type: 'book', book: { id: 2 } },
        { book: { id: 2, title: 'Altered' } },
      ]) {
        expect([body, (await patch('/api/loans/1.json', body)).status]).toEqual([body, 400]);
      }
      for (const body of [{ book: null }, { book: 2 }]) {
        expect([body, (await patch('/api/loans/1.json', body)).status]).toEqual([body, 422]);
      }
      expect(await everything()).toEqual(before);
    });

    test('PATCH with a list replaces a to-many association', async () => {
      const { id, path } = await newBook({ tags: [{ id: 't1' }, { id: 't2' }] });
      const codes = async () =>
        (await app.rows(`select tag_code c from book_tags where book_id = ${id} order by 1`)).map(({ c }) => c);
      expect((await patch(path, { tags: [{ id: 't2' }, { id: 't3' }] })).json.tags).toHaveLength(2);
      expect(await codes()).toEqual(['t2', 't3']);
      expect((await patch(path, { tags: [] })).json.tags).toEqual([]);
      expect(await codes()).toEqual([]);
    });

    test('PUT replaces everything, and resets missing fields to their default or null', async () => {
      const { id, path } = await newBook({
        subtitle: 'old',
        rank: 4,
        language: 'fr',
        branch: 'south',
        isbn: 'put-1',
        author: { id: 1 },
        details: { a: 1 },
        pages: 12,
      });
      const replaced = await put(path, { title: 'New', pages: 3, details: { b: null } });
      const expected = {
        id,
        type: 'printed',
        title: 'New',
        subtitle: null,
        isbn: null,
        rank: 0,
        language: 'en',
        branch: 'north',
        details: { b: null },
        author: null,
        tags: [],
        pages: 3,
      };
      expect([replaced.status, replaced.json]).toEqual([200, expected]);
      expect(await get(path)).toEqual(expected);
    });

    test('PUT empties a missing to-many association', async () => {
      const { id, path } = await newBook({ tags: [{ id: 't1' }, { id: 't2' }] });
      expect((await put(path, { title: 'Untagged' })).json.tags).toEqual([]);
      expect((await get(path)).tags).toEqual([]);
      expect(await app.rows(`select * from book_tags where book_id = ${id}`)).toEqual([]);
    });

    test('PUT does not change fields that are not writable', async () => {
      const { id, path } = await newBook();
      await put(path, { id, type: 'printed', title: 'Same' });
      expect(await app.rows(`select type, withdrawn from book where id = ${id}`)).toEqual([
        { type: 'printed', withdrawn: kind === 'sqlite' ? 0 : false },
      ]);
    });

    test('PUT without required fields returns 422 and changes nothing', async () => {
      const { path } = await newBook({ subtitle: 'kept', tags: [{ id: 't1' }] });
      const before = await everything();
      const refused = await put(path, { subtitle: 'changed' });
      expect([refused.status, refused.json.violations]).toEqual([
        422,
        [{ propertyPath: 'title', title: 'is required', code: 'required', parameters: {} }],
      ]);
      expect(await everything()).toEqual(before);
    });

    test('DELETE returns 204 the first time, then 404', async () => {
      const { id, path } = await newBook({ tags: [{ id: 't1' }] });
      const removed = await app.request('DELETE', path);
      expect([removed.status, removed.text, removed.headers.get('content-type')]).toEqual([204, '', null]);
      expect((await app.request('DELETE', path)).status).toBe(404);
      expect((await app.request('GET', path)).status).toBe(404);
      expect((await patch(path, { title: 'x' })).status).toBe(404);
      expect((await put(path, { title: 'x' })).status).toBe(404);
      expect(await app.rows(`select id from book where id = ${id}`)).toEqual([]);
      expect(await app.rows("select label from tag where code = 't1'")).toHaveLength(1);
    });

    test('concurrent DELETE requests delete only that row, and each returns 204 or 404', async () => {
      const { path } = await newBook();
      const neighbour = await newBook();
      const statuses = await Promise.all(Array.from({ length: 6 }, async () => (await app.request('DELETE', path)).status));
      expect(statuses).toContain(204);
      expect(statuses.filter((status) => status !== 204 && status !== 404)).toEqual([]);
      expect((await app.request('GET', neighbour.path)).status).toBe(200);
    });

    test('DELETE of a row that others require returns 409 and changes nothing', async () => {
      const before = await everything();
      expect((await app.request('DELETE', '/api/books/5.json')).status).toBe(409);
      expect(await everything()).toEqual(before);
    });

    test('checks access with the entity, after loading it', async () => {
      expect((await app.request('GET', '/api/checked/all/books/2.json')).status).toBe(200);
      expect(asked).toMatchObject([{ role: 'BOOK_TOUCH', subject: { id: 2, title: 'Title 37', branch: 'north' } }]);
      asked.length = 0;
      expect((await app.request('GET', '/api/checked/all/books/999.json')).status).toBe(404);
      expect((await app.request('GET', '/api/checked/nothing/books/2.json')).status).toBe(404);
      expect(asked, 'there is nobody to ask about').toEqual([]);
    });

    test('checks access before reading the body, and a rejection writes nothing', async () => {
      const before = await everything();
      for (const method of ['PATCH', 'PUT', 'DELETE'] as const) {
        const json = method === 'DELETE' ? undefined : { nonsense: true };
        expect([method, (await app.request(method, '/api/checked/all/books/1.json', { json })).status]).toEqual([method, 401]);
        expect([method, (await app.request(method, '/api/checked/all/books/1.json', { json, as: { id: 1 } })).status]).toEqual([
          method,
          403,
        ]);
      }
      expect(await everything()).toEqual(before);
      asked.length = 0;
      const { id } = await newBook({ branch: 'north' });
      expect((await app.request('DELETE', `/api/checked/all/books/${id}.json`)).status).toBe(204);
      expect(asked.map(({ role }) => role)).toEqual(['BOOK_TOUCH', 'BOOK_KEEP']);
    });
  });

  describe('any other enabled method', () => {
    test.each([
      ['PUT', '/api/every.json'],
      ['PATCH', '/api/every.json'],
      ['DELETE', '/api/every.json'],
      ['POST', '/api/every/1.json'],
    ])('%s %s returns 400: this method is not supported', async (method, path) => {
      const before = await everything();
      for (const json of [undefined, {}, { name: 'Nobody' }]) {
        const refused = await app.request(method, path, { json });
        expect([refused.status, refused.json.code, refused.json.detail]).toEqual([
          400,
          'method_not_supported',
          'this method is not supported',
        ]);
      }
      expect(await everything()).toEqual(before);
    });

    test('returns 404 if the entity does not exist', async () => {
      expect((await post('/api/every/999.json', {})).status).toBe(404);
    });
  });

  describe('nothing is written', () => {
    test.each([
      ['one wrong field among right ones', { title: 'Changed', rank: 'high' }, 422],
      [
        'a conflict that only the database knows',
        { title: 'Changed', isbn: 'taken', tags: [{ id: 't3' }], author: { id: 3 } },
        409,
      ],
      ['a reference that does not resolve', { title: 'Changed', author: { id: 999 } }, 400],
      ['an unknown field', { title: 'Changed', colour: 'red' }, 400],
      ['the id of another', { title: 'Changed', id: 1 }, 400],
      ['the type of another', { title: 'Changed', type: 'audio' }, 400],
    ])('by PATCH and PUT with %s', async (_, body, status) => {
      if (!(await app.rows("select id from book where isbn = 'taken'"))[0]) await newBook({ isbn: 'taken' });
      const { path } = await newBook({ tags: [{ id: 't1' }], author: { id: 1 } });
      const shown = await get(path);
      const before = await everything();
      expect((await patch(path, body)).status).toBe(status);
      expect((await put(path, body)).status).toBe(status);
      expect(await get(path)).toEqual(shown);
      expect(await everything()).toEqual(before);
    });

    test('by POST if only the database detects a conflict', async () => {
      await newBook({ isbn: 'twice' });
      const before = await everything();
      const refused = await post('/api/books.json', { type: 'audio', title: 'X', isbn: 'twice', tags: [{ id: 't1' }] });
      expect([refused.status, refused.json.detail]).toEqual([409, expect.stringContaining('isbn')]);
      expect(await everything()).toEqual(before);
    });

    test('if the controller ends the request after validation', async () => {
      const before = await everything();
      for (const { status, json } of [
        await post('/api/refusing/all.json', { type: 'audio', title: 'X', tags: [{ id: 't1' }] }),
        await patch('/api/refusing/all/2.json', { title: 'X', tags: [] }),
        await put('/api/refusing/all/2.json', { title: 'X' }),
      ]) {
        expect([status, json]).toEqual([418, { refused: true }]);
      }
      expect(await everything()).toEqual(before);
    });

    test('if the database rejects only the last of several statements', async () => {
      await post('/api/tags.json', { code: 'poison', label: 'refused' });
      const { path } = await newBook({ tags: [{ id: 't1' }] });
      const before = await everything();
      await app.rows(
        kind === 'sqlite'
          ? "create trigger poison before insert on book_tags when new.tag_code = 'poison' begin select raise(abort, 'no'); end"
          : "alter table book_tags add constraint poison check (tag_code <> 'poison')",
      );
      try {
        const tags = [{ id: 'poison' }];
        app.statements.length = 0;
        expect((await patch(path, { title: 'Half', tags })).status).toBeGreaterThanOrEqual(422);
        expect(
          app.statements.some((sql) => /^update/i.test(sql)),
          'the row itself was written first',
        ).toBe(true);
        expect((await put(path, { title: 'Half', tags })).status).toBeGreaterThanOrEqual(422);
        expect((await post('/api/books.json', { type: 'audio', title: 'Half', tags })).status).toBeGreaterThanOrEqual(422);
      } finally {
        await app.rows(kind === 'sqlite' ? 'drop trigger poison' : 'alter table book_tags drop constraint poison');
      }
      expect(await everything()).toEqual(before);
    });
  });

  describe('customizeQuery restricts', () => {
    const visible = 2;
    const hidden = 1;

    test.each([
      ['north', 'a condition'],
      ['later', 'a promise of one'],
      ['returned', 'a query that was returned'],
      ['rawText', 'raw text'],
      ['rawFragment', 'a raw fragment'],
      ['withTag', 'a join to many'],
      ['groupedByTag', 'groups'],
      ['second', 'a number of rows'],
    ])('every action on a single entity, by %s: %s', async (view) => {
      const base = `/api/views/${view}/books`;
      const before = await everything();
      for (const method of ['GET', 'HEAD', 'DELETE'] as const) {
        expect([method, (await app.request(method, `${base}/${hidden}.json`)).status]).toEqual([method, 404]);
      }
      expect((await patch(`${base}/${hidden}.json`, { title: 'Seen' })).status).toBe(404);
      expect((await put(`${base}/${hidden}.json`, { title: 'Seen' })).status).toBe(404);
      expect((await app.request('GET', `${base}/${hidden}/peek.json`)).status, 'the entity of a custom action').toBe(404);
      expect(await everything()).toEqual(before);

      expect((await app.request('GET', `${base}/${visible}.json`)).json.id).toBe(visible);
      expect((await app.request('HEAD', `${base}/${visible}.json`)).status).toBe(200);
      expect((await app.request('GET', `${base}/${visible}/peek.json`)).json).toEqual({ peeked: visible });
      expect((await patch(`${base}/${visible}.json`, { subtitle: view })).json.subtitle).toBe(view);
      const listed = (await get(`${base}.json?items_per_page=500`)).results.map(({ id }: { id: number }) => id);
      expect(listed).toContain(visible);
      expect(listed).not.toContain(hidden);
    });

    test('rows by the placeholders of the path', async () => {
      expect((await app.request('GET', '/api/branches/north/books/2.json')).status).toBe(200);
      expect((await app.request('GET', '/api/branches/south/books/2.json')).status).toBe(404);
      expect((await app.request('GET', '/api/branches/south/books/2/lend.json')).status).toBe(404);
      expect((await app.request('DELETE', '/api/branches/south/books/2.json')).status).toBe(404);
    });

    test('each action by the name of the action', async () => {
      publisherActions.length = 0;
      expect((await get('/api/publishers.json')).count, 'the list shows all of them').toBe(counts.publishers);
      expect((await app.request('GET', '/api/publishers/4.json')).status).toBe(404);
      expect((await app.request('GET', '/api/publishers/4/note.json')).status).toBe(404);
      expect((await app.request('GET', '/api/publishers/3/note.json')).json).toEqual({ noted: 3 });
      expect(publisherActions).toEqual(['_index', '_entity', 'note', 'note']);
    });

    test('references in a body, if their class has an API, as for _entity', async () => {
      const before = await everything();
      publisherActions.length = 0;
      for (const refused of [
        await post('/api/authors.json', { name: 'Eve', publisher: { id: 4 } }),
        await patch('/api/authors/1.json', { publisher: { id: 4 } }),
        await put('/api/authors/1.json', { name: 'Eve', publisher: { id: 4, type: 'publisher' } }),
      ]) {
        expect([refused.status, refused.json.detail]).toEqual([
          400,
          'the field "publisher" does not resolve: publisher id not found',
        ]);
      }
      expect(publisherActions).toEqual(['_entity', '_entity', '_entity']);
      expect(await everything()).toEqual(before);
      expect((await patch('/api/authors/1.json', { publisher: { id: 3 } })).json.publisher.id).toBe(3);
    });

    test('and makes hidden rows indistinguishable from missing ones', async () => {
      const [gone, secret] = [
        await app.request('GET', '/api/publishers/999.json'),
        await app.request('GET', '/api/publishers/4.json'),
      ];
      expect({ ...secret.json, instance: '' }).toEqual({ ...gone.json, instance: '' });
    });
  });
});

describe.each(databases)('Location on %s', (kind) => {
  let app: RunningLibrary;
  beforeAll(async () => {
    const server = { base_url: 'https://library.example/v1' };
    app = await openLibrary(kind, { ...library, app_main: { ...library.app_main, server } });
  });
  afterAll(() => app?.close());

  test('starts with the configured base URL', async () => {
    const made = await app.request('POST', '/api/authors.json', { json: { name: 'Ada' } });
    expect(made.headers.get('location')).toBe(`https://library.example/v1/api/authors/${made.json.id}.json`);
  });
});

describe.each(databases)('mounted on another Fastify instance, on %s,', (kind) => {
  let database: FreshDatabase;
  let server: FastifyInstance;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    server = Fastify({ exposeHeadRoutes: false, routerOptions: { allowUnsafeRegex: true } });
    for (const prefix of ['/v1', '/v2/', '/v3/:realm']) {
      await server.register(declarest, { ...library, seed: undefined, databaseUrl: database.url, prefix } as never);
    }
    server.get('/own', () => ({ own: true }));
    await server.ready();
  });
  afterAll(async () => {
    await server?.close();
    await database?.drop();
  });

  test.each(['/v1', '/v2', '/v3/a%20b'])('the application responds under %s, with matching Location and links', async (base) => {
    const made = await server.inject({ method: 'POST', url: `${base}/api/authors.json`, payload: { name: 'Ada' } });
    const { id } = made.json();
    expect([made.statusCode, made.headers.location]).toEqual([201, `${base}/api/authors/${id}.json`]);
    expect((await server.inject(made.headers.location as string)).json()).toEqual(made.json());
    const branch = { type: 'printed', title: 'Here' };
    const placed = await server.inject({ method: 'POST', url: `${base}/api/branches/north/books.json`, payload: branch });
    expect(placed.headers.location).toBe(`${base}/api/branches/north/books/${placed.json().id}.json`);
    const page = (await server.inject(`${base}/api/authors.json?items_per_page=1&page=2`)).json();
    expect(page.pagination.previous).toMatch(/[?]items_per_page=1&page=1(&before=[\w-]+)?$/);
    expect(page.pagination.previous.startsWith(`${base}/api/authors.json?`)).toBe(true);
    expect((await server.inject(page.pagination.previous)).statusCode).toBe(200);
    const refused = await server.inject({ method: 'PUT', url: `${base}/api/authors.json` });
    expect([refused.statusCode, refused.headers.allow]).toEqual([405, 'GET, HEAD, POST']);
    expect((await server.inject(`${base}/api/authors/${id}.xml`)).statusCode).toBe(404);
    expect((await server.inject('/own')).json()).toEqual({ own: true });
  });
});
