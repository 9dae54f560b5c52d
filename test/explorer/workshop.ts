import { defineEntity, p } from '@mikro-orm/core';
import { declarations } from '../support/explorer.ts';

const Maker = defineEntity({
  name: 'Maker',
  properties: { id: p.integer().primary().groups('read'), name: p.string().length(80).groups('read', 'write') },
});

const Place = defineEntity({
  name: 'Place',
  embeddable: true,
  properties: { room: p.string().length(40).groups('read', 'write'), shelf: p.integer().nullable().groups('read', 'write') },
});

/** A model with a version and with a field of each kind. */
const Tool = defineEntity({
  name: 'Tool',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().length(40).unique().groups('read', 'write'),
    notes: p.text().nullable().groups('read', 'write'),
    price: p.decimal('string').precision(8).scale(2).nullable().groups('read', 'write'),
    kind: p.enum(['hand', 'power']).default('hand').groups('read', 'write'),
    bought: p.date().nullable().groups('read', 'write'),
    seen: p.datetime().nullable().groups('read', 'write'),
    spare: p.boolean().default(false).groups('read', 'write'),
    place: () => p.embedded(Place).nullable().groups('read', 'write'),
    data: p.json().nullable().groups('read', 'write'),
    maker: () => p.manyToOne(Maker).nullable().groups('read', 'write'),
    users: () => p.manyToMany(Maker).groups('read', 'write'),
    revision: p.integer().version(),
  },
});

const all = { GET: true, POST: true, PATCH: true, DELETE: true };

/** An application with makers and tools. Only administrators may delete. */
export const workshop = declarations({
  models: [Maker, Place, Tool],
  apis: {
    maker: {
      class: 'Maker',
      base_path: '/api/maker',
      base_role: 'ROLE_USER',
      search: ['name'],
      actions: { _index: { methods: { GET: true, POST: true } }, _entity: null },
    },
    tool: {
      class: 'Tool',
      base_path: '/api/tool',
      base_role: 'ROLE_USER',
      filters: { title: ['contains'], kind: ['eq'] },
      sort: ['title'],
      actions: {
        _index: { methods: { GET: all.GET, POST: all.POST } },
        _entity: { methods: { GET: true, PATCH: true, DELETE: true }, roles: { DELETE: 'ROLE_ADMIN' } },
        user: { path: 'users', association: { property: 'users', types: ['Maker'] } },
      },
    },
  },
});
