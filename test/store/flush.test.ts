// @module-tag divided
import { defineEntity, p, UnitOfWork } from '@mikro-orm/core';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { ApiController, type ApiRequest } from '../../src/index.ts';
import { longestTurn } from '../support/cpu-time.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const many = 700;

/** The items of a list that MikroORM compares with another list for a long time. */
const most = 1500;

/** More entities than a step writes. */
const mostAtOnce = 300;

const Member = defineEntity({
  name: 'Member',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().default('m').groups('read'),
    teams: () => p.manyToMany(Team).mappedBy('members'),
  },
});
const Team = defineEntity({
  name: 'Team',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    version: p.integer().version().default(1).groups('read'),
    members: () => p.manyToMany(Member).inversedBy('teams').groups('read', 'write'),
  },
});
const Shop = defineEntity({
  name: 'Shop',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    goods: () => p.oneToMany(Good).mappedBy('shop').groups('read', 'write'),
  },
});
const Good = defineEntity({
  name: 'Good',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    code: p.integer().nullable().unique().groups('read', 'write'),
    shop: () => p.manyToOne(Shop).nullable(),
  },
});

/** What the last request passed to code of the application after everything was written. */
const seen: { items: number; isKnown: boolean }[] = [];

/** Makes its API write entities. */
class HookedController extends ApiController {
  override afterCommit(_action: string, _request: ApiRequest, entity: any): void {
    const list = entity.members ?? entity.goods;
    if (!list?.isInitialized()) return;
    const isKnown = [entity, ...list].every((each) => this.em.getUnitOfWork().getById(each.constructor, each.id) === each);
    seen.push({ items: list.length, isKnown });
  }
}

const numbers = (count: number, from = 1) => Array.from({ length: count }, (_, i) => from + i);
const references = (count: number, from = 1) => numbers(count, from).map((id) => ({ id }));

describe.each(databases)('a write of many entities on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  let atOnce: number;

  beforeAll(async () => {
    database = await freshDatabase(kind);
    const actions = {
      _index: { methods: { POST: true }, bulk: { POST: true, PATCH: true, DELETE: true } },
      _entity: { methods: { GET: true, PATCH: true, PUT: true, DELETE: true } },
    };
    const api = (name: string) => ({ class: name, controller: 'HookedController', base_path: `/${name.toLowerCase()}`, actions });
    app = await startApplication({
      app_main: {
        database: { url: database.url, schema: 'update' },
        apis: { team: api('Team'), shop: { ...api('Shop'), nested: { goods: { max_items: many } } }, good: api('Good') },
      } as never,
      models: [Team, Member, Shop, Good],
      controllers: [HookedController],
      seed: async (em) => {
        await em.insertMany(Member, references(2 * most) as never);
      },
    });
    const compute = UnitOfWork.prototype.computeChangeSets;
    vi.spyOn(UnitOfWork.prototype, 'computeChangeSets').mockImplementation(function (this: UnitOfWork) {
      compute.call(this);
      atOnce = Math.max(atOnce, new Set([...this.getIdentityMap(), ...this.getPersistStack()]).size);
    });
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    await app?.close();
    await database?.drop();
  });
  beforeEach(async () => {
    const em = app.application.mapper.em.fork();
    for (const table of ['team_members', 'good', 'team', 'shop']) await em.execute(`delete from ${table}`);
    atOnce = 0;
    seen.length = 0;
  });

  const sent = async (method: string, path: string, json: object, status: number) => {
    const { json: body, status: got } = await app.request(method, path, { json });
    expect([got, got >= 400 && body]).toEqual([status, status >= 400 && body]);
    return body;
  };
  const stored = async (path: string) => (await app.request('GET', path)).json;

  /** Creates a row, and returns its path. */
  const created = async (path: string, body: object) => `${path}/${(await sent('POST', `${path}.json`, body, 201)).id}.json`;

  test.each(['PATCH', 'PUT'])('replaces a long list of references by %s, and counts the change once', async (method) => {
    const path = await created('/team', { name: 'a', members: references(many) });
    expect(await stored(path)).toMatchObject({ version: 1, members: references(many).map((each) => ({ ...each, name: 'm' })) });
    for (const [from, version] of [
      [many / 2, 2],
      [many / 2, 2],
      [many, 3],
    ] as const) {
      const body = await sent(method, path, { name: 'a', members: references(many, from).reverse() }, 200);
      expect(body).toMatchObject({ version, members: references(many, from) });
      expect(await stored(path)).toEqual(body);
    }
    await sent(method, path, { name: 'b', members: [] }, 200);
    expect(await stored(path)).toMatchObject({ name: 'b', version: 4, members: [] });
    expect(atOnce).toBeLessThan(mostAtOnce);
    expect(seen.map(({ isKnown }) => isKnown)).toEqual([true, true, true, true, true]);
    expect(seen.map(({ items }) => items)).toEqual([many, many, many, many, 0]);
  });

  test('moves many rows to another owner, and back to none', async () => {
    const goods = (
      await sent(
        'POST',
        '/good.json',
        numbers(many).map((i) => ({ name: `good ${i}` })),
        201,
      )
    ).results;
    const ids = goods.map(({ id }: { id: number }) => ({ id }));
    const [first, second] = [await created('/shop', { name: 'a', goods: ids }), await created('/shop', { name: 'b', goods: [] })];
    expect(await sent('PATCH', second, { goods: ids.slice(100) }, 200)).toMatchObject({ goods: goods.slice(100) });
    expect(await stored(first)).toMatchObject({ goods: goods.slice(0, 100) });
    await sent('PUT', second, { name: 'c', goods: ids.slice(0, 50) }, 200);
    expect([await stored(first), await stored(second)]).toMatchObject([
      { goods: goods.slice(50, 100) },
      { goods: goods.slice(0, 50) },
    ]);
    expect(atOnce).toBeLessThan(mostAtOnce);
  });

  test('creates rows with their owner', async () => {
    const goods = numbers(many).map((i) => ({ name: `good ${i}`, code: i }));
    const body = await sent('POST', '/shop.json', { name: 'a', goods }, 201);
    expect(body.goods).toMatchObject(goods);
    expect(await stored(`/shop/${body.id}.json`)).toEqual(body);
    expect([atOnce < mostAtOnce, seen]).toEqual([true, [{ items: many, isKnown: true }]]);
  });

  test('creates and changes all rows of a list, or none', async () => {
    const goods = numbers(many).map((i) => ({ name: `good ${i}`, code: i }));
    const { results } = await sent('POST', '/good.json', goods, 201);
    expect(results).toMatchObject(goods);
    const changed = results.map(({ id, code }: { id: number; code: number }) => ({ id, name: `changed ${code}` }));
    expect((await sent('PATCH', '/good.json', changed, 200)).results).toMatchObject(changed);
    expect(atOnce).toBeLessThan(mostAtOnce);
    const last = changed.at(-1) as { id: number };
    const refused = changed.map(({ id }: { id: number }) => (id === last.id ? { id, code: 1 } : { id, name: 'lost' }));
    expect(await sent('PATCH', '/good.json', refused, 409)).toMatchObject({ code: 'conflict_unique', index: many - 1 });
    expect(
      await sent('POST', '/good.json', [...goods.map(({ name }) => ({ name })), { name: 'lost', code: 1 }], 409),
    ).toMatchObject({
      index: many,
    });
    expect(await stored(`/good/${results[0].id}.json`)).toMatchObject({ name: 'changed 1', code: 1 });
    expect(await app.application.mapper.em.fork().execute('select count(*) as n from good')).toMatchObject([
      { n: expect.toSatisfy((n) => Number(n) === many) },
    ]);
  });

  test('gives unique values from one row of a list to another', async () => {
    const { results } = await sent(
      'POST',
      '/good.json',
      numbers(many).map((code) => ({ name: 'a', code })),
      201,
    );
    const items = results.map(({ id }: { id: number }) => ({ id, name: 'b' }));
    // the row whose value becomes null is written in the last step
    Object.assign(items[0], { code: many });
    Object.assign(items.at(-1), { code: null });
    const changed = (await sent('PATCH', '/good.json', items, 200)).results;
    expect([changed[0].code, changed.at(-1).code]).toEqual([many, null]);
  });

  test('occupies the process for a small part of its time only', async () => {
    const path = await created('/team', { name: 'a', members: references(most) });
    const { total, longest } = await longestTurn(() => sent('PATCH', path, { members: references(most, most + 1) }, 200));
    expect(longest / total).toBeLessThan(1 / 4);
  });
});
