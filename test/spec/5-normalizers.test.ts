import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  ApiController,
  type ApiRequest,
  createServer,
  type DeclarationErrors,
  type ModelQuery,
  Normalizer,
} from '../../src/index.ts';
import { openApiDocument } from '../../src/openapi/document.ts';
import { databases } from '../support/databases.ts';
import { partOf } from '../support/random.ts';
import { accessSuite, startApplication } from '../support/testing.ts';
import { everything, useApplication } from './fixtures/use-application.ts';

const Money = defineEntity({
  name: 'Money',
  embeddable: true,
  properties: {
    amount: p.integer().groups('read', 'write'),
    currency: p.string().groups('read', 'write'),
    secret: p.string().default('hush'),
  },
} as never) as any;
const Maker = defineEntity({
  name: 'Maker',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    hidden: p.boolean().default(false),
  },
});
const Lamp: any = defineEntity({
  name: 'Lamp',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().groups('read', 'write'),
    pin: p.string().default('1234'),
    price: () => p.embedded(Money).nullable().groups('read', 'write'),
    maker: () => p.manyToOne(Maker).nullable().groups('read', 'write'),
    tags: () => p.manyToMany(Tag).groups('read', 'write'),
  },
} as never);
const Tag = defineEntity({
  name: 'Tag',
  properties: { id: p.integer().primary().groups('read'), label: p.string().groups('read'), note: p.string().default('n') },
});

const given: unknown[] = [];

class TitleNormalizer extends Normalizer {
  static override properties = ['Lamp.title', 'Lamp.pin'];
  static override schema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
  override normalize(value: unknown) {
    given.push(value);
    return { text: String(value).toUpperCase() };
  }
}
class MoneyNormalizer extends Normalizer {
  static override models = ['Money'];
  static override schema = { type: 'string' };
  override normalize(value: unknown) {
    given.push(value);
    const { amount, currency } = value as { amount: number; currency: string };
    return `${amount} ${currency}`;
  }
}
class MakerNormalizer extends Normalizer {
  static override properties = ['Lamp.maker'];
  static override schema = { type: ['string', 'null'] };
  override normalize(value: unknown) {
    given.push(value);
    return (value as { name: string } | null)?.name ?? null;
  }
}
class TagNormalizer extends Normalizer {
  static override models = ['Tag'];
  static override schema = {
    type: 'object',
    properties: { name: { type: 'string' }, id: { type: 'integer' } },
    required: ['name', 'id'],
  };
  override normalize(value: unknown) {
    given.push(value);
    const { id, label } = value as { id: number; label: string };
    return { name: label, id };
  }
}

class MakerController extends ApiController<{ hidden: boolean }> {
  override customizeQuery(_action: string, _request: ApiRequest, query: ModelQuery<{ hidden: boolean }>) {
    query.andWhere({ hidden: false });
  }
}
class LampController extends ApiController<object> {
  async bothApi(_request: ApiRequest) {
    return { lamps: await this.em.findAll(Lamp, { orderBy: { id: 'asc' } } as never), tags: await this.em.findAll(Tag) };
  }
}

const options = {
  app_main: {
    formats: ['json', 'xml', 'csv', 'ndjson'],
    apis: {
      lamp: {
        class: Lamp,
        base_path: '/lamp',
        controller: LampController,
        actions: { ...everything, both: { methods: { GET: true }, 'single-collection': 'collection' } },
      },
      maker: { class: Maker, base_path: '/maker', controller: MakerController, actions: everything },
      tag: { class: Tag, base_path: '/tag', actions: { _index: null, _entity: null } },
    },
  },
  models: [Lamp, Maker, Tag, Money],
  controllers: [MakerController, LampController],
  normalizers: [TitleNormalizer, MoneyNormalizer, MakerNormalizer, TagNormalizer],
} as const;

const variants = databases.flatMap((kind, turn) =>
  partOf([true, false], 2, turn).map((compiledReads) => ({ kind, compiledReads })),
);

describe.each(variants)('normalizers on $kind, compiled: $compiledReads', ({ compiledReads, kind }) => {
  const running = useApplication(kind, { ...options, compiledReads } as never);
  beforeAll(async () => {
    await running.rows(`insert into maker (id, name, hidden) values (1, 'Ada', false), (2, 'Eve', true)`);
    await running.rows(`insert into tag (id, label, note) values (1, 'red', 'n'), (2, 'blue', 'n')`);
    const price = 'price_amount, price_currency, price_secret';
    await running.rows(
      `insert into lamp (title, pin, ${price}, maker_id) values ('one', '9', 5, 'EUR', 's', 1), ('two', '9', null, null, null, 2)`,
    );
    await running.rows('insert into lamp_tags (lamp_id, tag_id) values (1, 1), (1, 2)');
  });
  const first = {
    id: 1,
    title: { text: 'ONE' },
    price: '5 EUR',
    maker: 'Ada',
    tags: [
      { name: 'red', id: 1 },
      { name: 'blue', id: 2 },
    ],
  };
  const second = { id: 2, title: { text: 'TWO' }, price: null, maker: null, tags: [] };
  const get = (path: string) => running.request('GET', path);

  test('change values in every response, and run once per value', async () => {
    given.length = 0;
    expect((await get('/lamp/1.json')).json).toEqual(first);
    expect(given.length).toBe(5);
    expect((await get('/lamp.json')).json.results).toEqual([first, second]);
    expect((await get('/tag.json')).json.results).toEqual(first.tags);
    expect((await get('/lamp/both.json')).json).toEqual({ lamps: [first, second], tags: first.tags });
  });

  test('never get hidden values', async () => {
    given.length = 0;
    await get('/lamp.json');
    await get('/lamp/both.json');
    const seen = JSON.stringify(given);
    for (const hidden of ['Eve', 'hush', '1234', 'secret', 'note', 'pin'])
      expect([hidden, seen.includes(hidden)]).toEqual([hidden, false]);
    expect((await get('/lamp/1.json')).json).not.toHaveProperty('pin');
  });

  test('apply to exports and other formats', async () => {
    expect(
      (await get('/lamp.ndjson')).text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual([first, second]);
    const csv = (await get('/lamp.csv')).text.split('\r\n');
    expect(csv[0]).toBe('id,title,price,maker,tags');
    expect(csv[1]).toBe(`1,"{""text"":""ONE""}",5 EUR,Ada,"[{""name"":""red"",""id"":1},{""name"":""blue"",""id"":2}]"`);
    expect((await get('/tag.csv')).text).toBe('name,id\r\nred,1\r\nblue,2\r\n');
    expect((await get('/lamp/1.csv')).text).toContain('5 EUR,Ada');
    expect((await get('/lamp/1.xml')).text).toContain('<title><text>ONE</text></title><price>5 EUR</price>');
  });

  test('apply to the response of a write, but not to request bodies', async () => {
    const made = await running.request('POST', '/lamp.json', {
      json: { title: 'new', price: { amount: 1, currency: 'CHF' }, maker: { id: 1 } },
    });
    expect([made.status, made.json]).toEqual([
      201,
      { id: made.json.id, title: { text: 'NEW' }, price: '1 CHF', maker: 'Ada', tags: [] },
    ]);
    const path = `/lamp/${made.json.id}.json`;
    expect((await running.request('PATCH', path, { json: { title: 'newer' } })).json.title).toEqual({ text: 'NEWER' });
    expect((await get(path)).json.title).toEqual({ text: 'NEWER' });
    expect((await running.request('DELETE', path)).status).toBe(204);
  });

  test('allow the fields parameter only for whole normalized values', async () => {
    expect((await get('/lamp.json?fields=title,maker')).json.results[0]).toEqual({ title: first.title, maker: 'Ada' });
    expect((await get('/tag.json?fields=name')).json.results).toEqual([{ name: 'red' }, { name: 'blue' }]);
    expect((await get('/tag.json?fields=label')).status).toBe(400);
    expect((await get('/lamp.json?fields=tags.name')).json.results[0]).toEqual({ tags: [{ name: 'red' }, { name: 'blue' }] });
    expect((await get('/lamp.json?fields=tags.label')).status).toBe(400);
    expect((await get('/tag.csv?fields=name')).text).toBe('name\r\nred\r\nblue\r\n');
    expect((await get('/lamp.json?fields=maker.name')).status).toBe(400);
    expect((await get('/lamp.json?fields=price.amount')).status).toBe(400);
    expect((await get('/lamp.csv?fields=id,price')).text).toContain('id,price\r\n1,5 EUR\r\n');
  });

  test('are described in OpenAPI by their schemas', () => {
    const { components } = openApiDocument(running.app.application, { title: 'x', version: '1' }) as any;
    expect(components.schemas.Lamp.properties.title).toMatchObject(TitleNormalizer.schema);
    expect(components.schemas.Lamp.properties.price.anyOf).toEqual([{ type: 'string' }, { type: 'null' }]);
    expect(components.schemas.Tag).toMatchObject(TagNormalizer.schema);
  });
});

describe('the access suite of an application with normalizers', async () => {
  const { lamp, ...others } = options.app_main.apis;
  const { both: _, ...actions } = lamp.actions;
  await accessSuite({
    ...options,
    app_main: { ...options.app_main, apis: { ...others, lamp: { ...lamp, actions } } },
    seed: async (em: any) => {
      em.create(Maker, { name: 'Ada', hidden: false });
      em.create(Maker, { name: 'Eve', hidden: true });
      const tag = em.create(Tag, { label: 'red', note: 'n' });
      em.create(Lamp, { title: 'one', pin: '9', price: { amount: 1, currency: 'EUR', secret: 's' }, tags: [tag] });
      await em.flush();
    },
    test,
    afterAll,
  } as never);
});

test('reads are compiled if only properties have normalizers', async () => {
  const app = await startApplication({
    ...options,
    normalizers: [TitleNormalizer, MakerNormalizer],
    databaseUrl: 'sqlite::memory:',
  } as never);
  try {
    app.statements.length = 0;
    expect((await app.explain('GET', '/lamp.json')).status).toBe(200);
    const { routeStores } = await import('../../src/inspect/stores.ts');
    const stores = await routeStores(app.application);
    const index = stores.find(({ record, method }) => record.name === 'app_api_single_lamp__index' && method === 'GET');
    expect(index?.reason).toBeNull();
  } finally {
    await app.close();
  }
});

test('another application with the same models has its own normalizers', async () => {
  const start = (normalizers: readonly unknown[]) =>
    startApplication({ ...options, normalizers, databaseUrl: 'sqlite::memory:' } as never);
  const plain = await start([]);
  const normalized = await start([TitleNormalizer]);
  try {
    for (const [app, title] of [
      [plain, 'one'],
      [normalized, { text: 'ONE' }],
    ] as const) {
      const made = await app.request('POST', '/lamp.json', { json: { title: 'one' } });
      expect(made.json.title).toEqual(title);
      expect((await app.request('GET', '/lamp.json')).json.results[0].title).toEqual(title);
    }
  } finally {
    await plain.close();
    await normalized.close();
  }
});

describe('a normalizer', () => {
  const mistakes = async (normalizers: readonly unknown[], more: object = {}) => {
    const { app_main } = options;
    const lamp = { ...app_main.apis.lamp, ...more };
    const given = { ...options, app_main: { ...app_main, apis: { ...app_main.apis, lamp } }, normalizers };
    const error = await createServer({ ...given, databaseUrl: 'sqlite::memory:' } as never).then(
      async (app) => app.close().then(() => null),
      (thrown: DeclarationErrors) => thrown,
    );
    return error?.errors.map(({ message }) => message) ?? [];
  };

  test('that serves nothing, an unknown target, or the target of another one is a start error', async () => {
    class Idle extends TitleNormalizer {
      static override properties = [];
    }
    class Lost extends TitleNormalizer {
      static override properties = ['Lamp.titel'];
      static override models = ['Lam'];
    }
    class Rival extends TitleNormalizer {}
    class Single extends TitleNormalizer {}
    Object.assign(Single, { properties: 'Lamp.title' });
    expect(await mistakes([Single])).toEqual([
      "Single must declare what it handles: static properties = ['Course.price'], or static models = ['Money']",
    ]);
    expect(await mistakes([Idle])).toEqual([
      "Idle must declare what it handles: static properties = ['Course.price'], or static models = ['Money']",
    ]);
    expect(await mistakes([Lost])).toEqual([
      'Lost handles "Lamp.titel", which is not a property of a model; write Model.property, for example Course.price',
      'Lost handles "Lam", which is not a model of the application',
    ]);
    expect((await mistakes([TitleNormalizer, Rival]))[0]).toBe(
      'Rival and TitleNormalizer both handle Lamp.title; remove it from one of them',
    );
  });

  test('prevents filters on its property, because the stored value differs', async () => {
    const [message] = await mistakes([TitleNormalizer], { filters: { title: ['eq'] } });
    expect(message).toContain('is not returned as the database stores it');
    expect(await mistakes([], { filters: { title: ['eq'] } })).toEqual([]);
  });

  test('that returns a promise makes the request return 500', async () => {
    class Late extends Normalizer {
      static override properties = ['Lamp.title'];
      override async normalize() {
        return 'late';
      }
    }
    for (const compiledReads of [true, false]) {
      const app = await startApplication({
        ...options,
        compiledReads,
        normalizers: [Late],
        databaseUrl: 'sqlite::memory:',
      } as never);
      try {
        expect((await app.request('POST', '/lamp.json', { json: { title: 'one' } })).status).toBe(500);
      } finally {
        await app.close();
      }
    }
  });
});
