import { type Collection, defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Room = defineEntity({
  name: 'Room',
  properties: { id: p.integer().primary().groups('read'), tenant: p.integer(), seats: p.integer().groups('read') },
});

/** The rooms that rules of the model have got. */
const seen: unknown[] = [];

const schema = defineEntity({
  name: 'Booking',
  properties: {
    id: p.integer().primary().groups('read'),
    guests: p.integer().groups('read', 'write'),
    room: () => p.manyToOne(Room).groups('read', 'write'),
    spare: () => p.manyToOne(Room).nullable().groups('read', 'write'),
  },
});
class Booking extends schema.class {
  validate() {
    const { id, seats } = this.room as unknown as { id: number; seats: number };
    seen.push(id);
    return this.guests <= seats ? [] : [{ propertyPath: 'guests', title: 'are too many' }];
  }
}
schema.setClass(Booking as never);

const tripSchema = defineEntity({
  name: 'Trip',
  properties: { id: p.integer().primary().groups('read'), rooms: () => p.manyToMany(Room).groups('read') },
});
class Trip extends tripSchema.class {
  addRoom(room: { id: number }) {
    seen.push(room.id);
    (this.rooms as unknown as Collection<object>).add(room);
  }
}
tripSchema.setClass(Trip as never);

const staySchema = defineEntity({
  name: 'Stay',
  properties: {
    id: p.integer().primary().groups('read'),
    tour: () => p.manyToOne(Tour),
    room: () => p.manyToOne(Room).groups('read'),
  },
});
class Stay extends staySchema.class {}
staySchema.setClass(Stay as never);

const tourSchema = defineEntity({
  name: 'Tour',
  properties: { id: p.integer().primary().groups('read'), rooms: () => p.oneToMany(Stay).mappedBy('tour').groups('read') },
});
/** Keeps each room in a row of its own. */
class Tour extends tourSchema.class {
  addRoom(room: { id: number }) {
    seen.push(room.id);
    const stay = new Stay() as unknown as { room: unknown };
    stay.room = room;
    (this.rooms as unknown as Collection<object>).add(stay);
    return stay;
  }
  removeRoom() {}
}
tourSchema.setClass(Tour as never);

const Visit = defineEntity({
  name: 'Visit',
  properties: { id: p.integer().primary().groups('read'), rooms: () => p.manyToMany(Room).groups('read', 'write') },
});

/** Callers see the rooms of the first tenant, whose ids are odd. */
class RoomController extends ApiController {
  override customizeQuery(_action: string, _request: ApiRequest, query: any) {
    return query.andWhere({ tenant: 1 });
  }
}

const rooms = 200;

describe.each(databases)('rows that a body refers to, for a model with rules, on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;

  beforeAll(async () => {
    database = await freshDatabase(kind);
    const ofRooms = {
      _entity: { methods: { GET: true } },
      rooms: { association: { property: 'rooms', types: ['Room'] } },
    };
    app = await startApplication({
      app_main: {
        database: { url: database.url, schema: 'update' },
        apis: {
          room: {
            class: 'Room',
            base_path: '/room',
            controller: 'RoomController',
            actions: { _entity: { methods: { GET: true } } },
          },
          trip: { class: 'Trip', base_path: '/trip', actions: ofRooms },
          tour: { class: 'Tour', base_path: '/tour', actions: ofRooms },
          visit: {
            class: 'Visit',
            base_path: '/visit',
            actions: { _index: { methods: { POST: true } }, _entity: { methods: { PATCH: true, PUT: true } } },
          },
          booking: {
            class: 'Booking',
            base_path: '/booking',
            actions: {
              _index: { methods: { POST: true }, bulk: { POST: true, max_items: 500 } },
              _entity: { methods: { GET: true, PATCH: true } },
            },
          },
        },
      } as never,
      models: [Room, Booking, Trip, Tour, Stay, Visit],
      controllers: [RoomController],
      seed: (em) => {
        for (let id = 1; id <= rooms; id++) em.create(Room, { id, tenant: id % 2, seats: 10 } as never);
        em.create(Trip, { id: 1 } as never);
        em.create(Tour, { id: 1 } as never);
        em.create(Visit, { id: 1 } as never);
      },
    });
    // statements and plans that only the first request makes
    await posted({ guests: 1, room: { id: 1 } });
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  async function posted(json: unknown) {
    app.statements.length = 0;
    seen.length = 0;
    const { json: body, status } = await app.request('POST', '/booking.json', { json });
    return { status, body, statements: [...app.statements], seen: [...seen] };
  }

  test('are checked and read by one statement each', async () => {
    const { seen: given, statements, status } = await posted({ guests: 2, room: { id: 3 } });
    expect([status, given, statements.length]).toEqual([201, [3], kind === 'sqlite' ? 3 : 2]);
  });

  test('reach no rule if the caller does not see them, and take the statements of missing rows', async () => {
    const hidden = await posted({ guests: 2, room: { id: 4 } });
    const missing = await posted({ guests: 2, room: { id: rooms + 1 } });
    expect(hidden.status).toBe(400);
    expect([hidden.seen, missing.seen]).toEqual([[], []]);
    expect(hidden.statements).toEqual(missing.statements);
    expect(JSON.stringify(hidden.body)).toBe(JSON.stringify(missing.body).replaceAll(String(rooms + 1), '4'));
  });

  test('are checked for each reference of a body', async () => {
    expect(await posted({ guests: 2, room: { id: 3 }, spare: { id: 5 } })).toMatchObject({ status: 201, seen: [3] });
    expect(await posted({ guests: 2, room: { id: 3 }, spare: { id: 6 } })).toMatchObject({ status: 400, seen: [] });
  });

  test('are checked and read by as many statements for a list as for one item', async () => {
    const odd = Array.from({ length: rooms / 2 }, (_, i) => ({ guests: 2, room: { id: 2 * i + 1 } }));
    const few = await posted(odd.slice(0, 2));
    const all = await posted(odd);
    expect([few.status, all.status]).toEqual([201, 201]);
    expect(all.seen).toHaveLength(rooms / 2);
    expect(all.statements.length).toBe(few.statements.length);
    const refused = await posted([odd[0], { guests: 2, room: { id: 4 } }, odd[1]]);
    expect([refused.status, refused.seen]).toEqual([400, [1]]);
    expect(JSON.stringify(refused.body)).toContain('1');
  });
  test.each(['trip', 'tour'])('reach no method of the model %s if the caller does not see them', async (model) => {
    const added = async (id: number) => {
      seen.length = 0;
      app.statements.length = 0;
      const { json, status } = await app.request('POST', `/${model}/1/rooms.json`, { json: { type: 'room', id } });
      return { status, text: JSON.stringify(json), statements: [...app.statements], seen: [...seen] };
    };
    expect((await added(3)).status).toBe(200);
    const hidden = await added(4);
    const missing = await added(rooms + 1);
    expect([hidden.status, hidden.seen, missing.seen]).toEqual([400, [], []]);
    expect(hidden.statements).toEqual(missing.statements);
    expect(hidden.text).toBe(missing.text.replaceAll(String(rooms + 1), '4'));
    expect((await app.request('GET', `/${model}/1.json`)).json.rooms).toHaveLength(1);
  });

  test.each([
    ['POST', '/visit.json'],
    ['PATCH', '/visit/1.json'],
    ['PUT', '/visit/1.json'],
  ])('are checked by as many statements for a long list as for a short one: %s', async (method, path) => {
    const listed = async (ids: readonly number[]) => {
      app.statements.length = 0;
      const { json, status } = await app.request(method, path, { json: { rooms: ids.map((id) => ({ id })) } });
      return { status, json, statements: [...app.statements] };
    };
    const odd = Array.from({ length: rooms / 2 }, (_, i) => 2 * i + 1);
    await listed([]);
    const few = await listed(odd.slice(0, 2));
    await listed([]);
    const all = await listed(odd);
    expect([few.status, all.status]).toEqual(method === 'POST' ? [201, 201] : [200, 200]);
    expect(all.json.rooms.map(({ id }: { id: number }) => id).toSorted((a: number, b: number) => a - b)).toEqual(odd);
    expect(all.statements.length).toBe(few.statements.length);
    // a hidden row takes the statements of a missing one
    const hidden = await listed([1, 4, 3]);
    const missing = await listed([1, rooms + 1, 3]);
    expect([hidden.status, missing.status]).toEqual([400, 400]);
    expect(hidden.statements).toEqual(missing.statements);
    expect(JSON.stringify(hidden.json)).toBe(JSON.stringify(missing.json).replaceAll(String(rooms + 1), '4'));
  });

  test('reach no rule of a change if the caller does not see them', async () => {
    const { body } = await posted({ guests: 2, room: { id: 3 } });
    seen.length = 0;
    const path = `/booking/${body.id}.json`;
    expect((await app.request('PATCH', path, { json: { room: { id: 4 } } })).status).toBe(400);
    expect(seen).toEqual([]);
    expect((await app.request('PATCH', path, { json: { room: { id: 5 } } })).json).toMatchObject({ room: { id: 5 } });
    expect(seen).toEqual([5]);
  });
});
