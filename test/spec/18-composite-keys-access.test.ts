// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { ApiController } from '../../src/index.ts';
import { databases } from '../support/databases.ts';
import { everything, useApplication } from './fixtures/use-application.ts';

const Room: any = defineEntity({
  name: 'Room',
  properties: {
    house: p.string().primary().groups('read', 'write'),
    nr: p.bigint('string').primary().groups('read', 'write'),
    name: p.string().groups('read', 'write'),
    open: p.boolean().default(true).groups('read', 'write'),
    guests: () => p.manyToMany(Guest),
    beds: () => p.oneToMany(Bed).mappedBy('room'),
  },
} as never);
const Bed: any = defineEntity({
  name: 'Bed',
  properties: {
    id: p.integer().primary().groups('read', 'write'),
    room: () => p.manyToOne(Room).nullable().groups('read', 'write'),
  },
} as never);
const Shelf: any = defineEntity({
  name: 'Shelf',
  properties: {
    hall: p.string().primary().groups('read', 'write'),
    nr: p.integer().primary().groups('read', 'write'),
    name: p.string().groups('read', 'write'),
    revision: p.integer().version(),
  },
} as never);
const Guest: any = defineEntity({
  name: 'Guest',
  properties: { id: p.integer().primary().groups('read', 'write'), name: p.string().groups('read', 'write') },
} as never);

const restrictions = ['condition', 'join', 'limit', 'distinct'] as const;
let form: (typeof restrictions)[number] = 'condition';
const ids: unknown[] = [];
class RoomController extends ApiController<any> {
  override customizeQuery(_action: string, _request: any, query: any) {
    if (form === 'join') query.leftJoin('e.guests', 'g').andWhere({ open: true });
    else if (form === 'distinct') query.select('*', true).andWhere({ open: true });
    else if (form === 'limit') query.andWhere({ open: true }).limit(100);
    else query.andWhere({ open: true });
  }
  async renameApi(id: any, request: any) {
    ids.push(id);
    const room = await this.getEntity('rename', id, request);
    room.name = `${room.name}!`;
    return room;
  }
  async countApi(request: any) {
    return { count: await (await this.query('count', request)).getCount() };
  }
}

const apis = {
  room: {
    class: Room,
    base_path: '/room',
    controller: RoomController,
    actions: {
      ...everything,
      rename: { methods: { POST: true } },
      count: { methods: { GET: true }, single_collection: 'collection' },
      guests: { methods: { POST: true, DELETE: true }, association: { property: 'guests' } },
    },
  },
  bed: { class: Bed, base_path: '/bed', actions: everything },
  shelf: { class: Shelf, base_path: '/shelf', actions: everything },
  guest: { class: Guest, base_path: '/guest', actions: everything },
} as const;

const wide = '9007199254740993';

describe.each(databases)('restrictions of rows with composite keys on %s', (kind) => {
  describe.each([true, false])('compiled: %s', (compiledReads) => {
    const options = { app_main: { apis }, models: [Room, Bed, Guest, Shelf], controllers: [RoomController], compiledReads };
    const running = useApplication(kind, options as never);
    const send = async (method: string, path: string, json?: unknown, headers: Record<string, string> = {}) => {
      const response = await running.request(method, path, { headers, ...(json !== undefined && { json }) } as never);
      return { status: response.status, body: response.json as any };
    };

    test.each(restrictions)('hides rows everywhere with a restriction by %s', async (by) => {
      form = 'condition';
      const house = `h,${by}`;
      const at = (nr: string | number) => `/room/${encodeURIComponent(house)},${nr}`;
      for (const [nr, name] of [
        [1, 'a'],
        [2, 'b'],
        [wide, 'c'],
      ] as const)
        expect((await send('POST', '/room.json', { house, nr, name })).status).toBe(201);
      const first = restrictions.indexOf(by) * 10;
      for (const [i, nr] of [1, 2, wide].entries())
        expect((await send('POST', '/bed.json', { id: first + i, room: { house, nr } })).status).toBe(201);
      await running.rows(`update room set open = false where house = '${house}' and nr = 2`);
      form = by;
      expect((await send('GET', `${at(wide)}.json`)).body).toEqual({ house, nr: wide, name: 'c', open: true });
      for (const method of ['GET', 'PATCH', 'DELETE'])
        expect([method, (await send(method, `${at(2)}.json`, method === 'PATCH' ? { name: 'x' } : undefined)).status]).toEqual([
          method,
          404,
        ]);
      const listed = (await send('GET', '/room.json')).body;
      expect(listed.results.filter((row: any) => row.house === house).map((row: any) => row.name)).toEqual(['a', 'c']);
      expect((await send('GET', '/room/count.json')).body).toEqual({ count: listed.count });
      const beds = (await send('GET', '/bed.json')).body.results.filter(({ id }: any) => id >= first && id < first + 10);
      expect(beds.map(({ room }: any) => room?.name ?? null)).toEqual(['a', null, 'c']);
      expect((await send('PATCH', `/bed/${first}.json`, { room: { house, nr: 2 } })).status).toBe(400);
      expect((await send('PATCH', `/bed/${first}.json`, { room: { house, nr: wide } })).body.room.name).toBe('c');
      expect((await send('PATCH', `${at(1)}.json`, { name: 'z' })).body.name).toBe('z');
      ids.length = 0;
      expect(await send('POST', `${at(1)}/rename.json`)).toMatchObject({ status: 200, body: { name: 'z!' } });
      expect(ids.map((id) => [...(id as any[])].map(String))).toEqual([[house, '1']]);
      expect((await send('POST', `${at(2)}/rename.json`)).status).toBe(404);
      expect((await send('POST', '/guest.json', { id: first + 1, name: 'g' })).status).toBe(201);
      const guest = { id: first + 1 };
      for (const method of ['POST', 'POST', 'DELETE', 'DELETE'])
        expect((await send(method, `${at(1)}/guests.json`, guest)).status).toBe(200);
      expect((await send('POST', `${at(2)}/guests.json`, guest)).status).toBe(404);
      expect((await send('POST', `${at(1)}/guests.json`, { id: 999 })).status).toBe(400);
    });

    test('applies concurrent changes in some order', async () => {
      form = 'condition';
      for (let round = 0; round < 5; round++) {
        expect((await send('POST', '/room.json', { house: 'race', nr: round, name: 'a' })).status).toBe(201);
        const path = `/room/race,${round}.json`;
        const results = await Promise.all([
          send('PATCH', path, { name: 'b' }),
          send('DELETE', path),
          send('PATCH', path, { name: 'c' }),
        ]);
        for (const { status } of results) expect([200, 204, 404, 409]).toContain(status);
        expect((await send('GET', path)).status).toBe(404);
      }
    });

    test('carries out a request with an idempotency key once', async () => {
      form = 'condition';
      const key = { 'idempotency-key': `k-${compiledReads}` };
      const body = { house: 'once, "only"', nr: 5, name: 'a' };
      const [one, two] = [await send('POST', '/room.json', body, key), await send('POST', '/room.json', body, key)];
      expect([one.status, two]).toEqual([201, one]);
    });

    test('repeats the response to a request that refers to a row with a composite key', async () => {
      form = 'condition';
      await send('POST', '/room.json', { house: 'again', nr: 1, name: 'a' });
      const key = { 'idempotency-key': `r-${compiledReads}` };
      const body = { id: compiledReads ? 501 : 502, room: { id: 'again,1' } };
      const [one, two] = [await send('POST', '/bed.json', body, key), await send('POST', '/bed.json', body, key)];
      expect([one.status, two]).toEqual([201, one]);
    });

    test('compares ETags with the version of the row', async () => {
      form = 'condition';
      expect((await send('POST', '/shelf.json', { hall: 'a, "b"', nr: 5, name: 'a' })).status).toBe(201);
      const path = '/shelf/a%2C%20%22b%22,5.json';
      const { headers } = await running.request('GET', path);
      const etag = headers.get('etag') as string;
      expect((await send('PATCH', path, { name: 'b' }, { 'if-match': '"x"' })).status).toBe(412);
      expect((await send('PATCH', path, { name: 'b' }, { 'if-match': etag })).status).toBe(200);
      expect((await send('PATCH', path, { name: 'c' }, { 'if-match': etag })).status).toBe(412);
    });
  });
});
