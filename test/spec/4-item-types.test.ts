// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, type ModelQuery } from '../../src/index.ts';
import { createServer } from '../../src/server.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Gear = defineEntity({
  name: 'Gear',
  abstract: true,
  discriminatorColumn: 'kind',
  properties: { id: p.integer().primary().groups('read'), kind: p.string(), name: p.string().groups('read') },
});
const Anchor = defineEntity({ name: 'Anchor', extends: Gear, discriminatorValue: 'anchor', properties: {} });
const Rope = defineEntity({ name: 'Rope', extends: Gear, discriminatorValue: 'rope', properties: {} });

/** A class with a subclass that is not abstract. */
const Flag = defineEntity({
  name: 'Flag',
  discriminatorColumn: 'kind',
  discriminatorValue: 'flag',
  properties: { id: p.integer().primary().groups('read'), kind: p.string().groups('read') },
});
const Pennant = defineEntity({ name: 'Pennant', extends: Flag, discriminatorValue: 'pennant', properties: {} });

const MemberSchema = defineEntity({
  name: 'Member',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read'),
    hidden: p.boolean().default(false),
  },
});
class Member extends MemberSchema.class {}
MemberSchema.setClass(Member);
const Guest = defineEntity({
  name: 'Guest',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
});

const OwnerSchema = defineEntity({
  name: 'Owner',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
});
class Owner extends OwnerSchema.class {}
OwnerSchema.setClass(Owner);

/** Nothing but a link between a boat and a member. */
const BerthSchema = defineEntity({
  name: 'Berth',
  properties: {
    id: p.integer().primary().groups('read'),
    boat: () => p.manyToOne(Boat),
    member: () => p.manyToOne(Member).groups('read'),
  },
});
class Berth extends BerthSchema.class {}
BerthSchema.setClass(Berth);

/** A duty ends, and can begin again. */
const DutySchema = defineEntity({
  name: 'Duty',
  properties: {
    id: p.integer().primary().groups('read'),
    boat: () => p.manyToOne(Boat),
    guest: () => p.manyToOne(Guest).groups('read'),
    relief: () => p.manyToOne(Member).nullable(),
    ended: p.boolean().default(false).groups('read'),
  },
});
class Duty extends DutySchema.class {}
DutySchema.setClass(Duty);

/** A boat has each owner once, says the table. */
const KeySchema = defineEntity({
  name: 'Key',
  uniques: [{ properties: ['boat', 'owner'] }],
  properties: {
    id: p.integer().primary().groups('read'),
    boat: () => p.manyToOne(Boat),
    owner: () => p.manyToOne(Owner).groups('read'),
    label: p.string().default('spare'),
  },
});
class Key extends KeySchema.class {}
KeySchema.setClass(Key);

const calls: string[] = [];

const BoatSchema = defineEntity({
  name: 'Boat',
  properties: {
    id: p.integer().primary().groups('read'),
    revision: p.integer().version().groups('read'),
    gears: () => p.manyToMany(Gear).groups('read'),
    spares: () => p.manyToMany(Gear),
    flags: () => p.manyToMany(Flag).groups('read', 'write'),
    cargo: () => p.manyToMany([Guest, Gear] as never).groups('read'),
    berths: () => p.oneToMany(Berth).mappedBy('boat').orphanRemoval().groups('read'),
    duties: () => p.oneToMany(Duty).mappedBy('boat').groups('read'),
    keys: () => p.oneToMany(Key).mappedBy('boat').orphanRemoval(),
    tender: () => p.manyToOne(Boat).nullable(),
    tenders: () => p.oneToMany(Boat).mappedBy('tender'),
  },
});
class Boat extends BoatSchema.class {
  addMember(member: Member): Berth {
    calls.push('addMember');
    const berth = new Berth();
    berth.member = member;
    this.berths.add(berth);
    return berth;
  }
  removeMember(member: Member): void {
    calls.push('removeMember');
    this.berths.remove((berth) => berth.member === member);
  }
  addGuest(guest: object): object {
    calls.push('addGuest');
    const open = this.duties.getItems().find((duty) => duty.guest === guest && !duty.ended);
    if (open) return open;
    const duty = new Duty();
    duty.guest = guest as never;
    this.duties.add(duty);
    return duty;
  }
  removeGuest(guest: object): object | undefined {
    calls.push('removeGuest');
    const open = this.duties.getItems().find((duty) => duty.guest === guest && !duty.ended);
    if (open) open.ended = true;
    return open;
  }
  /** Takes an owner, although the property holds keys. */
  addKey(owner: Owner): void {
    calls.push('addKey');
    const key = new Key();
    key.owner = owner;
    this.keys.add(key);
  }
  removeKey(owner: Owner): void {
    calls.push('removeKey');
    this.keys.remove((key) => key.owner === owner);
  }
  /** Trusts that it is given gear. */
  addSpare(gear: object): void {
    calls.push('addSpare');
    this.spares.add(gear as never);
  }
}
BoatSchema.setClass(Boat);

/** Has a place for gear, and no methods. */
const Shed = defineEntity({
  name: 'Shed',
  properties: { id: p.integer().primary().groups('read'), gears: () => p.manyToMany(Gear), visits: () => p.manyToMany(Guest) },
});

class BoatController extends ApiController<Boat> {
  #call(action: string, id: number, request: ApiRequest, property: string, type: unknown) {
    return this.addRemove(action, id, request, { property, type: type as never });
  }
  wrongApi(id: number, request: ApiRequest) {
    return this.#call('wrong', id, request, 'gears', Guest);
  }
  mixedApi(id: number, request: ApiRequest) {
    return this.#call('mixed', id, request, 'gears', [Gear, Guest]);
  }
  berthApi(id: number, request: ApiRequest) {
    return this.#call('berth', id, request, 'berths', Member);
  }
  dutyApi(id: number, request: ApiRequest) {
    return this.#call('duty', id, request, 'duties', Guest);
  }
  keyApi(id: number, request: ApiRequest) {
    return this.#call('key', id, request, 'keys', Owner);
  }
  ropeApi(id: number, request: ApiRequest) {
    return this.#call('rope', id, request, 'gears', Rope);
  }
  spareApi(id: number, request: ApiRequest) {
    return this.#call('spare', id, request, 'spares', Member);
  }
  crewApi(id: number, request: ApiRequest) {
    return this.#call('crew', id, request, 'duties', [Guest, Member]);
  }
}

class MemberController extends ApiController<Member> {
  override customizeQuery(_action: string, _request: ApiRequest, query: ModelQuery<Member>) {
    query.andWhere({ hidden: false });
  }
}

const addRemove = { POST: true, DELETE: true };
const models = [Gear, Anchor, Rope, Flag, Pennant, Member, Guest, Owner, Berth, Duty, Key, Boat, Shed];
const application = {
  models,
  controllers: [BoatController, MemberController],
  app_main: {
    apis: {
      boat: {
        class: Boat,
        base_path: '/boats',
        controller: BoatController,
        actions: {
          _entity: { methods: { GET: true, PATCH: true } },
          ...Object.fromEntries(
            ['wrong', 'mixed', 'berth', 'duty', 'key', 'rope', 'spare', 'crew'].map((name) => [name, { methods: addRemove }]),
          ),
        },
      },
      declared: {
        class: Boat,
        base_path: '/declared',
        actions: {
          berth: { association: { property: 'berths', types: [Member] } },
          duty: { association: { property: 'duties', types: [Guest] } },
          key: { association: { property: 'keys', types: [Owner] } },
          rope: { association: { property: 'gears', types: [Rope] } },
          crew: { association: { property: 'duties', types: [Guest, Member] } },
          flag: { association: { property: 'flags' } },
          cargo: { association: { property: 'cargo' } },
        },
      },
      member: { class: Member, base_path: '/members', controller: MemberController, actions: { _entity: null } },
    },
  },
  seed: async (em: { create(model: never, data: never): unknown; flush(): Promise<void> }) => {
    for (const name of ['one', 'two', 'three']) {
      em.create(Anchor as never, { kind: 'anchor', name } as never);
      em.create(Member as never, { name } as never);
      em.create(Guest as never, { name } as never);
      em.create(Owner as never, { name } as never);
      await em.flush();
    }
    em.create(Pennant as never, { kind: 'pennant' } as never);
    em.create(Rope as never, { kind: 'rope', name: 'line' } as never);
    em.create(Member as never, { name: 'ghost', hidden: true } as never);
    em.create(Boat as never, {} as never);
    await em.flush();
  },
};

describe.each(databases)('item types of associations on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication({ ...application, databaseUrl: database.url } as never);
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });
  beforeEach(async () => {
    calls.length = 0;
    for (const table of ['boat_gears', 'boat_spares', 'berth', 'duty', 'key'])
      await app.application.mapper.em.fork().execute(`delete from "${table}"`);
  });
  const count = async (table: string) =>
    Number(((await app.application.mapper.em.fork().execute(`select count(*) as n from "${table}"`)) as [{ n: number }])[0].n);
  const send = (method: string, path: string, json: object) => app.request(method, path, { json });
  const revision = async () => (await app.request('GET', '/boats/1.json')).json.revision as number;

  test.each(['POST', 'DELETE'])(
    '%s of a type that the association cannot hold returns 500, and nothing is written',
    async (method) => {
      for (const action of ['wrong', 'mixed']) {
        const { status, json } = await send(method, `/boats/1/${action}.json`, { type: 'guest', id: 2 });
        expect([status, json.code]).toEqual([500, 'internal_error']);
      }
      expect(await count('boat_gears')).toBe(0);
      expect(calls).toEqual([]);
    },
  );

  test('a type that the association cannot hold is logged with its controller, action and property', async () => {
    const lines: string[] = [];
    const server = await createServer({
      ...application,
      databaseUrl: database.url,
      fastify: { logger: { level: 'error', stream: { write: (line: string) => void lines.push(line) } } },
    } as never);
    try {
      await server.inject({ method: 'POST', url: '/boats/1/wrong.json', payload: { type: 'guest', id: 2 } });
    } finally {
      await server.close();
    }
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] as string).err.message).toBe(
      'BoatController, action "wrong": "gears" of Boat holds Gear, not Guest; name a type that it holds, or write addGear(item) on Boat',
    );
  });

  test("a model's method that adds a wrong type to an association returns 500, and nothing is written", async () => {
    const { status } = await send('POST', '/boats/1/spare.json', { id: 2 });
    expect([status, calls, await count('boat_spares')]).toEqual([500, ['addSpare'], 0]);
  });

  test.each(['/boats', '/declared'])('a subclass of the association type can be added and removed at %s', async (base) => {
    expect((await send('POST', `${base}/1/rope.json`, { type: 'rope', id: 4 })).status).toBe(200);
    expect((await send('POST', `${base}/1/rope.json`, { id: 1 })).status).toBe(400);
    expect(await count('boat_gears')).toBe(1);
    expect((await send('DELETE', `${base}/1/rope.json`, { id: 4 })).status).toBe(200);
    expect(await count('boat_gears')).toBe(0);
  });

  test('an item of a subclass is recognized in an association whose class is not abstract', async () => {
    const pennant = { id: 1, kind: 'pennant' };
    const flags = async () => (await app.request('GET', '/boats/1.json')).json.flags as object[];
    for (let again = 0; again < 2; again++) {
      expect((await send('POST', '/declared/1/flag.json', { type: 'pennant', id: 1 })).json).toEqual(pennant);
      expect(await flags()).toEqual([pennant]);
    }
    expect((await send('DELETE', '/declared/1/flag.json', { id: 1 })).status).toBe(200);
    expect(await flags()).toEqual([]);
    for (const list of [[{ type: 'pennant', id: 1 }], [{ type: 'pennant', id: 1 }], []]) {
      const { status, json } = await send('PATCH', '/boats/1.json', { flags: list });
      expect([status, json.flags]).toEqual([200, list.map(() => pennant)]);
    }
    expect(await count('boat_flags')).toBe(0);
  });

  test('an association of several classes accepts each of them', async () => {
    const cargo = async () => (await app.request('GET', '/boats/1.json')).json.cargo as object[];
    for (const item of [
      { type: 'guest', id: 1 },
      { type: 'rope', id: 4 },
    ]) {
      for (let again = 0; again < 2; again++) expect((await send('POST', '/declared/1/cargo.json', item)).status).toBe(200);
      expect(await cargo()).toHaveLength(1);
      for (let again = 0; again < 2; again++) expect((await send('DELETE', '/declared/1/cargo.json', item)).status).toBe(200);
      expect(await cargo()).toEqual([]);
    }
    expect((await send('POST', '/declared/1/cargo.json', { type: 'member', id: 1 })).status).toBe(400);
  });

  describe.each(['/boats', '/declared'])("the model's methods for the type at %s", (base) => {
    test('are called if the association holds another type', async () => {
      const added = await send('POST', `${base}/1/berth.json`, { type: 'member', id: 2 });
      expect([added.status, added.json.member, calls]).toEqual([200, { id: 2, name: 'two' }, ['addMember']]);
      const removed = await send('DELETE', `${base}/1/berth.json`, { id: 2 });
      expect([removed.status, removed.json, calls]).toEqual([200, { id: 2, name: 'two' }, ['addMember', 'removeMember']]);
      expect(await count('berth')).toBe(0);
    });

    test('are not called to add an existing item or to remove a missing one', async () => {
      await send('POST', `${base}/1/berth.json`, { id: 2 });
      const before = await revision();
      const again = await send('POST', `${base}/1/berth.json`, { id: 2 });
      expect([again.status, again.json, calls]).toEqual([200, { id: 2, name: 'two' }, ['addMember']]);
      expect((await send('DELETE', `${base}/1/berth.json`, { id: 1 })).status).toBe(200);
      expect([calls, await count('berth'), await revision()]).toEqual([['addMember'], 1, before]);
    });

    test('are not called twice for an item that the table can hold only once', async () => {
      for (let again = 0; again < 2; again++) expect((await send('POST', `${base}/1/key.json`, { id: 1 })).status).toBe(200);
      expect([calls, await count('key')]).toEqual([['addKey'], 1]);
    });

    test('are always called if the association holds more than a link', async () => {
      for (const [method, expected] of [
        ['POST', 1],
        ['POST', 1],
        ['DELETE', 1],
        ['DELETE', 1],
        ['POST', 2],
      ] as const) {
        expect((await send(method, `${base}/1/duty.json`, { id: 1 })).status).toBe(200);
        expect(await count('duty')).toBe(expected);
      }
      expect(calls).toHaveLength(5);
    });

    test('are selected by the type of the item', async () => {
      expect((await send('POST', `${base}/1/crew.json`, { type: 'member', id: 1 })).json.member).toMatchObject({ id: 1 });
      expect((await send('POST', `${base}/1/crew.json`, { type: 'guest', id: 1 })).json.guest).toMatchObject({ id: 1 });
      expect(calls).toEqual(['addMember', 'addGuest']);
    });

    test('are not called with an item that its API hides', async () => {
      expect((await send('POST', `${base}/1/berth.json`, { id: 4 })).json.detail).toBe('member id not found');
      expect([calls, await count('berth')]).toEqual([[], 0]);
    });

    test('create one row for thirty concurrent adds', async () => {
      const added = await Promise.all(Array.from({ length: 30 }, () => send('POST', `${base}/1/berth.json`, { id: 2 })));
      expect(added.filter(({ status }) => status !== 200 && status !== 409)).toEqual([]);
      expect(await count('berth')).toBe(1);
    });

    test('apply If-Match', async () => {
      const { headers } = await app.request('GET', '/boats/1.json');
      const etag = headers.get('etag') as string;
      const add = (id: number) => app.request('POST', `${base}/1/berth.json`, { json: { id }, headers: { 'if-match': etag } });
      expect([(await add(2)).status, (await add(3)).status, await count('berth')]).toEqual([200, 412, 1]);
    });
  });

  test('explain names the method of the model', async () => {
    const explained = JSON.stringify(await app.explain('POST', '/declared/1/berth.json'));
    expect(explained).toContain('Boat.addMember');
  });
});

describe('a declared type that the association cannot hold is a start error', () => {
  const start = (association: object, model: unknown = Boat, methods: object = addRemove) =>
    startApplication({
      models,
      databaseUrl: 'sqlite::memory:',
      app_main: { apis: { x: { class: model, base_path: '/x', actions: { thing: { methods, association } } } as never } },
    } as never);
  test('if no method accepts it', async () => {
    await expect(start({ property: 'gears', types: [Guest] }, Shed)).rejects.toThrow(
      /"gears" of Shed holds Gear, not Guest; .*write addGear\(item\) and removeGear\(item\) on Shed/,
    );
  });
  test('if only a method of another association accepts it', async () => {
    await expect(start({ property: 'gears', types: [Member] })).rejects.toThrow(/"gears" of Boat holds Gear, not Member/);
  });
  test('if it is one of several types', async () => {
    await expect(start({ property: 'gears', types: [Rope, Member] }, Shed)).rejects.toThrow(/holds Gear, not Member/);
  });
  test('if the method for removing is missing', async () => {
    await expect(start({ property: 'spares', types: [Member] })).rejects.toThrow(/holds Gear, not Member.*removeSpare/);
  });
  test('but not if only POST is enabled and the method for adding exists', async () => {
    const app = await start({ property: 'spares', types: [Member] }, Boat, { POST: true });
    await app.close();
  });
});
