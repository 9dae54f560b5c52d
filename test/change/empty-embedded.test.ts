// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { useApplication } from '../spec/fixtures/use-application.ts';
import { databases } from '../support/databases.ts';

const forms = ['columns', 'json'] as const;

type Any = any;

/** A tour stops at a place, of which callers do not see all parts, and ends at one of which they see all. */
function modelsOf(form: (typeof forms)[number]) {
  const Stop = defineEntity({
    name: `EmptyStop${form}`,
    embeddable: true,
    properties: {
      place: p.string().nullable().groups('read', 'write'),
      secret: p.string().nullable(),
    },
  });
  const End = defineEntity({
    name: `EmptyEnd${form}`,
    embeddable: true,
    properties: { place: p.string().nullable().groups('read', 'write') },
  });
  const embedded = (part: Any) => (form === 'json' ? p.embedded(part).object() : p.embedded(part)).nullable();
  const Tour = defineEntity({
    name: `EmptyTour${form}`,
    properties: {
      id: p.integer().primary(),
      version: p.integer().version(),
      stop: () => embedded(Stop).groups('read', 'write'),
      end: () => embedded(End).groups('read', 'write'),
    },
  });
  return [Tour, Stop, End] as const;
}

describe.each(databases)('an embedded object without visible values on %s', (kind) => {
  describe.each(forms)('stored as %s', (form) => {
    const [Tour, Stop, End] = modelsOf(form);
    const running = useApplication(kind, {
      app_main: {
        apis: {
          tour: { class: Tour, base_path: '/tour', actions: { _entity: { methods: { GET: true, PATCH: true, PUT: true } } } },
        },
      },
      models: [Tour, Stop, End],
      seed: async (em: Any) => {
        for (let i = 0; i < 10; i++)
          em.create(Tour as Any, { stop: i % 2 === 0 ? null : { place: null, secret: 'of the stop' }, end: null });
        await em.flush();
      },
    } as Any);
    const rowOf = (id: number): Promise<Any> =>
      running.app.application.mapper.em.fork().findOneOrFail(Tour as Any, id) as Promise<Any>;

    test.each([
      ['PATCH', { stop: {} }, 1],
      ['PATCH', { stop: { place: null } }, 3],
      ['PUT', { stop: {} }, 5],
      ['PUT', { stop: { place: null } }, 7],
    ] as const)('does not reveal hidden parts by %s %j', async (method, json, id) => {
      const [without, having] = [
        await running.request(method, `/tour/${id}.json`, { json }),
        await running.request(method, `/tour/${id + 1}.json`, { json }),
      ];
      expect([without?.status, without?.json]).toEqual([200, { stop: null, end: null }]);
      expect([having?.status, having?.json]).toEqual([200, { stop: null, end: null }]);
      const rows = [await rowOf(id), await rowOf(id + 1)];
      expect(rows.map(({ version }) => version)).toEqual([1, 1]);
      expect(rows[1].stop.secret).toBe('of the stop');
    });

    test('is stored if callers see all of its parts', async () => {
      const { json } = await running.request('PATCH', '/tour/9.json', { json: { end: {} } });
      expect(json).toEqual({ stop: null, end: form === 'json' ? { place: null } : null });
      expect((await running.request('PATCH', '/tour/9.json', { json: { end: { place: 'x' } } })).json).toEqual({
        stop: null,
        end: { place: 'x' },
      });
    });
  });
});
