import { UnitOfWork } from '@mikro-orm/core';
import { afterEach, beforeEach, describe, expect, vi } from 'vitest';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { permutations, Random, seed } from '../support/random.ts';
import {
  type Features,
  items,
  methods,
  type OracleApp,
  plain,
  randomFeatures,
  randomScript,
  type Script,
  type Step,
  startOracle,
} from './method-oracle-app.ts';

/** How many random models there are on each database, and how many owners of each. */
const models = Number(process.env.ORACLE_MODELS ?? 2);
const owners = Number(process.env.ORACLE_OWNERS ?? 4);

type Any = any;

interface LinkRequest {
  readonly method: (typeof methods)[number];
  readonly item: number;
}

/** One owner with its own items in both applications. */
interface Case {
  readonly script: Script;
  readonly requests: readonly LinkRequest[];
}

/** An application, the owner of a case, and the items by their number in the script. */
class Side {
  readonly #app: OracleApp;
  readonly box: number;
  readonly items: readonly number[];

  constructor(app: OracleApp, box: number, items: readonly number[]) {
    this.#app = app;
    this.box = box;
    this.items = items;
  }

  static async make(oracle: OracleApp, { script }: Case): Promise<Side> {
    const { app } = oracle;
    const post = async (path: string, json: object) => (await app.request('POST', path, { json })).json.id as number;
    const other = await post('/box.json', { script: '{}' });
    const ids: number[] = [];
    for (const number of items) {
      const place = number === 1 ? null : { id: number - 1 };
      ids.push(await post('/item.json', { name: `item ${number}`, place, home: number === 2 ? { id: other } : null }));
    }
    // scripts name items by their number, methods see their keys
    const own = Object.entries(script).map(([name, steps]) => {
      const [method, number] = name.split(' ');
      return [`${method} ${ids[Number(number) - 1]}`, steps];
    });
    const box = await post('/box.json', { script: JSON.stringify(Object.fromEntries(own)) });
    return new Side(oracle, box, ids);
  }

  async send({ item, method }: LinkRequest) {
    const [, verb, name] = /^(add|remove)(.*)$/.exec(method) as unknown as [string, string, string];
    const path = `/box/${this.box}/${name.toLowerCase()}s.json`;
    const id = this.items[item - 1];
    const { json, status } = await this.#app.app.request(verb === 'add' ? 'POST' : 'DELETE', path, { json: { id } });
    return { status, body: status < 300 ? this.#plain(json) : (json.code ?? json.title) };
  }

  async state(): Promise<unknown> {
    const em = this.#app.app.application.mapper.em.fork();
    const rows = async (sql: string, ...own: unknown[]) => (await em.execute(sql, own as never)) as Any[];
    const boxes = await rows('select * from box where id in (?, ?) order by id', this.box - 1, this.box);
    const held = await rows('select * from row where box_id in (?, ?)'.replace('row', '"row"'), this.box - 1, this.box);
    const own = await rows('select * from item where id in (?, ?, ?) order by id', ...this.items);
    const tags = await rows('select item_id from box_tags where box_id = ? order by item_id', this.box);
    const places = await rows('select id, name from place');
    const text = (row: Any, withParent = true): string => {
      const parent = row.parent_id && withParent ? held.find(({ id }) => id === row.parent_id) : null;
      return JSON.stringify(this.#stored({ ...row, parent_id: row.parent_id && (parent ? text(parent, false) : '?') }, places));
    };
    return {
      boxes: boxes.map((box) => this.#stored({ ...box, script: '' }, places)),
      items: own.map((item) => this.#stored(item, places)),
      rows: held.map((row) => text(row)).sort(),
      tags: tags.map(({ item_id }) => this.items.indexOf(item_id) + 1),
    };
  }

  calls(): Record<string, number> {
    const counted = Object.fromEntries([...this.#app.calls].sort());
    this.#app.calls.clear();
    return counted;
  }

  /** Without keys, which differ between applications. */
  #stored({ id, ...row }: Any, places: Any[]): unknown {
    const own = Object.entries(row).map(([name, value]: [string, Any]) => {
      if (name === 'item_id') return [name, this.items.indexOf(value) + 1];
      if (name === 'box_id' || name === 'home_id') return [name, value && value - this.box];
      if (name === 'place_id') return [name, places.find((place) => place.id === value)?.name ?? null];
      if (name === 'data') return [name, sorted(typeof value === 'string' ? JSON.parse(value) : value)];
      return [name, value];
    });
    return Object.fromEntries(own.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)));
  }

  #plain(value: Any): unknown {
    if (Array.isArray(value))
      return value.map((each) => this.#plain(each)).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    if (typeof value !== 'object' || value === null) return value;
    const { id: _, ...rest } = value;
    return sorted(Object.fromEntries(Object.entries(rest).map(([name, each]) => [name, this.#plain(each)])));
  }
}

/** Lists are read by statements of their own, which may come after another request. */
function withoutLists(response: Any): unknown {
  return JSON.parse(JSON.stringify(response), (_, value) => (Array.isArray(value) ? undefined : value));
}

function sorted(value: Any): unknown {
  if (Array.isArray(value) || typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, sorted(value[name])]),
  );
}

function randomCase(random: Random, features: Features): Case {
  const requests = Array.from({ length: 6 }, () => ({ method: random.of(methods), item: random.of(items) }));
  return { script: randomScript(random, features), requests };
}

describe.each(databases)(`random methods that add and remove on %s (TEST_SEED=${seed})`, (kind) => {
  let commits: { mock: { calls: unknown[] }; mockClear(): void };
  beforeEach(() => {
    commits = vi.spyOn(UnitOfWork.prototype, 'commit');
  });
  afterEach(() => vi.restoreAllMocks());
  const fresh: FreshDatabase[] = [];
  const start = async (features: Features, byEntities: boolean) => {
    const database = await freshDatabase(kind);
    fresh.push(database);
    return startOracle(database.url, features, byEntities);
  };

  /** Sends the requests of a case to both applications, one after the other. Returns the first difference. */
  const compare = async (rows: OracleApp, entities: OracleApp, each: Case, seen?: (got: Any, request: LinkRequest) => void) => {
    const [fast, slow] = [await Side.make(rows, each), await Side.make(entities, each)];
    fast.calls();
    slow.calls();
    const sent: unknown[] = [];
    for (const request of each.requests) {
      commits.mockClear();
      const got = { response: await fast.send(request), calls: fast.calls(), state: await fast.state() };
      seen?.(got, request);
      const expected = { response: await slow.send(request), calls: slow.calls(), state: await slow.state() };
      sent.push([request, each.script[`${request.method} ${request.item}`]]);
      if (JSON.stringify(got) !== JSON.stringify(expected)) return { sent, got, expected };
    }
    return null;
  };

  /** Runs work with an application of each kind. */
  const withBoth = async (features: Features, work: (rows: OracleApp, entities: OracleApp) => Promise<void>) => {
    const [rows, entities] = [await start(features, false), await start(features, true)];
    try {
      await work(rows, entities);
    } finally {
      await rows.app.close();
      await entities.app.close();
      for (const database of fresh.splice(0)) await database.drop();
    }
  };

  test.each([true, false])('do the same in cases that differed once, with orphanRemoval: %s', async (orphanRemoval) => {
    const make: Step = ['make', {}];
    const cases: readonly (readonly Step[])[] = [
      // a new row, and a stored one, that get another owner
      [make, ['move', 2]],
      [['move', 0]],
      [
        ['readd', 0],
        ['move', 0],
      ],
      // a row that is not in the association when the method ends: the response embeds its item, whose place is also the owner's
      [make, ['clear'], ['return', 'made']],
      [make, ['drop', 2], ['return', 'dropped']],
      [['drop', 0]],
      // rows that refer to a removed one
      [
        ['make', { parent: 0 }],
        ['drop', 0],
      ],
      [
        ['set', 1, { parent: 0 }],
        ['drop', 0],
      ],
    ];
    const features = { ...plain, orphanRemoval, selfReference: true };
    await withBoth(features, async (rows, entities) => {
      const different: unknown[] = [];
      for (const steps of cases) {
        const script: Script = {
          'addItem 1': [['make', { note: 'a' }]],
          'addItem 3': [['make', { note: 'b' }]],
          'removeItem 2': [
            ['drop', 0],
            ['own', { place: 'item' }],
          ],
          'addItem 2': steps,
        };
        const added = [1, 3, 2].map((item) => ({ method: 'addItem', item }) as const);
        const requests = [{ method: 'removeItem', item: 2 } as const, ...added];
        const fault = await compare(rows, entities, { script, requests });
        if (fault) different.push({ steps, ...fault });
      }
      expect(different).toEqual([]);
    });
  });

  test.each(Array.from({ length: models }, (_, i) => i))(
    'have the effect of a serial order under concurrent requests, model %i',
    async (model) => {
      const random = new Random((seed + model * 7919 + 1) | 0);
      const features = { ...randomFeatures(random), uniqueCode: false };
      await withBoth(features, async (rows, entities) => {
        for (let i = 0; i < owners; i++) {
          const { requests, script } = randomCase(random, features);
          const [before, together] = [requests.slice(0, 2), requests.slice(2, random.chance(0.3) ? 5 : 4)];
          const fast = await Side.make(rows, { script, requests });
          for (const request of before) await fast.send(request);
          const responses = await Promise.all(together.map((request) => fast.send(request)));
          const got = JSON.stringify([responses.map(withoutLists), await fast.state()]);
          const expected: string[] = [];
          for (const order of permutations(together.map((_, place) => place))) {
            const slow = await Side.make(entities, { script, requests });
            for (const request of before) await slow.send(request);
            const inOrder: unknown[] = [];
            for (const place of order) inOrder[place] = await slow.send(together[place] as LinkRequest);
            expected.push(JSON.stringify([inOrder.map(withoutLists), await slow.state()]));
            if (expected.at(-1) === got) break;
          }
          const steps = requests.map(({ item, method }) => [method, item, script[`${method} ${item}`]]);
          if (!expected.includes(got)) expect({ features, owner: i, steps, got, expected }).toBeNull();
        }
      });
    },
    120_000,
  );

  test.each(Array.from({ length: models }, (_, i) => i))(
    'do the same on rows as on entities, model %i',
    async (model) => {
      const random = new Random((seed + model * 7919) | 0);
      const features = randomFeatures(random);
      let changes = 0;
      let byStatements = 0;
      await withBoth(features, async (rows, entities) => {
        for (let i = 0; i < owners; i++) {
          const fault = await compare(rows, entities, randomCase(random, features), ({ calls, response }, { method }) => {
            if (response.status !== 200 || !calls[method]) return;
            changes++;
            if (commits.mock.calls.length === 0) byStatements++;
          });
          expect(fault && JSON.stringify({ features, owner: i, ...fault }, null, 1)).toBeNull();
        }
      });
      expect(byStatements).toBeGreaterThan(changes / 10);
    },
    120_000,
  );
});
