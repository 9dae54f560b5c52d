// @module-tag divided
import { describe, expect, test } from 'vitest';
import { databases } from '../support/databases.ts';
import { bare, hidden, linked, registry, seen } from './support/registry.ts';
import { type Answer, useTarget } from './support/target.ts';
import { admin, ann, marker } from './support/vault.ts';

/** Ways to a row that has a link to a hidden one, and to its twin, which has none. */
type Door = [name: string, method: string, path: (id: number) => string, body?: unknown];
const doors: Door[] = [
  ['to-one and to-many', 'GET', (id) => `/item/${id}.json`],
  ['the length that HEAD tells', 'HEAD', (id) => `/item/${id}.json`],
  ['a list', 'GET', (id) => `/item.json?id=${id}`],
  ['the length that HEAD of a list tells', 'HEAD', (id) => `/item.json?id=${id}`],
  ['two levels deep', 'GET', (id) => `/loan/${id}.json`],
  ['two levels deep in a list', 'GET', (id) => `/loan.json?id=${id}`],
  ['a reference where a cycle is cut', 'GET', (id) => `/room/${id}.json`],
  ['a reference where a cycle is cut, in a list', 'GET', (id) => `/room.json?id=${id}`],
  ['what a handler gives', 'GET', (id) => `/item/${id}/peek.json`],
  ['what a handler has wrapped', 'GET', (id) => `/item/${id}/wrapped.json`],
  ['the fields that were asked for', 'GET', (id) => `/item.json?id=${id}&fields=room`],
  ['a field two levels deep', 'GET', (id) => `/item.json?id=${id}&fields=room.name`],
  ['a field of a to-many', 'GET', (id) => `/item.json?id=${id}&fields=rooms.id`],
  ['the answer to PATCH', 'PATCH', (id) => `/item/${id}.json`, { title: 'twin' }],
  ['the answer to PATCH of nothing', 'PATCH', (id) => `/item/${id}.json`, {}],
  ['the answer to PATCH two levels up', 'PATCH', (id) => `/loan/${id}.json`, { note: 'twin' }],
  ['the answer to PATCH of a room', 'PATCH', (id) => `/room/${id}.json`, { name: 'twin' }],
  ['the answer to an add', 'POST', (id) => `/item/${id}/rooms.json`, { id: seen }],
  ['CSV', 'GET', (id) => `/item/${id}.csv`],
  ['NDJSON', 'GET', (id) => `/item/${id}.ndjson`],
  ['XML', 'GET', (id) => `/item/${id}.xml`],
  ['an export to CSV', 'GET', (id) => `/item.csv?id=${id}`],
  ['an export to NDJSON', 'GET', (id) => `/item.ndjson?id=${id}`],
  ['a list in XML', 'GET', (id) => `/item.xml?id=${id}`],
  ['two levels deep in CSV', 'GET', (id) => `/loan.csv?id=${id}`],
  ['a cut reference in CSV', 'GET', (id) => `/room.csv?id=${id}`],
  ['the answer to PATCH in XML', 'PATCH', (id) => `/item/${id}.xml`, { title: 'twin' }],
];

function bytesOf({ headers, status, text }: Answer, id: number): unknown {
  // the tag is of the text, in which the ids differ
  const { date: _, etag: ___, 'content-location': place, 'x-request-id': __, ...rest } = headers;
  return { status, headers: rest, place: String(place).replace(String(id), '#'), text: text.replaceAll(String(id), '#') };
}

describe.each(databases)('API1:2023 broken object level authorization: embedded rows, on %s', (kind) => {
  const target = useTarget(kind, registry);
  const links = async () => [
    await target.rows('select id, room_id from item order by id'),
    await target.rows('select * from item_rooms order by item_id, room_id'),
    await target.rows('select id, parent_id from room order by id'),
  ];

  describe('a row linked to a hidden row looks like a row without a link (API Platform CVE-2025-31481; decision 15)', () => {
    test.each(doors)('%s', async (...[, method, path, json]: Door) => {
      const before = await links();
      const ask = async (id: number, as: typeof ann) => {
        // an item that is there is not added again, and is the response itself
        if (method === 'POST') await target.send('DELETE', path(id), { as: admin, json });
        const answer = await target.send(method, path(id), { as, ...(json !== undefined && { json }) });
        expect(answer.status, answer.whole).toBeLessThan(300);
        return answer;
      };
      const answer = await ask(linked, ann);
      expect(answer.whole).not.toContain(marker);
      expect(answer.text).not.toContain(String(hidden));
      expect(bytesOf(answer, linked)).toEqual(bytesOf(await ask(bare, ann), bare));
      expect(await links()).toEqual(before);
      // the test could not fail if nobody were shown the difference
      expect(bytesOf(await ask(linked, admin), linked)).not.toEqual(bytesOf(await ask(bare, admin), bare));
    });
  });

  describe('a write neither reveals nor removes a link that the caller cannot see (CWE-204)', () => {
    test.each([
      ['PATCH', { room: null }],
      ['PATCH', { rooms: [] }],
      ['PATCH', { rooms: [{ id: seen }] }],
      ['PUT', { title: 'twin' }],
      ['PUT', { title: 'twin', room: null, rooms: [{ id: seen }] }],
    ])('%s %j', async (method, json) => {
      const answers = [];
      for (const id of [linked, bare]) {
        const answer = await target.send(method, `/item/${id}.json`, { as: ann, json });
        expect(answer.status, answer.whole).toBe(200);
        answers.push(bytesOf(answer, id));
        await target.send('POST', `/item/${id}/rooms.json`, { as: ann, json: { id: seen } });
      }
      expect(answers[0]).toEqual(answers[1]);
      const [items, pairs] = await links();
      expect(items?.map(({ room_id }) => room_id)).toEqual([hidden, null]);
      expect(pairs?.map(({ item_id, room_id }) => [item_id, room_id])).toEqual([
        [linked, seen],
        [linked, hidden],
        [bare, seen],
      ]);
    });

    test('removing a hidden item returns the same response as removing a missing one', async () => {
      const remove = (room: number) => target.send('DELETE', `/item/${linked}/rooms.json`, { as: ann, json: { id: room } });
      const before = await links();
      expect(bytesOf(await remove(hidden), hidden)).toEqual(bytesOf(await remove(999), 999));
      expect(await links()).toEqual(before);
    });
  });

  describe('a list sorted by a property of a hidden row (CVE-2023-22894: hidden values are not compared)', () => {
    const encoded = (content: unknown) => Buffer.from(JSON.stringify(content)).toString('base64url');
    const told = (text: string) =>
      [text, ...[...text.matchAll(/[\w-]{8,}/g)].map(([token]) => Buffer.from(token, 'base64url').toString())].join('\n');

    test('has no pagination link that contains the hidden value', async () => {
      let next: string | null = '/ordered.json?items_per_page=1';
      let pages = 0;
      while (next !== null) {
        const { json, whole }: Answer = await target.send('GET', next, { as: ann });
        expect(told(whole)).not.toContain(marker);
        expect(JSON.stringify(json.pagination)).not.toMatch(/after|before/);
        next = json.pagination.next;
        pages++;
      }
      expect(pages).toBe(2);
    });

    test.each(['after', 'before'])('rejects a forged pagination token in %s', async (name) => {
      for (const value of [`${marker}room`, null, 'A', hidden]) {
        const answer = await target.send('GET', `/ordered.json?page=2&${name}=${encoded(['AAAAAA', value, linked])}`, {
          as: ann,
        });
        expect([answer.status, answer.json.code]).toEqual([400, 'invalid_parameter']);
      }
    });
  });
});
