import { defineEntity, p, Reference } from '@mikro-orm/core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ApiController } from '../../src/index.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

const define = (name: string, properties: object, more: object = {}): Any =>
  defineEntity({ name, properties: { id: p.integer().primary().groups('read', 'short'), ...properties }, ...more } as never);

const Shelf = define('Shelf', { name: p.string().groups('read'), books: () => p.oneToMany(Book).mappedBy('shelf') });
const Book = define('Book', {
  title: p.string().groups('read', 'write'),
  price: p.integer().groups('write'),
  half: p.integer().formula('(price / 2)').groups('read'),
  shelf: () => p.manyToOne(Shelf).groups('read'),
  revision: p.integer().version(),
});
const Beast = define(
  'Beast',
  { kind: p.enum(['beast', 'cat', 'dog']), name: p.string().nullable().groups('read', 'write') },
  { discriminatorColumn: 'kind', discriminatorValue: 'beast' },
);
const derive = (name: string, properties: object): Any =>
  defineEntity({ name, extends: Beast, discriminatorValue: name.toLowerCase(), properties } as never);
const Cat = derive('Cat', { lives: p.integer().nullable().groups('read') });
const Dog = derive('Dog', { barks: p.boolean().nullable().groups('read') });

/** What the handler returns. */
let result: (controller: Any) => unknown = () => undefined;

class HandlingController extends ApiController<Any> {
  override afterFetch() {}
  anyApi() {
    return result(this);
  }
}

let app: TestApplication;
beforeAll(async () => {
  const methods = { GET: true, POST: true, PUT: true };
  const formats = ['json', 'csv', 'ndjson', 'xml'];
  const any = { 'single-collection': 'collection', methods, formats };
  app = await startApplication({
    app_main: {
      server: { base_url: 'https://api.example' },
      formats,
      apis: {
        book: {
          class: Book,
          base_path: '/book',
          controller: HandlingController,
          sort: ['title'],
          actions: {
            _index: { methods: { GET: true, POST: true } },
            _entity: { methods: { GET: true, PUT: true, PATCH: true } },
            any,
          },
        },
        beast: {
          class: Beast,
          base_path: '/beast',
          controller: HandlingController,
          actions: { _index: { methods: { POST: true } }, _entity: null, any },
        },
        cat: { class: Cat, base_path: '/cat', controller: HandlingController, actions: { any } },
      },
    },
    models: [Shelf, Book, Beast, Cat, Dog],
    controllers: [HandlingController],
    databaseUrl: 'sqlite::memory:',
    seed: (em: Any) => {
      const shelf = em.create(Shelf, { name: 'left' });
      for (const title of ['one', 'two']) em.create(Book, { title, price: 4, shelf });
      em.create(Cat, { name: 'tom', lives: 9 });
      em.create(Dog, { name: 'rex', barks: true });
    },
  } as Any);
});
afterAll(() => app?.close());
beforeEach(() => {
  result = () => undefined;
});

const book = (id: number) => ({ id, title: id === 1 ? 'one' : 'two', half: 2, shelf: { id: 1, name: 'left' } });
const find = ({ em }: Any, id: number): Promise<Any> => em.findOneOrFail(Book, id);
const findBeasts = ({ em }: Any, ...names: string[]): Promise<Any> =>
  em.find(Beast, { name: { $in: names } }, { orderBy: { id: 1 } });
async function ask(method: string, path = '/book/any.json', headers: Record<string, string> = {}, json?: unknown) {
  const given = json ?? (method === 'GET' ? undefined : {});
  const response = await app.request(method, path, { headers, ...(given !== undefined && { json: given }) });
  const header = (name: string) => response.headers.get(name);
  return { status: response.status, text: response.text, json: response.json as Any, header };
}

describe.each(['GET', 'POST'])('the response to %s shows', (method) => {
  test.each<[string, (controller: Any) => unknown, unknown]>([
    ['an entity', (it) => find(it, 1), book(1)],
    ['a list', async (it) => [await find(it, 1), await find(it, 2)], [book(1), book(2)]],
    ['a set', async (it) => new Set([await find(it, 1)]), [book(1)]],
    ['a map', async (it) => new Map([['a', await find(it, 1)]]), { a: book(1) }],
    ['an object', async (it) => ({ a: { b: [await find(it, 1)] }, c: null, d: 1 }), { a: { b: [book(1)] }, c: null, d: 1 }],
    ['an object without a prototype', async (it) => Object.assign(Object.create(null), { a: await find(it, 1) }), { a: book(1) }],
    ['an entity that was not read', (it) => it.em.getReference(Book, 2), book(2)],
    ['a list of which some were not read', async (it) => [await find(it, 1), it.em.getReference(Book, 2)], [book(1), book(2)]],
    [
      'an entity without associations that was not read',
      (it) => [it.em.getReference(Cat, 1)],
      [{ id: 1, name: 'tom', lives: 9 }],
    ],
    ['a reference', (it) => [Reference.create(it.em.getReference(Book, 2))], [book(2)]],
    ['a collection', async ({ em }) => (await em.findOneOrFail(Shelf, 1, { populate: ['books'] })).books, [book(1), book(2)]],
    [
      'entities of several classes',
      async (it) => [await find(it, 1), ...(await findBeasts(it, 'tom', 'rex'))],
      [book(1), { id: 1, name: 'tom', lives: 9 }, { id: 2, name: 'rex', barks: true }],
    ],
    ['a number', () => 5, 5],
    ['null', () => null, null],
    ['groups of its own', async (it) => it.json(await find(it, 1), { groups: ['short'] }), { id: 1 }],
    [
      'a list of results',
      async (it) => ({ n: 2, results: [await find(it, 1), undefined, 5, () => 6], f: () => 7, none: undefined, 'a"b': [1] }),
      {
        n: 2,
        results: [book(1), null, 5, null],
        none: null,
        'a"b': [1],
      },
    ],
    ['results that are not a list', () => ({ results: 'none' }), { results: 'none' }],
    ['an empty list of results', () => ({ results: [] }), { results: [] }],
  ])('%s', async (_, given, expected) => {
    result = given;
    const { header, status, text } = await ask(method);
    expect([status, text, header('content-type')]).toEqual([200, JSON.stringify(expected), 'application/json; charset=utf-8']);
  });

  test('nothing with status 204, or the status of the handler', async () => {
    const { header, status, text } = await ask(method);
    expect([status, text, header('content-type')]).toEqual([204, '', null]);
    result = (it) => it.json(undefined, { status: 202, headers: { 'x-own': 'a' } });
    const own = await ask(method);
    expect([own.status, own.text, own.header('x-own')]).toEqual([202, '', 'a']);
  });

  test('violations with status 422 if the request writes, unless the handler sets a status', async () => {
    const violations = [{ propertyPath: 'title', title: 'is wrong' }];
    result = () => violations;
    expect((await ask(method)).status).toBe(method === 'GET' ? 200 : 422);
    result = (it) => it.json(violations, { status: 202 });
    expect(await ask(method)).toMatchObject({ status: 202, json: violations });
  });

  test.each<[string, string, (controller: Any) => unknown, string]>([
    ['an entity', '/book', (it) => find(it, 1), 'id,title,half,shelf.id,shelf.name\r\n1,one,2,1,left\r\n'],
    ['entities of a subclass', '/beast', (it) => findBeasts(it, 'tom'), 'id,name,lives,barks\r\n1,tom,9,\r\n'],
    ['entities of the class', '/cat', (it) => findBeasts(it, 'tom'), 'id,name,lives\r\n1,tom,9\r\n'],
    ['entities of other classes', '/book', (it) => findBeasts(it, 'tom'), 'id,name,lives\r\n1,tom,9\r\n'],
    [
      'entities of several other classes',
      '/cat',
      (it) => findBeasts(it, 'tom', 'rex'),
      'id,name,lives,barks\r\n1,tom,9,\r\n2,rex,,true\r\n',
    ],
    [
      'a page',
      '/book',
      async (it) => ({ count: 1, results: [await find(it, 2)], pagination: {} }),
      'id,title,half,shelf.id,shelf.name\r\n2,two,2,1,left\r\n',
    ],
    [
      'a page of a class with subclasses',
      '/beast',
      async (it) => ({ count: 1, results: await findBeasts(it, 'tom'), pagination: {} }),
      'id,name,lives,barks\r\n1,tom,9,\r\n',
    ],
    ['other values', '/book', () => [{ b: 1, a: 2 }], 'b,a\r\n1,2\r\n'],
    [
      'an entity beside other values',
      '/cat',
      async (it) => [...(await findBeasts(it, 'tom')), { a: 1 }],
      'id,name,lives,a\r\n1,tom,9,\r\n,,,1\r\n',
    ],
    ['an empty list', '/book', () => [], ''],
  ])('%s as CSV', async (_, path, given, expected) => {
    result = given;
    const { header, status, text } = await ask(method, `${path}/any.csv`);
    expect([status, text.replaceAll('\r\n', '\n')]).toEqual([200, expected.replaceAll('\r\n', '\n')]);
    expect(header('content-type')).toContain('text/csv');
  });

  test('a list of results as XML and NDJSON', async () => {
    result = () => ({ count: 2, pagination: {}, results: [{ a: 1 }, { a: 2 }] });
    expect((await ask(method, '/book/any.ndjson')).text).toBe('{"a":1}\n{"a":2}\n');
    expect((await ask(method, '/book/any.xml')).text).toContain('<results><item><a>1</a></item><item><a>2</a></item></results>');
  });
});

test('the response to a write shows computed columns as they are stored', async () => {
  for (const shape of [(one: Any, two: Any) => [one, two], (one: Any, two: Any) => ({ results: [two, one] })]) {
    result = async (it) => {
      const [one, two] = [await find(it, 1), await find(it, 2)];
      one.price = 20;
      one.half = two.half = 99;
      await it.em.flush();
      return shape(one, two);
    };
    const { json } = await ask('POST');
    const halves = Object.fromEntries((json.results ?? json).map(({ half, id }: Any) => [id, half]));
    expect(halves).toEqual({ 1: 10, 2: 2 });
    result = async (it) => {
      (await find(it, 1)).price = 4;
      await it.em.flush();
    };
    expect((await ask('POST')).status).toBe(204);
  }
  const create = (it: Any) => it.em.create(Book, { title: 'new', price: 8, shelf: 1 }, { persist: false });
  const created = { title: 'new', shelf: { id: 1, name: 'left' } };
  result = create;
  expect((await ask('POST')).json).toMatchObject(created);
  result = async (it) => [await find(it, 1), create(it)];
  expect((await ask('POST')).json).toMatchObject([book(1), created]);
});

describe('the ETag', () => {
  test('of a reading handler answers conditional requests', async () => {
    for (const [given, form] of [
      [(it: Any) => find(it, 1), /^"[0-9a-f]{16}\.[0-9a-f]{16}"$/],
      [async (it: Any) => it.json([await find(it, 1)], { headers: { 'x-own': 'a' } }), /^W\/"[0-9a-f]{16}"$/],
      [(it: Any) => it.json({ a: 1 }, { headers: { ETag: '"mine"' } }), /^"mine"$/],
    ] as const) {
      result = given;
      const first = await ask('GET');
      const tag = first.header('etag') as string;
      expect(tag).toMatch(form);
      const again = await ask('GET', undefined, { 'if-none-match': tag });
      expect([again.status, again.text, again.header('etag'), again.header('content-type')]).toEqual([304, '', tag, null]);
      expect(again.header('x-own')).toBe(first.header('x-own'));
      const other = await ask('GET', undefined, { 'if-none-match': '"other"' });
      expect([other.status, other.text]).toEqual([200, first.text]);
      expect((await ask('GET', undefined, { 'if-match': '"other"' })).status).toBe(412);
    }
  });

  test('is missing if the handler writes or sets another status', async () => {
    result = (it) => find(it, 1);
    for (const method of ['POST', 'PUT']) {
      const { header, status } = await ask(method);
      expect([status, header('etag'), header('content-location')]).toEqual([200, null, null]);
    }
    result = async (it) => it.json(await find(it, 1), { status: 203 });
    expect((await ask('GET')).header('etag')).toBeNull();
  });

  test('of a written entity is that of its next GET, and PUT names its URL', async () => {
    const made = await ask('POST', '/beast.json', {}, { kind: 'cat', name: 'kit' });
    const fetched = await ask('GET', `/beast/${made.json.id}.json`);
    expect([made.status, made.text, made.header('etag')]).toEqual([201, fetched.text, fetched.header('etag')]);
    for (const method of ['PATCH', 'PUT']) {
      const written = await ask(method, '/book/2.json', {}, { title: 'two', price: 4 });
      const read = await ask('GET', '/book/2.json');
      expect([written.status, written.text, written.header('etag')]).toEqual([200, read.text, read.header('etag')]);
      expect(written.header('content-location')).toBe(method === 'PUT' ? 'https://api.example/book/2.json' : null);
    }
  });
});

test('a list of entities has only the chosen fields', async () => {
  for (const [path, results] of [
    ['/book.json?fields=id,shelf.name&sort=title', [1, 2].map((id) => ({ id, shelf: { name: 'left' } }))],
    ['/book.json?fields=title&sort=-title', [{ title: 'two' }, { title: 'one' }]],
  ] as const) {
    const { json } = await ask('GET', path);
    expect(json).toMatchObject({ count: 2, pagination: { more: false } });
    expect(json.results).toEqual(results);
  }
  expect((await ask('GET', '/book.csv?fields=title')).text).toMatch(/^title\r?\none\r?\ntwo\r?\n$/);
});
