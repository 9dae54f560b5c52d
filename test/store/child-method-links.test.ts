// @module-tag divided
import { type Collection, defineEntity, p, UnitOfWork } from '@mikro-orm/core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

/** How often each piece of application code was called. */
const calls = new Map<string, number>();
/** What others do while a method waits. */
let meanwhile = async (): Promise<unknown> => undefined;
const count = (name: string) => calls.set(name, (calls.get(name) ?? 0) + 1);

const Place = defineEntity({
  name: 'Place',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
});

const pupilSchema = defineEntity({
  name: 'Pupil',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    place: () => p.manyToOne(Place).nullable().groups('read'),
    enrolments: () => p.oneToMany(Enrolment).mappedBy('pupil'),
  },
});
class Pupil extends pupilSchema.class {}
pupilSchema.setClass(Pupil);

const enrolmentSchema = defineEntity({
  name: 'Enrolment',
  properties: {
    id: p.integer().primary().groups('read'),
    course: () => p.manyToOne(Course),
    pupil: () => p.manyToOne(Pupil).inversedBy('enrolments').groups('read'),
    place: () => p.manyToOne(Place).nullable().groups('read'),
    status: p.string().default('new').groups('read'),
    note: p.string().length(20).nullable().groups('read'),
    began: p
      .string()
      .onCreate(() => {
        count('onCreate');
        return 'today';
      })
      .groups('read'),
    ended: p.string().nullable().groups('read', 'write'),
  },
});
class Enrolment extends enrolmentSchema.class {}

const courseSchema = defineEntity({
  name: 'Course',
  properties: {
    id: p.integer().primary().groups('read'),
    mode: p.string().groups('read', 'write'),
    closed: p.integer().default(0).groups('read'),
    place: () => p.manyToOne(Place).nullable().groups('read', 'write'),
    enrolments: () => p.oneToMany(Enrolment).mappedBy('course').orphanRemoval().groups('read'),
  },
});

/** A course whose methods do more or less, as its mode says. */
class Course extends courseSchema.class {
  addPupil(pupil: Pupil): unknown {
    count('addPupil');
    if (this.mode === 'waiting' || this.mode === 'waiting for MikroORM') {
      this.closed += this.#items.length + this.#items.getItems().filter(({ note }) => note).length;
      if (this.mode !== 'waiting') pupil.name = 'renamed';
      return meanwhile();
    }
    const open = this.#openOf(pupil);
    if (open) return open;
    if (this.mode === 'full') throw new Error('full');
    const enrolment = this.#enrol(pupil);
    switch (this.mode) {
      case 'located':
        enrolment.place = this.place;
        break;
      case 'twice':
        this.#enrol(pupil).note = 'second';
        break;
      case 'wordy':
        enrolment.note = 'longer than the column of the note';
        break;
      case 'fluent':
        this.closed = 7;
        return this;
      case 'renaming':
        pupil.name = 'renamed';
        break;
      case 'founding': {
        const place = new (Place.class as unknown as new () => { name: string })();
        place.name = 'founded';
        enrolment.place = place as never;
        break;
      }
      case 'reporting':
        return undefined;
    }
    return enrolment;
  }

  removePupil(pupil: Pupil): unknown {
    count('removePupil');
    const open = this.#openOf(pupil);
    if (!open) return undefined;
    this.closed++;
    if (this.mode.startsWith('erasing')) this.#items.remove(open as never);
    else open.ended = 'today';
    return this.mode === 'erasing' ? undefined : open;
  }

  validate() {
    count('validate');
    const open = this.#items.getItems().filter(({ ended }) => !ended);
    return this.mode === 'limited' && open.length > 2 ? [{ propertyPath: 'enrolments', title: 'two are enough' }] : [];
  }

  get #items() {
    return this.enrolments as unknown as Collection<Enrolment>;
  }

  #openOf(pupil: Pupil): Enrolment | undefined {
    return this.#items.getItems().find((each) => (each.pupil as unknown) === pupil && !each.ended);
  }

  #enrol(pupil: Pupil): Enrolment {
    const enrolment = new Enrolment();
    enrolment.pupil = pupil as never;
    this.#items.add(enrolment as never);
    return enrolment;
  }
}
enrolmentSchema.setClass(Enrolment);
courseSchema.setClass(Course);

describe.each(databases)('methods that keep items in rows of their own on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    const actions = { _index: { methods: { POST: true } }, _entity: { methods: { GET: true, PATCH: true } } } as const;
    app = await startApplication({
      models: [Place, Pupil, Enrolment, Course],
      app_main: {
        database: { url: database.url, schema: 'update' },
        apis: {
          pupil: { class: Pupil, base_path: '/pupil', actions },
          enrolment: { class: Enrolment, base_path: '/enrolment', actions: { _entity: actions._entity } },
          course: {
            class: Course,
            base_path: '/course',
            actions: { ...actions, pupils: { association: { property: 'enrolments', types: [Pupil] } } },
          },
        },
      },
    });
    await app.application.mapper.em.fork().insert(Place, { name: 'first' } as never);
    for (const name of ['Ada', 'Bo', 'Cy', 'Di', 'Ed']) await app.request('POST', '/pupil.json', { json: { name } });
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });
  let commits: { mock: { calls: unknown[] } };
  beforeEach(() => {
    calls.clear();
    commits = vi.spyOn(UnitOfWork.prototype, 'commit');
  });
  afterEach(() => vi.restoreAllMocks());

  const courseOf = async (mode: string) =>
    (await app.request('POST', '/course.json', { json: { mode, place: { id: 1 } } })).json.id as number;
  const enrolmentsOf = async (course: number) => (await app.request('GET', `/course/${course}.json`)).json.enrolments as any[];
  const send = (method: 'POST' | 'DELETE', course: number, id: number) =>
    app.request(method, `/course/${course}/pupils.json`, { json: { id } });
  /** Sends a request whose code must run once, and whether MikroORM writes its changes. */
  const change = async (method: 'POST' | 'DELETE', course: number, id: number, byMikroOrm = false) => {
    calls.clear();
    commits.mock.calls.length = 0;
    const response = await send(method, course, id);
    expect(calls.get(method === 'POST' ? 'addPupil' : 'removePupil'), response.text).toBe(1);
    for (const [name, number] of calls) if (name !== 'onCreate') expect([name, number]).toEqual([name, 1]);
    expect(commits.mock.calls.length > 0).toBe(byMikroOrm);
    return response;
  };
  const one = { id: expect.any(Number), status: 'new', note: null, began: 'today', ended: null, place: null };

  test('create a row, and respond with it as it is stored', async () => {
    const course = await courseOf('plain');
    const { json, status } = await change('POST', course, 1);
    expect([status, json]).toEqual([200, { ...one, pupil: { id: 1, name: 'Ada', place: null } }]);
    expect(calls.get('onCreate')).toBe(1);
    expect((await app.request('GET', `/enrolment/${json.id}.json`)).json).toEqual(json);
    expect(await enrolmentsOf(course)).toMatchObject([{ id: json.id, pupil: { id: 1 } }]);
  });

  test('find the row of an item, and change nothing', async () => {
    const course = await courseOf('plain');
    const first = (await change('POST', course, 1)).json;
    await change('POST', course, 2);
    const again = await change('POST', course, 1);
    expect([again.status, again.json]).toEqual([200, first]);
    expect(await enrolmentsOf(course)).toHaveLength(2);
  });

  test('change a row and the owner, and respond with the row', async () => {
    const course = await courseOf('plain');
    const { id } = (await change('POST', course, 1)).json;
    const { json } = await change('DELETE', course, 1);
    expect(json).toMatchObject({ id, ended: 'today', pupil: { id: 1 } });
    expect((await app.request('GET', `/course/${course}.json`)).json).toMatchObject({
      closed: 1,
      enrolments: [{ ended: 'today' }],
    });
  });

  test('respond with the item if they return nothing', async () => {
    const course = await courseOf('plain');
    expect((await change('DELETE', course, 3)).json).toEqual({ id: 3, name: 'Cy', place: null });
    const reporting = await courseOf('reporting');
    expect((await change('POST', reporting, 3)).json).toEqual({ id: 3, name: 'Cy', place: null });
    expect(await enrolmentsOf(reporting)).toMatchObject([{ pupil: { id: 3 } }]);
  });

  test('remove a row', async () => {
    const course = await courseOf('erasing');
    for (const pupil of [1, 2]) await change('POST', course, pupil);
    expect((await change('DELETE', course, 1)).json).toMatchObject({ id: 1, name: 'Ada' });
    expect(await enrolmentsOf(course)).toMatchObject([{ pupil: { id: 2 } }]);
  });

  test('remove a row, and respond with it', async () => {
    const course = await courseOf('erasing and returning');
    const { id } = (await change('POST', course, 1)).json;
    const removed = await change('DELETE', course, 1, true);
    expect([removed.status, removed.json.id]).toEqual([200, id]);
    expect(await enrolmentsOf(course)).toEqual([]);
  });

  test('create several rows, refer to other rows, or return the owner', async () => {
    const twice = await courseOf('twice');
    expect((await change('POST', twice, 4)).json).toMatchObject({ note: null, pupil: { id: 4 } });
    expect(await enrolmentsOf(twice)).toHaveLength(2);
    const located = await courseOf('located');
    expect((await change('POST', located, 4)).json).toMatchObject({ place: { id: 1, name: 'first' } });
    const fluent = await courseOf('fluent');
    const { json } = await change('POST', fluent, 4);
    expect(json).toEqual((await app.request('GET', `/course/${fluent}.json`)).json);
    expect(json).toMatchObject({ closed: 7, enrolments: [{ pupil: { id: 4 } }] });
  });

  test('leave what statements cannot write to MikroORM, and run once', async () => {
    const renaming = await courseOf('renaming');
    expect((await change('POST', renaming, 5, true)).json).toMatchObject({ pupil: { id: 5, name: 'renamed' } });
    const founding = await courseOf('founding');
    expect((await change('POST', founding, 5, true)).json).toMatchObject({ place: { name: 'founded' } });
    expect(await enrolmentsOf(founding)).toMatchObject([{ pupil: { id: 5 }, place: { name: 'founded' } }]);
  });

  test('write nothing if they throw, break a rule, or set a value that does not fit', async () => {
    for (const [mode, before, status] of [
      ['full', [], 500],
      ['limited', [1, 2], 422],
      // SQLite stores texts of any length
      ...(kind === 'postgresql' ? ([['wordy', [], 422]] as const) : []),
    ] as const) {
      const course = await courseOf(mode);
      for (const pupil of before) await change('POST', course, pupil);
      expect([mode, (await send('POST', course, 3)).status]).toEqual([mode, status]);
      expect(await enrolmentsOf(course)).toHaveLength(before.length);
    }
    const course = await courseOf('plain');
    expect((await send('POST', course, 99)).status).toBe(400);
    expect((await send('POST', 999, 1)).status).toBe(404);
  });

  test('change nothing if the item is removed meanwhile', async () => {
    const course = await courseOf('waiting');
    const { id } = (await app.request('POST', '/pupil.json', { json: { name: 'Fay' } })).json;
    meanwhile = () => app.application.mapper.em.fork().nativeDelete(Pupil, { id });
    expect((await send('POST', course, id)).status).toBe(400);
    expect((await app.request('GET', `/course/${course}.json`)).json.closed).toBe(0);
  });

  test.each(['waiting', 'waiting for MikroORM'])(
    'run again if others change the owner or a row meanwhile, mode %s',
    async (mode) => {
      const em = app.application.mapper.em.fork();
      const course = await courseOf('plain');
      const { id } = (await send('POST', course, 1)).json;
      await em.nativeUpdate(Course, { id: course } as never, { mode } as never);
      const others: [() => Promise<unknown>, closed: number][] = [
        [() => em.nativeUpdate(Enrolment, { id } as never, { note: 'changed' } as never), 2],
        [() => em.nativeUpdate(Course, { id: course } as never, { place: null } as never), 4],
        [() => em.insert(Enrolment, { course, pupil: 2, began: 'today' } as never), 7],
      ];
      for (const [change, closed] of others) {
        calls.clear();
        meanwhile = async () => {
          meanwhile = async () => undefined;
          await change();
        };
        expect((await send('POST', course, 3)).status).toBe(200);
        expect([closed, calls.get('addPupil')]).toEqual([closed, 2]);
        expect((await app.request('GET', `/course/${course}.json`)).json.closed).toBe(closed);
      }
    },
  );

  test('respect a limit and enrol nobody twice under concurrent requests', async () => {
    for (let round = 0; round < 6; round++) {
      const course = await courseOf('limited');
      const responses = await Promise.all([1, 1, 2, 3, 3, 4].map((pupil) => send('POST', course, pupil)));
      expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200, 422]));
      const pupils = (await enrolmentsOf(course)).map(({ pupil }) => pupil.id);
      expect([pupils.length, new Set(pupils).size]).toEqual([2, 2]);
    }
  });

  test('and concurrent changes of a row match a serial order', async () => {
    for (let round = 0; round < 10; round++) {
      const course = await courseOf('plain');
      const { id } = (await send('POST', course, 1)).json;
      const patch = () => app.request('PATCH', `/enrolment/${id}.json`, { json: { ended: 'earlier' } });
      const [patched, removed] = await Promise.all([patch(), send('DELETE', course, 1)]);
      expect([patched.status, removed.status]).toEqual([200, 200]);
      const { closed, enrolments } = (await app.request('GET', `/course/${course}.json`)).json;
      // the removal before the change, or none at all after it
      expect([0, 1]).toContain(closed);
      expect([enrolments[0].ended, removed.json.ended]).toEqual(['earlier', closed === 1 ? 'today' : undefined]);
    }
  });
});
