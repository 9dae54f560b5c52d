// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { useApplication } from '../spec/fixtures/use-application.ts';
import { databases } from '../support/databases.ts';

const forms = ['columns', 'json'] as const;

type Any = any;

/** A leg of a tour holds a stop, which has a part that no body can set. */
function modelsOf(form: (typeof forms)[number], name: string) {
  const Stop = defineEntity({
    name: `Stop${name}`,
    embeddable: true,
    properties: {
      place: p.string().nullable().groups('read', 'write'),
      code: p.string().nullable().groups('write'),
      secret: p.string().nullable(),
    },
  });
  const Leg = defineEntity({
    name: `Leg${name}`,
    embeddable: true,
    properties: {
      km: p.integer().nullable().groups('read', 'write'),
      stop: () => p.embedded(Stop).nullable().groups('read', 'write'),
      further: () => p.embedded(Stop).array().nullable().groups('read', 'write'),
    },
  });
  const Tour = defineEntity({
    name: `Tour${name}`,
    properties: {
      id: p.integer().primary().groups('read'),
      name: p.string().groups('read', 'write'),
      leg: () => (form === 'json' ? p.embedded(Leg).object() : p.embedded(Leg)).nullable().groups('read', 'write'),
      legs: () => p.embedded(Leg).array().groups('read', 'write'),
    },
  });
  return [Tour, Leg, Stop] as const;
}

describe.each(databases)('hidden parts of objects in embedded objects on %s', (kind) => {
  describe.each(forms)('stored as %s', (form) => {
    const [Tour, Leg, Stop] = modelsOf(form, form);
    const stop = (place: string, code?: string) => ({ place, ...(code && { code }), secret: `of ${place}` });
    const leg = (km: number, place: string) => ({ km, stop: stop(place), further: [stop(`${place}1`), stop(`${place}2`)] });
    const first = { leg: leg(1, 'a'), legs: [leg(2, 'b'), leg(2, 'c')] };
    const running = useApplication(kind, {
      app_main: {
        apis: {
          tour: {
            class: Tour,
            base_path: '/tour',
            actions: { _entity: { methods: { GET: true, PATCH: true, PUT: true } } },
          },
        },
      },
      models: [Tour, Leg, Stop],
      seed: async (em: Any) => {
        for (let id = 1; id <= 12; id++) em.create(Tour as Any, { name: `tour ${id}`, ...first });
        await em.flush();
      },
    } as Any);
    const stored = async (id: number): Promise<Any> => {
      const found: Any = await running.app.application.mapper.em.fork().findOneOrFail(Tour as Any, id);
      const withoutCode = (key: string, value: unknown) => (key === 'code' && value === null ? undefined : value);
      return JSON.parse(JSON.stringify({ leg: found.leg, legs: found.legs }, withoutCode));
    };
    const secretOf = (each: Any) => each?.stop?.secret ?? null;

    test.each([
      ['PATCH', { leg: null }],
      ['PUT', { name: 'x', leg: null, legs: [] }],
      ['PUT', { name: 'x', legs: [] }],
    ])('stay if %s %j clears the outer object', async (method, json) => {
      const id = { PATCH: 1, PUT: 'leg' in json ? 2 : 3 }[method] as number;
      const changed = await running.request(method, `/tour/${id}.json`, { json });
      expect(changed.status).toBe(200);
      const { leg: kept } = await stored(id);
      expect([kept.km, kept.stop]).toEqual([null, { place: null, secret: 'of a' }]);
    });

    test.each([
      ['PATCH', 4],
      ['PUT', 5],
    ] as const)('stay if %s sends back what was read', async (method, id) => {
      const { json: read } = await running.request('GET', `/tour/${id}.json`);
      const { id: _, ...json } = read as Any;
      const changed = await running.request(method, `/tour/${id}.json`, { json });
      expect([changed.status, changed.json]).toEqual([200, read]);
      expect(await stored(id)).toEqual(first);
    });

    test('stay with the item whose objects look the same', async () => {
      const { json: read } = await running.request('GET', '/tour/6.json');
      const [b, c] = (read as Any).legs;
      const changed = await running.request('PATCH', '/tour/6.json', {
        json: { legs: [c, { km: 3, stop: null, further: null }, b] },
      });
      expect(changed.status).toBe(200);
      const { legs } = await stored(6);
      expect(legs.map(secretOf)).toEqual(['of c', null, 'of b']);
      expect(legs[0].further).toEqual([stop('c1'), stop('c2')]);
    });

    test('stay with an item whose objects lose a value that nobody can read', async () => {
      const { json: read } = await running.request('GET', '/tour/8.json');
      const set = { legs: (read as Any).legs.map((each: Any) => ({ ...each, stop: { ...each.stop, code: 'new' } })) };
      expect((await running.request('PATCH', '/tour/8.json', { json: set })).status).toBe(200);
      expect((await stored(8)).legs[0].stop).toEqual(stop('b', 'new'));
      await running.request('PATCH', '/tour/8.json', { json: { legs: (read as Any).legs } });
      expect((await stored(8)).legs.map(secretOf)).toEqual(['of b', 'of c']);
    });

    test('are not given to an item whose objects look different', async () => {
      const { json: read } = await running.request('GET', '/tour/7.json');
      const [b] = (read as Any).legs;
      const changed = await running.request('PATCH', '/tour/7.json', { json: { legs: [{ ...b, stop: { place: 'd' } }] } });
      expect(changed.status).toBe(200);
      expect((await stored(7)).legs.map(secretOf)).toEqual([null]);
    });
  });
});
