import { type Collection, defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const guestSchema = defineEntity({
  name: 'Guest',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read', 'write') },
});
class Guest extends guestSchema.class {}
guestSchema.setClass(Guest);

const visitSchema = defineEntity({
  name: 'Visit',
  properties: {
    id: p.integer().primary().groups('read'),
    room: () => p.manyToOne(Room).nullable().groups('read'),
    guest: () => p.manyToOne(Guest).groups('read'),
  },
});
class Visit extends visitSchema.class {}

const roomSchema = defineEntity({
  name: 'Room',
  properties: {
    id: p.integer().primary().groups('read'),
    visits: () => p.oneToMany(Visit).mappedBy('room').groups('read'),
  },
});
/** A room whose visits outlive it. */
class Room extends roomSchema.class {
  get #visits() {
    return this.visits as unknown as Collection<Visit>;
  }

  addGuest(guest: Guest): Visit {
    const visit = new Visit();
    visit.guest = guest as never;
    this.#visits.add(visit as never);
    return visit;
  }

  removeGuest(guest: Guest): void {
    for (const visit of this.#visits.getItems()) if ((visit.guest as unknown) === guest) this.#visits.remove(visit as never);
  }
}
visitSchema.setClass(Visit);
roomSchema.setClass(Room);

const partySchema = defineEntity({
  name: 'Party',
  properties: {
    id: p.integer().primary().groups('read'),
    guests: () => p.manyToMany(Guest).groups('read'),
  },
});
/** A party to which each guest brings another one. */
class Party extends partySchema.class {
  addGuest(guest: Guest): void {
    const other = new Guest();
    other.name = `with ${guest.name}`;
    (this.guests as unknown as Collection<Guest>).add(guest as never, other as never);
  }

  removeGuest(guest: Guest): void {
    (this.guests as unknown as Collection<Guest>).remove(guest as never);
  }
}
partySchema.setClass(Party);

describe.each(databases)('methods of a model on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    const actions = { _index: { methods: { POST: true } }, _entity: { methods: { GET: true } } } as const;
    const guests = (property: string) => ({ guests: { association: { property, types: [Guest] } } });
    app = await startApplication({
      models: [Guest, Visit, Room, Party],
      app_main: {
        database: { url: database.url, schema: 'update' },
        apis: {
          guest: { class: Guest, base_path: '/guest', actions },
          visit: { class: Visit, base_path: '/visit', actions: { _entity: actions._entity } },
          room: { class: Room, base_path: '/room', actions: { ...actions, ...guests('visits') } },
          party: { class: Party, base_path: '/party', actions: { ...actions, ...guests('guests') } },
        },
      },
    });
    for (const name of ['Ada', 'Bo']) await app.request('POST', '/guest.json', { json: { name } });
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  test('that remove a row from an association do not delete it, if it may exist without its owner', async () => {
    const room = (await app.request('POST', '/room.json', { json: {} })).json.id as number;
    const visit = (await app.request('POST', `/room/${room}/guests.json`, { json: { id: 1 } })).json.id as number;
    const kept = (await app.request('POST', `/room/${room}/guests.json`, { json: { id: 2 } })).json.id as number;
    expect((await app.request('DELETE', `/room/${room}/guests.json`, { json: { id: 1 } })).status).toBe(200);
    expect((await app.request('GET', `/room/${room}.json`)).json.visits).toMatchObject([{ id: kept, guest: { id: 2 } }]);
    expect((await app.request('GET', `/visit/${visit}.json`)).json).toMatchObject({ room: null, guest: { id: 1 } });
  });

  test('that link an item of their own create it', async () => {
    const party = (await app.request('POST', '/party.json', { json: {} })).json.id as number;
    expect((await app.request('POST', `/party/${party}/guests.json`, { json: { id: 1 } })).json).toMatchObject({ id: 1 });
    const { guests } = (await app.request('GET', `/party/${party}.json`)).json;
    expect(guests.map(({ name }: { name: string }) => name)).toEqual(['Ada', 'with Ada']);
  });
});
