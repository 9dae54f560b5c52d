// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, Voter } from '../../src/index.ts';
import { routeStores } from '../../src/inspect/stores.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

const Home = defineEntity({ name: 'Home', embeddable: true, properties: { city: p.string() } } as Any) as Any;
const Person = defineEntity({
  name: 'Person',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read'),
    code: p.string().nullable().length(20),
    revision: p.integer().version(),
    home: () => p.embedded(Home).nullable(),
    boss: () => p.manyToOne(Person as Any).nullable(),
  },
} as Any) as Any;
/** Rows that a filter hides unless somebody asks otherwise. */
const Ghost = defineEntity({
  name: 'Ghost',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read'), isGone: p.boolean().default(false) },
  filters: { here: { name: 'here', cond: { isGone: false }, default: true } },
} as Any) as Any;
const Pilot = defineEntity({
  name: 'Pilot',
  properties: { id: p.integer().primary(), name: p.string(), keeper: () => p.manyToOne(Ghost).nullable() },
} as Any) as Any;
const Wreck = defineEntity({
  name: 'Wreck',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    mate: () => p.manyToOne(Ghost).ref().nullable(),
    crew: () => p.manyToMany(Ghost).groups('read'),
  },
} as Any) as Any;
const Barge = defineEntity({
  name: 'Barge',
  properties: { id: p.integer().primary().groups('read'), pilot: () => p.manyToOne(Pilot) },
} as Any) as Any;
const shipSchema: Any = defineEntity({
  name: 'Ship',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    captain: () => p.manyToOne(Person).groups('read'),
    mate: () => p.manyToOne(Person).ref().nullable(),
    crew: () => p.manyToMany(Person).groups('read'),
  },
} as Any);
/** What the rule of a model does with the row. */
let rule: (ship: Any) => unknown = () => undefined;
class Ship extends shipSchema.class {
  async validate() {
    await rule(this);
    return [];
  }
}
shipSchema.setClass(Ship);

/** What the voter and the hooks read of the row. */
let reading: (ship: Any) => unknown = () => undefined;
let seen: unknown;

class ShipVoter extends Voter<Any> {
  static override roles = ['SEE'];
  async vote(_role: string, ship: Any): Promise<'grant'> {
    seen = ship && (await reading(ship));
    return 'grant';
  }
}

class LoadingVoter extends Voter<Any> {
  static override roles = ['LOAD'];
  static override loads = ['captain.boss', 'mate', 'crew', 'pilot.keeper'];
  vote(_role: string, ship: Any): 'grant' {
    seen = ship && reading(ship);
    return 'grant';
  }
}

const hooks = ['afterFetch', 'afterAccessCheck', 'afterValidation', 'afterCommit', 'checkAccess'] as const;

class HookedController extends ApiController<Any> {}
let hook: (typeof hooks)[number] | null = null;
for (const name of hooks) {
  Object.defineProperty(HookedController.prototype, name, {
    value: async function (this: Any, action: string, request: ApiRequest, ship: Any) {
      if (hook === name && ship && !Array.isArray(ship)) seen = await reading.call(this, ship);
      if (name === 'checkAccess') await ApiController.prototype.checkAccess.call(this, action, request, ship);
    },
  });
}

const actions = {
  _index: null,
  _entity: { methods: { GET: true, PATCH: true, DELETE: true } },
  crew: { association: { property: 'crew' }, methods: { POST: true, DELETE: true } },
};

describe.each(databases.flatMap((database) => [true, false].map((compiled) => [database, compiled] as const)))(
  'data that was not loaded, on %s (compiled: %s),',
  (database, compiledReads) => {
    let fresh: FreshDatabase;
    let app: TestApplication;

    beforeAll(async () => {
      fresh = await freshDatabase(database);
      app = await startApplication({
        app_main: {
          apis: {
            voted: { class: Ship, base_path: '/voted', base_role: 'SEE', actions },
            loaded: { class: Ship, base_path: '/loaded', base_role: 'LOAD', actions },
            wreck: { class: Wreck, base_path: '/wreck', base_role: 'LOAD', actions },
            barge: { class: Barge, base_path: '/barge', base_role: 'LOAD', actions: { _entity: null } },
            hooked: { class: Ship, base_path: '/hooked', controller: HookedController, actions },
          },
          database: { url: fresh.url, schema: 'update' },
        },
        models: [Home, Person, Ship, Ghost, Pilot, Wreck, Barge],
        controllers: [HookedController],
        voters: [ShipVoter, LoadingVoter],
        compiledReads,
        seed: async (em: Any) => {
          for (const id of [1, 2, 3]) em.create(Person, { id, name: `person ${id}`, boss: id > 1 ? id - 1 : null });
          em.create(Ship, { id: 1, name: 'Argo', captain: 2, mate: 3, crew: [1, 3] });
          em.create(Ship, { id: 2, name: 'Bounty', captain: 3 });
          for (const id of [1, 2]) em.create(Ghost, { id, name: `ghost ${id}`, isGone: id === 2 });
          em.create(Wreck, { id: 1, name: 'Calypso', mate: 2, crew: [1, 2] });
          for (const id of [1, 2]) em.create(Barge, { id, pilot: em.create(Pilot, { id, name: `pilot ${id}`, keeper: id }) });
        },
      } as Any);
    });
    afterAll(async () => {
      await app?.close();
      await fresh?.drop();
    });
    beforeEach(() => {
      seen = undefined;
      hook = null;
      rule = () => undefined;
      reading = () => undefined;
    });

    const requests = [
      ['GET', '/1.json', undefined],
      ['PATCH', '/1.json', { name: 'Argo' }],
      ['POST', '/1/crew.json', { id: 2 }],
      ['DELETE', '/1/crew.json', { id: 2 }],
    ] as const;
    const send = (base: string, [method, path, json]: readonly [string, string, unknown]) =>
      app.request(method, base + path, json ? { json } : {});

    test.each(requests)('throws if a voter reads it: %s %s', async (...asked) => {
      for (const read of [
        (ship: Any) => ship.captain.name,
        (ship: Any) => ship.captain.boss?.id,
        (ship: Any) => ship.crew.getItems().length,
        (ship: Any) => ship.crew.length,
        (ship: Any) => ship.mate.unwrap().name,
      ]) {
        reading = read;
        expect([String(read), (await send('/voted', asked)).status, seen]).toEqual([String(read), 500, undefined]);
      }
      // keys are there
      reading = (ship) => [ship.id, ship.name, ship.captain.id, ship.mate.unwrap().id];
      expect((await send('/voted', asked)).status).toBe(200);
      expect(seen).toEqual([1, 'Argo', 2, 3]);
    });

    test.each(requests)('is loaded if the voter declares it: %s %s', async (...asked) => {
      reading = (ship) => [
        ship.captain.name,
        ship.captain.boss.name,
        ship.mate?.unwrap().name ?? null,
        ship.crew
          .getItems()
          .map(({ name }: Any) => name)
          .sort(),
      ];
      const before = asked[0] === 'DELETE' ? 'POST' : 'DELETE';
      expect((await send('/loaded', [before, '/1/crew.json', { id: 2 }])).status).toBe(200);
      expect((await send('/loaded', asked)).status).toBe(200);
      const crew = asked[0] === 'DELETE' ? ['person 1', 'person 2', 'person 3'] : ['person 1', 'person 3'];
      expect(seen).toEqual(['person 2', 'person 1', 'person 3', crew]);
      const other = [asked[0], asked[1].replace('1', '2'), asked[2]] as const;
      expect((await send('/loaded', other)).status).toBe(200);
      expect((seen as unknown[]).slice(0, 3)).toEqual(['person 3', 'person 2', null]);
    });

    test('stays hidden by filters of the model even if the voter declares it', async () => {
      reading = (ship) => [ship.mate, ship.crew.getItems().map(({ name }: Any) => name)];
      for (const [method, json] of [['GET'], ['PATCH', { name: 'Calypso' }]] as const) {
        const answer = await app.request(method, '/wreck/1.json', json ? { json } : {});
        expect([method, answer.status, answer.json.crew]).toEqual([method, 200, [{ id: 1, name: 'ghost 1' }]]);
        expect(seen).toEqual([null, ['ghost 1']]);
      }
      reading = (barge) => [barge.pilot.name, barge.pilot.keeper.name];
      expect((await app.request('GET', '/barge/1.json')).status).toBe(200);
      expect(seen).toEqual(['pilot 1', 'ghost 1']);
      seen = undefined;
      expect((await app.request('GET', '/barge/2.json')).status).toBe(500);
      expect(seen).toBeUndefined();
    });

    test('is read by compiled statements if compiled reads are on', async () => {
      const stores = await routeStores(app.application);
      const reasons = ['/voted', '/loaded', '/barge'].map(
        (base) => stores.find(({ method, record }) => record.path.startsWith(`${base}/{id}.`) && method === 'GET')?.reason,
      );
      expect(reasons).toEqual([null, null, null]);
    });

    test('can be loaded by an asynchronous voter', async () => {
      for (const request of requests) {
        reading = async (ship) => {
          const { wrap } = await import('@mikro-orm/core');
          await wrap(ship.captain).init();
          return [ship.captain.name, await ship.crew.loadCount()];
        };
        expect((await send('/voted', request)).status).toBe(200);
        expect((seen as unknown[])[0]).toBe('person 2');
      }
    });

    test.each(hooks)('throws if %s reads it', async (name) => {
      hook = name;
      for (const request of requests) {
        if (request[0] === 'GET' && /afterValidation|afterCommit/.test(name)) continue;
        seen = undefined;
        reading = (ship) => ship.captain.name;
        const { status } = await send('/hooked', request);
        // GET loads what it shows before it is shown
        if (seen === undefined) expect([name, request[0], status]).toEqual([name, request[0], 500]);
        else expect(seen).toBe('person 2');
      }
      // what a hook writes is written
      reading = async function (this: Any, ship) {
        ship.name = 'Argo';
        await this.em.flush();
        return ship.captain.id;
      };
      for (const request of requests) expect((await send('/hooked', request)).status).toBe(200);
    });

    test.each<[string, (this: Any, ship: Any) => unknown]>([
      [
        'writes a reference',
        async function (this: Any, ship) {
          ship.captain.name = 'person 2';
          ship.captain.code = String(Math.random()).slice(0, 12);
          await this.em.flush();
        },
      ],
      [
        'writes in a transaction of its own',
        function (this: Any) {
          return this.em.transactional(async (em: Any) => {
            em.getReference(Person, 3).code = String(Math.random()).slice(0, 12);
          });
        },
      ],
      [
        'assigns values to a reference',
        function (this: Any, ship) {
          this.em.assign(ship.captain, { name: 'person 2', home: null });
        },
      ],
      [
        'fills a reference',
        async function (this: Any, ship) {
          await this.em.refresh(ship.captain);
          expect(ship.captain.name).toBe('person 2');
        },
      ],
      [
        'populates',
        async function (this: Any, ship) {
          await this.em.populate(ship, ['captain.boss', 'crew']);
          expect(ship.captain.boss.name).toBe('person 1');
        },
      ],
      [
        'creates what refers to it',
        function (this: Any, ship) {
          this.em.create(Ship, { name: 'Calypso', captain: ship.captain }, { persist: false });
        },
      ],
      ['makes JSON of it', (ship) => JSON.stringify([ship, ship.captain])],
    ])('does not break MikroORM if a hook %s', async (_, work) => {
      for (const name of hooks)
        for (const request of requests) {
          hook = name;
          seen = undefined;
          reading = async function (this: Any, ship) {
            await work.call(this, ship);
            return 'done';
          };
          const { status, text } = await send('/hooked', request);
          expect([name, request[0], status, text.slice(0, status === 200 ? 0 : undefined)]).toEqual([name, request[0], 200, '']);
        }
    });

    test('throws if a validation rule of the model reads it', async () => {
      rule = (ship) => {
        seen = ship.captain.name;
      };
      for (const base of ['/voted', '/hooked']) {
        expect((await app.request('PATCH', `${base}/1.json`, { json: { name: 'Argo' } })).status).toBe(500);
        expect(seen).toBeUndefined();
      }
    });
  },
);

test('a voter that loads an unknown association is a start error', async () => {
  class LostVoter extends Voter<Any> {
    static override roles = ['SEE'];
    static override loads = ['captian'];
    vote(): 'grant' {
      return 'grant';
    }
  }
  const fresh = await freshDatabase('sqlite');
  try {
    const app_main = {
      apis: { ship: { class: Ship, base_path: '/ship', base_role: 'SEE', actions: { _index: null } } },
      database: { url: fresh.url },
    };
    await expect(startApplication({ app_main, models: [Home, Person, Ship], voters: [LostVoter] } as Any)).rejects.toThrow(
      /LostVoter loads "captian", which is not an association of a model that it votes on;.*did you mean "captain"/,
    );
    LostVoter.loads = ['captain.bos'];
    await expect(startApplication({ app_main, models: [Home, Person, Ship], voters: [LostVoter] } as Any)).rejects.toThrow(
      /LostVoter loads "captain.bos", .*did you mean "captain.boss".* associations: captain.boss/,
    );
    (LostVoter as Any).loads = 'captain';
    await expect(startApplication({ app_main, models: [Person, Ship], voters: [LostVoter] } as Any)).rejects.toThrow(
      "LostVoter must list what it loads: static loads = ['captain']",
    );
  } finally {
    await fresh.drop();
  }
});
