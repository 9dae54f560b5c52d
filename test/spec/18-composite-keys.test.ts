import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { databases } from '../support/databases.ts';
import { partOf } from '../support/random.ts';
import { everything, useApplication } from './fixtures/use-application.ts';

const Course: any = defineEntity({
  name: 'Course',
  properties: {
    id: p.integer().primary().groups('read', 'write'),
    title: p.string().groups('read', 'write'),
    enrolments: () => p.oneToMany(Enrolment).mappedBy('course').groups('read'),
  },
} as never);
const Enrolment: any = defineEntity({
  name: 'Enrolment',
  properties: {
    course: () => p.manyToOne(Course).primary().groups('read', 'write'),
    person: p.integer().primary().groups('read', 'write'),
    note: p.string().nullable().groups('read', 'write'),
    marks: () => p.oneToMany(Mark).mappedBy('enrolment').groups('read'),
  },
} as never);
/** Refers to a row with a composite key, and has one itself. */
const Mark: any = defineEntity({
  name: 'Mark',
  properties: {
    enrolment: () => p.manyToOne(Enrolment).primary().groups('read', 'write'),
    nr: p.integer().primary().groups('read', 'write'),
    points: p.integer().groups('read', 'write'),
  },
} as never);
const Place: any = defineEntity({
  name: 'Place',
  properties: {
    town: p.string().primary().groups('read', 'write'),
    day: p.date().primary().groups('read', 'write'),
    token: p.uuid().primary().serializedName('key').groups('read', 'write'),
    seats: p.integer().default(0).groups('read', 'write'),
    closed: p.boolean().default(false),
  },
} as never);
const Person: any = defineEntity({
  name: 'Person',
  properties: {
    id: p.integer().primary().groups('read', 'write'),
    favourite: () => p.manyToOne(Enrolment).nullable().groups('read', 'write'),
    places: () => p.manyToMany(Place).groups('read', 'write'),
  },
} as never);

const models = [Course, Enrolment, Mark, Place, Person];
const apis = {
  course: { class: Course, base_path: '/course', actions: everything },
  enrolment: { class: Enrolment, base_path: '/enrolment', actions: everything },
  mark: { class: Mark, base_path: '/mark', actions: everything },
  place: { class: Place, base_path: '/place', actions: everything },
  person: {
    class: Person,
    base_path: '/person',
    actions: {
      ...everything,
      places: { methods: { POST: true, DELETE: true }, association: { property: 'places' } },
    },
  },
} as const;
const token = '0198a5b0-0000-7000-8000-00000000000a';
const towns = ['Z, "north"', 'a%2Cb', 'ü/ß', "o'hare", '100%', 'a.json', '1,2'];
const pathOf = (town: string) => `${encodeURIComponent(town)},2026-11-18,${token}`;

describe.each(databases)('composite keys on %s', (kind) => {
  describe.each(partOf([true, false], 2, databases.indexOf(kind)))('compiled: %s', (compiledReads) => {
    const running = useApplication(kind, { app_main: { apis }, models, compiledReads } as never);
    const send = async (method: string, path: string, json?: unknown) => {
      const { headers, json: body, status } = await running.request(method, path, json === undefined ? {} : { json });
      return { status, body: body as any, location: headers.get('location'), etag: headers.get('etag') };
    };

    test('creates, fetches, changes and removes a row', async () => {
      for (const id of [1, 2, 3]) expect((await send('POST', '/course.json', { id, title: `c${id}` })).status).toBe(201);
      const made = await send('POST', '/enrolment.json', { course: { id: 1 }, person: 7, note: 'x' });
      expect(made).toMatchObject({ status: 201, location: '/enrolment/1,7.json', body: { person: 7, note: 'x' } });
      expect(made.body.course).toMatchObject({ id: 1, title: 'c1' });
      expect(await send('GET', '/enrolment/1,7.json')).toMatchObject({ status: 200, body: made.body });
      expect((await send('POST', '/enrolment.json', { course: { id: 1 }, person: 7 })).status).toBe(409);
      expect((await send('POST', '/enrolment.json', { course: { id: 1 } })).status).toBe(422);
      expect((await send('POST', '/enrolment.json', { course: { id: 9 }, person: 7 })).status).toBe(400);
      expect(await send('PATCH', '/enrolment/1,7.json', { note: 'y' })).toMatchObject({ status: 200, body: { note: 'y' } });
      expect(await send('PATCH', '/enrolment/1,7.json', { note: 'z', person: 7 })).toMatchObject({ status: 200 });
      expect(await send('PATCH', '/enrolment/1,7.json', { person: 8 })).toMatchObject({
        status: 400,
        body: { code: 'identity_mismatch' },
      });
      expect(await send('PATCH', '/enrolment/1,7.json', { course: { id: 2 } })).toMatchObject({ status: 400 });
      const put = await send('PUT', '/enrolment/1,7.json', { course: { id: 1 }, person: 7 });
      expect(put).toMatchObject({ status: 200, body: { person: 7, note: null } });
      expect((await send('DELETE', '/enrolment/1,7.json')).status).toBe(204);
      expect((await send('GET', '/enrolment/1,7.json')).status).toBe(404);
    });

    test('rejects ids that no row can have', async () => {
      await send('POST', '/enrolment.json', { course: { id: 2 }, person: 3 });
      const ids = [
        ',',
        '1,',
        ',1',
        '2',
        '2,3,4',
        '2,3%2C4',
        '2%2C3',
        'a,b',
        '2,03',
        '2,3%00',
        `2,${'9'.repeat(90)}`,
        `2,${'9'.repeat(5000)}`,
      ];
      for (const id of ids) expect([id, (await send('GET', `/enrolment/${id}.json`)).status]).toEqual([id, 404]);
      const texts = [
        ',,',
        'a,2026-11-18',
        `a,2026-13-18,${token}`,
        `a,b,2026-11-18,${token}`,
        `%,2026-11-18,${token}`,
        `,2026-11-18,${token}`,
      ];
      for (const id of texts) expect([id, (await send('GET', `/place/${id}.json`)).status >= 400]).toEqual([id, true]);
      expect((await send('GET', '/enrolment/2,3.json')).status).toBe(200);
      expect((await send('DELETE', '/enrolment/2,3.json')).status).toBe(204);
    });

    test('has one path for each key, whatever its parts contain', async () => {
      for (const [seats, town] of towns.entries()) {
        const made = await send('POST', '/place.json', { town, day: '2026-11-18', key: token, seats });
        expect([town, made.status, made.location]).toEqual([town, 201, `/place/${pathOf(town)}.json`]);
      }
      for (const [seats, town] of towns.entries()) {
        const { body, status } = await send('GET', `/place/${pathOf(town)}.json`);
        expect([status, body]).toEqual([200, { town, day: '2026-11-18', key: token, seats }]);
        expect((await send('PATCH', `/place/${pathOf(town)}.json`, { seats: seats + 100 })).body.seats).toBe(seats + 100);
      }
    });

    test('walks through pages in both directions', async () => {
      for (const [course, person] of [
        [1, 1],
        [1, 2],
        [2, 1],
        [2, 2],
        [3, 1],
      ] as const)
        expect((await send('POST', '/enrolment.json', { course: { id: course }, person })).status).toBe(201);
      const seen: string[] = [];
      const keysOf = (results: any[]) => results.map(({ course, person }) => `${course.id},${person}`);
      let page = await send('GET', '/enrolment.json?items_per_page=2');
      expect(page.body).toMatchObject({ count: 5 });
      for (let next = page.body.pagination.next; ; ) {
        seen.push(...keysOf(page.body.results));
        next = page.body.pagination.next;
        if (next === null) break;
        page = await send('GET', next);
      }
      expect(seen).toEqual(['1,1', '1,2', '2,1', '2,2', '3,1']);
    });

    test('embeds rows with composite keys, and is embedded in them', async () => {
      for (const nr of [2, 1]) {
        const made = await send('POST', '/mark.json', { enrolment: { course: 1, person: 2 }, nr, points: nr * 10 });
        expect(made).toMatchObject({ status: 201, location: `/mark/1,2,${nr}.json` });
        expect(made.body.enrolment).toMatchObject({ person: 2, course: { id: 1 } });
      }
      expect((await send('POST', '/mark.json', { enrolment: { course: 1, person: 99 }, nr: 1, points: 1 })).status).toBe(400);
      expect((await send('POST', '/mark.json', { enrolment: { course: 1 }, nr: 1, points: 1 })).status).toBe(400);
      expect((await send('POST', '/mark.json', { enrolment: { id: '1,1' }, nr: 1, points: 1 })).status).toBe(201);
      const { body } = await send('GET', '/enrolment/1,2.json');
      expect(body.marks.map(({ nr, points }: any) => [nr, points])).toEqual([
        [1, 10],
        [2, 20],
      ]);
      const course = (await send('GET', '/course/1.json')).body;
      expect(course.enrolments.map(({ marks, person }: any) => [person, marks.length])).toEqual([
        [1, 1],
        [2, 2],
      ]);
      expect(await send('GET', '/mark/1,2,1.json')).toMatchObject({ status: 200, body: { points: 10 } });
      expect((await send('DELETE', '/enrolment/1,2.json')).status).toBe(409);
    });

    test('refers to rows with composite keys, and adds and removes them', async () => {
      const made = await send('POST', '/person.json', { id: 1, favourite: { course: { id: 2 }, person: 1 } });
      expect(made).toMatchObject({ status: 201 });
      expect(made.body.favourite).toMatchObject({ person: 1, course: { id: 2 } });
      expect((await send('PATCH', '/person/1.json', { favourite: { course: 2, person: 50 } })).status).toBe(400);
      expect((await send('PATCH', '/person/1.json', { favourite: { course: 3, person: 1 } })).body.favourite.course.id).toBe(3);
      const item = (town: string) => ({ town, day: '2026-11-18', key: token });
      for (const town of [towns[6], towns[0], towns[0]])
        expect((await send('POST', '/person/1/places.json', item(town as string))).status).toBe(200);
      const linked = async () => (await send('GET', '/person/1.json')).body.places.map(({ town }: any) => town);
      expect(await linked()).toEqual([towns[6], towns[0]]);
      expect((await send('DELETE', '/person/1/places.json', item(towns[6] as string))).status).toBe(200);
      expect((await send('POST', '/person/1/places.json', item('nowhere'))).status).toBe(400);
      expect(await linked()).toEqual([towns[0]]);
      expect((await send('PATCH', '/person/1.json', { places: [item('100%'), item('ü/ß')] })).status).toBe(200);
      expect(await linked()).toEqual(['100%', 'ü/ß']);
      expect((await send('PATCH', '/person/1.json', { favourite: null })).body.favourite).toBe(null);
    });
  });
});
