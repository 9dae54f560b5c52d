// @module-tag divided
// which statements are sent depends little on the database
import { defineEntity, type EntityManager, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, Voter } from '../../src/index.ts';
import { type CountedApplication, forms, ids, startCounted, type VariantName, variants } from '../engine/counted-app.ts';
import { everything, useApplication } from '../spec/fixtures/use-application.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { partOf } from '../support/random.ts';

/** What a request refers to: a hidden row, or one that does not exist. */
interface Referred {
  readonly item: number;
  readonly tag: number;
  readonly category: number;
}

const hidden: Referred = { item: ids.hidden, tag: 1004, category: 1002 };
const missing: Referred = { item: ids.missing, tag: ids.missing, category: ids.missing };

type Way = [name: string, method: string, path: (to: Referred) => string, body?: (to: Referred) => unknown];

const own = (action = '') => `/${ids.item}${action}.json`;
const whole = { name: 'new', code: 'a-new', open: true };

const rows: Way[] = [
  ['GET', 'GET', ({ item }) => `/${item}.json`],
  ['PATCH', 'PATCH', ({ item }) => `/${item}.json`, () => ({ name: 'mine' })],
  ['PATCH with JSON', 'PATCH', ({ item }) => `/${item}.json`, () => ({ data: { a: 1 } })],
  ['PATCH with a wrong value', 'PATCH', ({ item }) => `/${item}.json`, () => ({ name: 5 })],
  ['PUT', 'PUT', ({ item }) => `/${item}.json`, () => whole],
  ['DELETE', 'DELETE', ({ item }) => `/${item}.json`],
  ['add', 'POST', ({ item }) => `/${item}/tags.json`, () => ({ id: 1003 })],
  ['add by an own handler', 'POST', ({ item }) => `/${item}/label.json`, () => ({ id: 1003 })],
  ['remove', 'DELETE', ({ item }) => `/${item}/tags.json`, () => ({ id: 1001 })],
  ['a handler that reads', 'GET', ({ item }) => `/${item}/info.json`],
  ['a handler that writes', 'POST', ({ item }) => `/${item}/touch.json`, () => ({})],
];

const references: Way[] = [
  ['added item', 'POST', () => own('/tags'), ({ tag }) => ({ id: tag })],
  ['added item of a type', 'POST', () => own('/tags'), ({ tag }) => ({ type: 'tag', id: tag })],
  ['item that an own handler adds', 'POST', () => own('/label'), ({ tag }) => ({ id: tag })],
  ['removed item', 'DELETE', () => own('/tags'), ({ tag }) => ({ id: tag })],
];

const embedded: Way[] = [
  ['to-one in POST', 'POST', () => '.json', ({ category }) => ({ ...whole, category: { id: category } })],
  ['to-one in PATCH', 'PATCH', () => own(), ({ category }) => ({ category: { id: category } })],
  ['to-one in PUT', 'PUT', () => own(), ({ category }) => ({ ...whole, category: { id: category } })],
  ['to-many in POST', 'POST', () => '.json', ({ tag }) => ({ ...whole, tags: [{ id: 1001 }, { id: tag }] })],
  ['to-many in PATCH', 'PATCH', () => own(), ({ tag }) => ({ tags: [{ id: tag }, { id: 1003 }] })],
  ['to-many in PUT', 'PUT', () => own(), ({ tag }) => ({ ...whole, tags: [{ id: tag }] })],
];

/** All variants with a plain condition, and one for each store with every other form. */
const setups = Object.keys(variants).flatMap((name) => {
  const variant = name as VariantName;
  const isTriedWithAll = variant === 'restricted' || variant === 'everything';
  return Object.keys(forms)
    .filter((form) => form === 'where' || (isTriedWithAll && form !== 'none'))
    .map((form) => ({ variant, form }));
});

const stores = databases.flatMap((kind) => [true, false].map((compiledReads) => ({ kind, compiledReads })));

describe.each(stores)(
  'requests for hidden and for missing rows on $kind, compiled: $compiledReads',
  ({ compiledReads, kind }) => {
    let database: FreshDatabase;
    let app: CountedApplication;
    beforeAll(async () => {
      database = await freshDatabase(kind);
      app = await startCounted(database.url, { compiledReads });
    });
    afterAll(async () => {
      await app?.close();
      await database?.drop();
    });

    /** All that a request does which takes time: the statements it sends and the application code it calls. */
    async function traceOf(variant: VariantName, form: string, [, method, path, body]: Way, to: Referred) {
      app.statements.length = 0;
      app.calls.reset();
      const { status, text } = await app.request(method, `/${variant}${path(to)}`, {
        headers: { 'x-form': form, 'x-user': 'ann' },
        ...(body && { json: body(to) }),
      });
      const number = (given: string) => given.replaceAll(/\b(9999|1002|1003|1004)\b/g, '#');
      return {
        status,
        text: number(text),
        statements: [...app.statements],
        calls: app.calls.all().map(([step, n]) => [number(step), n]),
      };
    }

    test.each(partOf(setups, 3, compiledReads ? 0 : 1))(
      'send the same statements and call the same code: $variant, $form',
      async ({ form, variant }) => {
        const { embeds, restricts } = variants[variant];
        await app.restore(variant);
        const ofHidden: Record<string, unknown> = {};
        const ofMissing: Record<string, unknown> = {};
        for (const way of [...(restricts ? rows : []), ...references, ...(embeds ? embedded : [])]) {
          const trace = await traceOf(variant, form, way, hidden);
          expect(trace.status, way[0]).toBe(rows.includes(way) ? 404 : 400);
          ofHidden[way[0]] = trace;
          ofMissing[way[0]] = await traceOf(variant, form, way, missing);
        }
        expect(ofHidden).toEqual(ofMissing);
      },
    );
  },
);

type Any = any;

/** Rows that are hidden in ways of their own: by class, by a voter that reads them, by a filter of the model; and keys of other names. */
function depot(compiledReads: boolean): Any {
  const Vehicle: Any = defineEntity({
    name: 'Vehicle',
    abstract: true,
    discriminatorColumn: 'type',
    properties: { id: p.integer().primary().groups('read'), type: p.string().groups('read'), open: p.boolean() },
  } as Any);
  const inherits = { extends: Vehicle, properties: {} };
  const Car = defineEntity({ name: 'Car', discriminatorValue: 'car', ...inherits } as Any);
  const Truck = defineEntity({ name: 'Truck', discriminatorValue: 'truck', ...inherits } as Any);
  const Place = defineEntity({
    name: 'Place',
    properties: { code: p.string().primary().groups('read'), open: p.boolean() },
  });
  const Book = defineEntity({ name: 'Book', properties: { id: p.integer().primary().groups('read'), open: p.boolean() } });
  const Note = defineEntity({
    name: 'Note',
    filters: { open: { name: 'open', cond: { open: true }, default: true } },
    properties: { id: p.integer().primary().groups('read'), open: p.boolean(), text: p.string().groups('read', 'write') },
  } as Any);
  const Stop = defineEntity({
    name: 'Stop',
    embeddable: true,
    properties: { hour: p.integer().groups('read', 'write'), at: () => p.manyToOne(Place).nullable().groups('read', 'write') },
  } as Any);
  const either = () => (p.manyToOne as Any)([Note, Book]).nullable().groups('read', 'write');
  const Trip = defineEntity({
    name: 'Trip',
    properties: {
      id: p.integer().primary().groups('read'),
      name: p.string().groups('read', 'write'),
      by: () => p.manyToOne(Vehicle).nullable().groups('read', 'write'),
      from: () => p.manyToOne(Place).nullable().groups('read', 'write'),
      book: () => p.manyToOne(Book).nullable().groups('read', 'write'),
      note: () => (p.manyToOne(Note as Any) as Any).nullable().groups('read', 'write'),
      either,
      stop: () => (p.embedded(Stop as Any) as Any).nullable().groups('read', 'write'),
      fleet: () => p.manyToMany(Vehicle).groups('read', 'write'),
      places: () => p.manyToMany(Place).groups('read', 'write'),
    },
  } as Any);
  class OpenController extends ApiController {
    override customizeQuery(_action: string, _request: ApiRequest, query: Any) {
      query.andWhere({ open: true });
    }
  }
  class ShopVoter extends Voter {
    static override roles = ['SHOP'];
    override vote(_role: string, subject: Any) {
      return subject?.open ? ('grant' as const) : ('deny' as const);
    }
  }
  const reads = { controller: OpenController, actions: { _entity: null } };
  return {
    app_main: {
      apis: {
        vehicle: { class: Vehicle, base_path: '/vehicle', ...reads },
        truck: { class: Truck, base_path: '/truck', ...reads },
        place: { class: Place, base_path: '/place', ...reads },
        book: { class: Book, base_path: '/book', ...reads },
        shop: { class: Book, base_path: '/shop', base_role: 'SHOP', actions: { _entity: null } },
        note: { class: Note, base_path: '/note', actions: everything },
        trip: {
          class: Trip,
          base_path: '/trip',
          actions: {
            ...everything,
            fleet: { association: { property: 'fleet' } },
            places: { association: { property: 'places' } },
          },
        },
      },
    },
    models: [Vehicle, Car, Truck, Place, Book, Note, Stop, Trip],
    controllers: [OpenController],
    voters: [ShopVoter],
    compiledReads,
    seed: async (em: EntityManager) => {
      const made: Any[] = [];
      for (const open of [true, false]) {
        for (const type of [Car, Truck, Book, Note]) made.push(em.create(type as Any, { open, text: 'a' } as Any));
        made.push(em.create(Place, { code: open ? 'north' : 'south', open } as Any));
        await em.flush();
      }
      em.create(Trip as Any, { name: 'first' } as Any);
    },
  };
}

describe.each(stores)(
  'hidden rows cause the same statements as missing rows on $kind, compiled: $compiledReads',
  ({ compiledReads, kind }) => {
    const running = useApplication(kind, depot(compiledReads));

    // biome-ignore format: one reference a line
    const given: [what: string, status: number, send: readonly [string, string], body: (hidden: boolean) => unknown][] = [
    ...(['POST /trip.json', 'PATCH /trip/1.json', 'PUT /trip/1.json'] as const).flatMap((route) => {
      const send = route.split(' ') as [string, string];
      const named = (body: object) => ({ name: 'a', ...body });
      return [
        [`${route}: class of a hierarchy`, 400, send, (is: boolean) => named({ by: { type: 'car', id: is ? 3 : 99 } })],
        [`${route}: class with an API of its own`, 400, send, (is: boolean) => named({ by: { type: 'truck', id: is ? 4 : 99 } })],
        [`${route}: any class of a hierarchy`, 400, send, (is: boolean) => named({ by: { id: is ? 3 : 99 } })],
        [`${route}: list of a hierarchy`, 400, send, (is: boolean) => named({ fleet: [{ id: 1 }, { id: is ? 4 : 99 }] })],
        [`${route}: key by its name`, 400, send, (is: boolean) => named({ from: { code: is ? 'south' : 'gone!' } })],
        [`${route}: key as id`, 400, send, (is: boolean) => named({ from: { id: is ? 'south' : 'gone!' } })],
        [`${route}: reference in an embeddable`, 400, send, (is: boolean) => named({ stop: { hour: 1, at: { id: is ? 'south' : 'gone!' } } })],
        [`${route}: one of two models`, 400, send, (is: boolean) => named({ either: { type: 'book', id: is ? 2 : 99 } })],
        [`${route}: row that a voter reads`, 400, send, (is: boolean) => named({ book: { id: is ? 2 : 99 } })],
        [`${route}: row that a filter hides`, 400, send, (is: boolean) => named({ note: { id: is ? 2 : 99 } })],
      ] as Any[];
    }),
    ...(['POST', 'DELETE'] as const).flatMap((method) => [
      [`${method}: item of a hierarchy`, 400, [method, '/trip/1/fleet.json'], (is: boolean) => ({ id: is ? 3 : 99 })],
      [`${method}: item by the name of its key`, 400, [method, '/trip/1/places.json'], (is: boolean) => ({ code: is ? 'south' : 'gone!' })],
    ] as Any[]),
  ];

    async function traceOf([method, path]: readonly [string, string], json: unknown) {
      running.app.statements.length = 0;
      const { status, text } = await running.request(method, path, { json });
      return { status, text: text.replace(/\/\d+\.json/, '/#.json'), statements: [...running.app.statements] };
    }

    test.each(given)('%s', async (_, status, send, body) => {
      const ofHidden = await traceOf(send, body(true));
      expect(ofHidden.status, ofHidden.text).toBe(status);
      expect(ofHidden).toEqual(await traceOf(send, body(false)));
    });

    test.each(['GET', 'PATCH', 'PUT', 'DELETE'])('%s of a row hidden by a filter of the model', async (method) => {
      const json = method.startsWith('P') ? { text: 'b' } : undefined;
      const ofHidden = await traceOf([method, '/note/2.json'], json);
      expect(ofHidden.status).toBe(404);
      expect(ofHidden).toEqual(await traceOf([method, '/note/9.json'], json));
    });
  },
);
