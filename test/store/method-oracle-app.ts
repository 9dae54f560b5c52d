import { setTimeout as sleep } from 'node:timers/promises';
import { type Collection, defineEntity, p } from '@mikro-orm/core';
import { ApiController } from '../../src/index.ts';
import type { Random } from '../support/random.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

/** What random models have. */
export interface Features {
  readonly orphanRemoval: boolean;
  /** One row for each item, so that Declarest itself knows whether an item is there. */
  readonly uniquePair: boolean;
  readonly uniqueCode: boolean;
  readonly embedded: boolean;
  readonly selfReference: boolean;
  readonly childVersion: boolean;
  readonly ownerVersion: boolean;
  readonly rules: boolean;
  /** Callers see only some of the rows and places. */
  readonly restricted: boolean;
}

export const plain: Features = {
  orphanRemoval: false,
  uniquePair: false,
  uniqueCode: false,
  embedded: false,
  selfReference: false,
  childVersion: false,
  ownerVersion: false,
  rules: false,
  restricted: false,
};

export function randomFeatures(random: Random): Features {
  return {
    orphanRemoval: random.chance(0.7),
    uniquePair: random.chance(0.3),
    uniqueCode: random.chance(0.5),
    embedded: random.chance(0.4),
    selfReference: random.chance(0.5),
    childVersion: random.chance(0.4),
    ownerVersion: random.chance(0.4),
    rules: random.chance(0.4),
    restricted: random.chance(0.3),
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** One step of a method. Numbers choose a row of the association. */
export type Step =
  | readonly ['make' | 'own' | 'item', Fields]
  | readonly ['set', number, Fields]
  | readonly ['drop' | 'readd' | 'reitem' | 'move', number]
  | readonly ['clear' | 'throw' | 'wait' | 'total' | 'sum' | 'place' | 'link' | 'unlink']
  | readonly ['return', 'owner' | 'item' | 'first' | 'made' | 'dropped' | 'place'];

/** The methods of an owner: for each verb and each item, what it does. */
export type Script = Readonly<Record<string, readonly Step[]>>;

type Any = any;

/** The classes of random models. `call` counts calls of their code. */
export function modelsFor(features: Features, call: (name: string) => void) {
  const Place = defineEntity({
    name: 'Place',
    properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read', 'write') },
  });
  const itemSchema = defineEntity({
    name: 'Item',
    properties: {
      id: p.integer().primary().groups('read'),
      name: p.string().groups('read', 'write'),
      place: () => p.manyToOne(Place).nullable().groups('read', 'write'),
      home: () => p.manyToOne(Box).nullable().groups('write'),
      boxes: () => p.manyToMany(Box).mappedBy('tags'),
    },
  });
  class Item extends itemSchema.class {}
  itemSchema.setClass(Item);
  const Size = defineEntity({
    name: 'Size',
    embeddable: true,
    properties: { width: p.integer().nullable().groups('read'), unit: p.string().default('cm').groups('read') },
  });
  const extras = () => ({
    place: () => p.manyToOne(Place).nullable().groups('read'),
    data: p.json().nullable().groups('read'),
    at: p.datetime().nullable().groups('read'),
    ...(features.embedded && { size: () => p.embedded(Size).nullable().groups('read') }),
  });
  const rowSchema = defineEntity({
    name: 'Row',
    ...(features.uniquePair && { uniques: [{ properties: ['box', 'item'] as never }] }),
    properties: {
      id: p.integer().primary().groups('read'),
      box: () => p.manyToOne(Box),
      item: () => p.manyToOne(Item).groups('read'),
      note: p.string().length(12).nullable().groups('read', 'write'),
      amount: p.integer().default(7).groups('read'),
      began: p
        .string()
        .onCreate(() => {
          call('onCreate');
          return 'today';
        })
        .groups('read'),
      code: (features.uniqueCode ? p.string().nullable().unique() : p.string().nullable()).groups('read'),
      ...extras(),
      ...(features.selfReference && { parent: () => p.manyToOne(Row).nullable().groups('read') }),
      ...(features.childVersion && { version: p.integer().version() }),
    } as Any,
  });
  class Row extends (rowSchema.class as Any) {}
  const boxSchema = defineEntity({
    name: 'Box',
    properties: {
      id: p.integer().primary().groups('read'),
      script: p.text().groups('write'),
      label: p.string().nullable().groups('read', 'write'),
      total: p.integer().default(0).groups('read'),
      ...extras(),
      ...(features.ownerVersion && { version: p.integer().version() }),
      rows: () =>
        (features.orphanRemoval
          ? p
              .oneToMany(Row as Any)
              .mappedBy('box' as never)
              .orphanRemoval()
          : p.oneToMany(Row as Any).mappedBy('box' as never)
        ).groups('read'),
      tags: () => p.manyToMany(Item).inversedBy('boxes').groups('read'),
    } as Any,
  });
  class Box extends (boxSchema.class as Any) {
    addItem(item: Any): Promise<unknown> {
      return run('addItem', this, item, 'rows');
    }
    removeItem(item: Any): Promise<unknown> {
      return run('removeItem', this, item, 'rows');
    }
    addTag(item: Any): Promise<unknown> {
      return run('addTag', this, item, 'tags');
    }
    removeTag(item: Any): Promise<unknown> {
      return run('removeTag', this, item, 'tags');
    }
  }
  if (features.rules)
    (Box.prototype as Any).validate = function validate(this: Any) {
      call('validate');
      const isFull = this.rows.isInitialized() && this.rows.length > 4;
      return isFull ? [{ propertyPath: 'rows', title: 'four are enough' }] : [];
    };
  rowSchema.setClass(Row as never);
  boxSchema.setClass(Box as never);

  const setFields = (target: Any, fields: Fields, from: { box: Any; item: Any; rows: Any[] }) => {
    for (const [name, value] of Object.entries(fields)) {
      if (name === 'place') target.place = value === 'box' ? from.box.place : value === 'item' ? from.item.place : null;
      else if (name === 'parent')
        target.parent = value === null ? null : from.rows[(value as number) % Math.max(1, from.rows.length)];
      else if (name === 'at') target.at = value === null ? null : new Date(value as string);
      else if (name === 'data' && target.data && value) Object.assign(target.data, value);
      else if (name === 'size' && target.size && value) Object.assign(target.size, value);
      else if (name === 'size') target.size = value && Object.assign(new (Size.class as Any)(), value);
      else target[name] = value;
    }
  };

  const run = async (method: string, box: Any, item: Any, property: 'rows' | 'tags'): Promise<unknown> => {
    call(method);
    const script = JSON.parse(box.script) as Script;
    const collection = box[property] as Collection<Any>;
    const held = property === 'rows' ? [...collection.getItems()].sort(byContent) : [];
    const rows = [...held];
    const made: Any[] = [];
    const dropped: Any[] = [];
    let place: Any;
    // MikroORM keeps an item that was added and removed before one flush, if the other side of the association is not loaded
    let isLinked = false;
    // MikroORM removes a row that gets another owner from the collection at once, objects of rows are removed later
    let isMoved = false;
    let returned: unknown;
    const from = { box, item, rows: held };
    for (const [step, first, second] of script[`${method} ${item.id}`] ?? ([] as readonly Any[])) {
      const chosen = typeof first === 'number' && rows.length > 0 ? rows[first % rows.length] : undefined;
      switch (step) {
        case 'make': {
          if (property === 'tags') break;
          const row = new (Row as Any)();
          row.item = item;
          setFields(row, first, from);
          collection.add(row);
          made.push(row);
          rows.push(row);
          break;
        }
        case 'set':
          if (chosen) setFields(chosen, second, from);
          break;
        case 'own':
          setFields(box, first, from);
          break;
        case 'item':
          setFields(item, first, from);
          break;
        case 'drop':
          if (!chosen) break;
          collection.remove(chosen);
          rows.splice(rows.indexOf(chosen), 1);
          dropped.push(chosen);
          // MikroORM takes a new place from a new row that is dropped again
          if (place && chosen.place === place) chosen.place = null;
          break;
        case 'readd':
          // MikroORM inserts a new row twice
          if (!chosen || made.includes(chosen)) break;
          collection.remove(chosen);
          collection.add(chosen);
          break;
        case 'reitem':
          if (chosen) chosen.item = item;
          break;
        case 'move':
          if (!chosen || !item.home || features.rules) break;
          chosen.box = item.home;
          isMoved = true;
          rows.splice(rows.indexOf(chosen), 1);
          break;
        case 'clear':
          if (isLinked) break;
          collection.removeAll();
          dropped.push(...rows.splice(0));
          break;
        case 'link':
          if (property === 'tags') collection.add(item);
          isLinked = property === 'tags';
          break;
        case 'unlink':
          if (property === 'tags' && !isLinked) collection.remove(item);
          break;
        case 'wait':
          await sleep(2);
          break;
        case 'total':
          if (!isMoved) box.total = collection.length;
          break;
        case 'sum':
          box.total = rows.reduce((sum, { amount }) => sum + (amount ?? 7), box.total);
          break;
        case 'place':
          place = new (Place.class as Any)();
          place.name = 'new';
          (made.findLast((row) => !dropped.includes(row)) ?? box).place = place;
          break;
        case 'throw':
          throw new Error('thrown by the script');
        case 'return':
          returned = { owner: box, item, first: held[0], made: made.at(-1), dropped: dropped.at(-1), place }[first as string];
      }
    }
    return returned;
  };
  return { Place, Item, Row, Box };
}

const byContent = (a: Any, b: Any) => {
  const text = ({ amount, at, code, data, id, item, note, parent, size }: Any) =>
    JSON.stringify([note, amount, item.id, code, at, data, size?.width, size?.unit, !parent, String(id).padStart(9, '0')]);
  return text(a) < text(b) ? -1 : 1;
};

/** A controller whose hook makes every change go through entities. */
class EntityController extends ApiController<Any> {
  override afterValidation(): undefined {
    return undefined;
  }
}

class RowController extends ApiController<Any> {
  override customizeQuery(_action: string, _request: unknown, query: Any): void {
    query.andWhere({ $or: [{ note: null }, { note: { $ne: 'b' } }] });
  }
}

class PlaceController extends ApiController<Any> {
  override customizeQuery(_action: string, _request: unknown, query: Any): void {
    query.andWhere({ name: { $ne: 'new' } });
  }
}

export interface OracleApp {
  readonly app: TestApplication;
  /** How often each piece of application code was called. */
  readonly calls: Map<string, number>;
}

export async function startOracle(url: string, features: Features, byEntities: boolean): Promise<OracleApp> {
  const calls = new Map<string, number>();
  const { Box, Item, Place, Row } = modelsFor(features, (name) => calls.set(name, (calls.get(name) ?? 0) + 1));
  const actions = { _index: { methods: { GET: true, POST: true } }, _entity: { methods: { GET: true, PATCH: true } } } as const;
  const app = await startApplication({
    models: [Place, Item, Row, Box] as Any,
    controllers: [EntityController, RowController, PlaceController],
    app_main: {
      database: { url, schema: 'update' },
      apis: {
        place: { class: Place, base_path: '/place', actions, ...(features.restricted && { controller: PlaceController }) },
        item: { class: Item, base_path: '/item', actions },
        row: {
          class: Row,
          base_path: '/row',
          actions: { _entity: actions._entity },
          ...(features.restricted && { controller: RowController }),
        },
        box: {
          class: Box,
          base_path: '/box',
          ...(byEntities && { controller: EntityController }),
          actions: {
            ...actions,
            items: { association: { property: 'rows', types: [Item] } },
            tags: { association: { property: 'tags' } },
          },
        },
      },
    } as Any,
  });
  for (const name of ['north', 'south']) await app.request('POST', '/place.json', { json: { name } });
  return { app, calls };
}

const steps: readonly ((random: Random) => Step)[] = [
  (random) => ['make', randomFields(random)],
  (random) => ['make', randomFields(random)],
  (random) => ['set', random.below(4), randomFields(random)],
  (random) => ['set', random.below(4), randomFields(random)],
  (random) => ['drop', random.below(4)],
  (random) => ['drop', random.below(4)],
  (random) => ['readd', random.below(4)],
  (random) => ['reitem', random.below(4)],
  (random) => ['move', random.below(4)],
  (random) => ['own', ownFields(random)],
  (random) => ['own', ownFields(random)],
  (random) => ['item', { name: `renamed ${random.below(9)}` }],
  () => ['clear'],
  () => ['wait'],
  () => ['total'],
  () => ['sum'],
  () => ['link'],
  () => ['link'],
  () => ['unlink'],
  () => ['place'],
  () => ['throw'],
  (random) => ['return', random.of(['owner', 'item', 'first', 'made', 'made', 'dropped', 'place'] as const)],
];

const withFields = (random: Random, makers: Readonly<Record<string, () => unknown>>): Fields => {
  const names = Object.keys(makers);
  return Object.fromEntries(
    Array.from({ length: random.below(4) }, () => random.of(names)).map((name) => [name, makers[name]?.()]),
  );
};

const shared = (random: Random, features?: Features) => ({
  place: () => random.of(['box', 'item', null]),
  data: () => random.of<unknown>([{ a: random.below(5) }, { b: [1, { c: 2 }] }, null]),
  at: () => random.of([null, '2026-01-02T03:04:05.000Z', '1999-12-31T23:59:59.000Z']),
  ...(features?.embedded && { size: () => random.of<unknown>([{ width: random.below(9) }, { unit: 'mm' }, null]) }),
});

let current: Features;

const randomFields = (random: Random) =>
  withFields(random, {
    ...shared(random, current),
    note: () => random.of(['a', 'b', 'c', null, current.uniqueCode ? 'd' : 'longer than the column']),
    amount: () => random.below(9),
    code: () => random.of([null, 'x', 'y', 'z']),
    ...(current.selfReference && { parent: () => random.of([null, 0, 1, 2]) }),
  });

const ownFields = (random: Random) =>
  withFields(random, { ...shared(random, current), label: () => random.of([null, 'l', 'm']), total: () => random.below(9) });

export const items = [1, 2, 3];
export const methods = ['addItem', 'addItem', 'addItem', 'removeItem', 'addTag', 'removeTag'] as const;

export function randomScript(random: Random, features: Features): Script {
  current = features;
  const script: Record<string, Step[]> = {};
  for (const method of new Set(methods)) {
    for (const item of items) {
      const own = Array.from({ length: 1 + random.below(4) }, () => random.of(steps)(random));
      const usual: Step[] =
        method === 'addItem'
          ? [['make', randomFields(random)]]
          : method === 'removeItem'
            ? [random.chance(0.5) ? ['drop', 0] : ['set', 0, { note: 'ended' }]]
            : [[method === 'addTag' ? 'link' : 'unlink']];
      script[`${method} ${item}`] = random.chance(0.8) ? [...usual, ...own] : own;
    }
  }
  return script;
}
