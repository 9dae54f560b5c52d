import { defineEntity, type EntityManager, p } from '@mikro-orm/core';
import type { CodeOptions } from '../../../src/application.ts';
import { ApiController, type ApiRequest, type ModelQuery } from '../../../src/index.ts';
import { marker } from './vault.ts';

type Any = any;

export const Room: Any = defineEntity({
  name: 'Room',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    owner: p.string(),
    // a room in a room is cut to a reference
    parent: () => (p.manyToOne(Room) as Any).nullable().groups('read', 'write'),
  },
});

const kinds = ['paper', 'stone'] as const;
const ItemSchema: Any = defineEntity({
  name: 'Item',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().length(80).groups('read', 'write'),
    price: p.integer().nullable().groups('read', 'write'),
    made: p.date().nullable().groups('read', 'write'),
    open: p.boolean().nullable().groups('read', 'write'),
    kind: p.enum(kinds).nullable().groups('read', 'write'),
    data: p.json<unknown>().nullable().groups('read', 'write'),
    code: p.string().nullable(),
    pin: p.string().nullable().groups('write'),
    room: () => (p.manyToOne(Room) as Any).nullable().groups('read', 'write'),
    rooms: () => (p.manyToMany(Room) as Any).groups('read', 'write'),
  },
});
export class Item extends ItemSchema.class {
  addRoom(room: object): object {
    (this as Any).rooms.add(room);
    return this;
  }
  removeRoom(room: object): object {
    (this as Any).rooms.remove(room);
    return this;
  }
}
ItemSchema.setClass(Item);

export const Loan: Any = defineEntity({
  name: 'Loan',
  properties: {
    id: p.integer().primary().groups('read'),
    note: p.string().groups('read', 'write'),
    item: () => (p.manyToOne(Item as Any) as Any).nullable().groups('read', 'write'),
  },
});

/** Everybody sees their own rooms, the administrator all of them. */
export class RoomController extends ApiController {
  override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Any>) {
    if (!request.user?.roles.includes('ROLE_ADMIN')) query.andWhere({ owner: String(request.user?.id) });
  }
}

export class ItemController extends ApiController {
  peekApi(id: number, request: ApiRequest) {
    return this.getEntity('peek', id, request);
  }

  async wrappedApi(id: number, request: ApiRequest) {
    const item = await this.getEntity('wrapped', id, request);
    return { inner: [{ item }], byName: new Map([['item', item]]) };
  }
}

const actions = {
  _index: { methods: { GET: true, HEAD: true, POST: true } },
  _entity: { methods: { GET: true, HEAD: true, PUT: true, PATCH: true, DELETE: true } },
} as const;

const formats = ['json', 'csv', 'ndjson', 'xml'] as const;

/** The declarations of all lists, to which a test may add. */
export const apis = {
  room: {
    class: Room,
    controller: RoomController,
    base_path: '/room',
    base_role: 'ROLE_USER',
    formats,
    filters: {
      id: ['eq', 'in', 'ne', 'lt', 'gt'],
      name: ['eq', 'ne', 'in', 'lt', 'gte', 'contains', 'starts', 'ends', 'exists'],
      parent: ['exists'],
      'parent.id': ['eq', 'ne', 'in'],
    },
    sort: ['name', 'id'],
    search: ['name'],
    actions,
  },
  item: {
    class: Item,
    controller: ItemController,
    base_path: '/item',
    base_role: 'ROLE_USER',
    formats,
    filters: {
      id: ['eq', 'lt', 'in'],
      title: ['eq', 'ne', 'in', 'contains', 'starts', 'ends'],
      price: ['eq', 'lt', 'in'],
      made: ['eq', 'gte'],
      open: ['eq'],
      kind: ['eq', 'in'],
      data: ['exists'],
      room: ['exists'],
      'room.id': ['eq', 'ne', 'in', 'exists'],
      'room.name': ['eq', 'ne', 'in', 'lt', 'gte', 'contains', 'starts', 'ends', 'exists'],
      'room.parent': ['exists'],
      rooms: ['exists'],
      'rooms.id': ['eq', 'ne'],
      'rooms.name': ['eq', 'ne', 'contains', 'exists'],
    },
    sort: ['title', 'id'],
    search: ['title', 'room.name', 'rooms.name'],
    actions: {
      ...actions,
      peek: { methods: { GET: true, HEAD: true } },
      wrapped: { methods: { GET: true } },
      rooms: { association: { property: 'rooms' } },
    },
  },
  // ordered by what is hidden from some
  ordered: { class: Item, base_path: '/ordered', base_role: 'ROLE_USER', default_sort: ['room.name'], actions: { _index: null } },
  loan: {
    class: Loan,
    base_path: '/loan',
    base_role: 'ROLE_USER',
    formats,
    filters: {
      id: ['eq', 'in'],
      'item.title': ['eq'],
      'item.room': ['exists'],
      'item.room.name': ['eq', 'ne', 'contains'],
      'item.rooms.id': ['eq', 'ne'],
    },
    search: ['note', 'item.rooms.name'],
    actions,
  },
} as const;

/** What is told only of what can be hidden stands in the rows of this number, and in nothing of that one. */
export const linked = 102;
export const bare = 103;
/** Ann's room, and Bob's. */
export const seen = 201;
export const hidden = 202;

export const registry: CodeOptions = {
  app_main: { security: { jwt: { secret: 'a secret of the registry that is long enough' } }, apis } as never,
  models: [Room, Item as never, Loan],
  controllers: [RoomController, ItemController],
  seed: seedRegistry,
};

async function seedRegistry(em: EntityManager): Promise<void> {
  const create = (model: Any, data: object): Any => em.create(model, data as never);
  const own = create(Room, { id: seen, name: 'own room', owner: 'ann' });
  const other = create(Room, { id: hidden, name: `${marker}room`, owner: 'bob' });
  create(Room, { id: linked, name: 'twin', owner: 'ann', parent: other });
  create(Room, { id: bare, name: 'twin', owner: 'ann' });
  const more = { code: `${marker}code`, pin: `${marker}pin` };
  const first = create(Item, { id: linked, title: 'twin', room: other, ...more });
  first.rooms.add([own, other]);
  const second = create(Item, { id: bare, title: 'twin', ...more });
  second.rooms.add(own);
  create(Loan, { id: linked, note: 'twin', item: first });
  create(Loan, { id: bare, note: 'twin', item: second });
  await em.flush();
}
