import { defineEntity, p } from '@mikro-orm/core';

/** What items refer to. Its API hides those that are not open. */
export const Center: any = defineEntity({
  name: 'Center',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    open: p.boolean().default(true),
  },
});

/** What items are linked to. Its API hides one of them. */
export const Tag: any = defineEntity({
  name: 'Tag',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    open: p.boolean().default(true),
  },
});

export const Item: any = defineEntity({
  name: 'Item',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().length(40).groups('read', 'write'),
    code: p.string().unique().groups('read', 'write'),
    num: p.integer().default(0).groups('read', 'write'),
    open: p.boolean().default(true).groups('write'),
    data: p.json().nullable().groups('read', 'write'),
    center: () => p.manyToOne(Center).nullable().deleteRule('restrict').groups('read', 'write'),
    tags: () => p.manyToMany(Tag),
  },
} as never);

/** Has a version that callers see. */
export const Revised: any = defineEntity({
  name: 'Revised',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    revision: p.integer().version().groups('read'),
  },
});

/** Items 1, 2 and 4 are open, 3 is not; center 2 and tag 4 are hidden from everybody. */
export const rows = [
  'delete from item_tags',
  'delete from item',
  'delete from revised',
  'delete from tag',
  'delete from center',
  "insert into center (id, name, open) values (1, 'north', true), (2, 'south', false), (3, 'west', true)",
  "insert into tag (id, name, open) values (1, 'one', true), (2, 'two', true), (3, 'three', false), (4, 'secret', true)",
  `insert into item (id, name, code, num, open, center_id) values
    (1, 'a', 'A', 10, true, 1), (2, 'b', 'B', 20, true, 2), (3, 'c', 'C', 30, false, null), (4, 'd', 'D', 40, true, 1)`,
  'insert into item_tags (item_id, tag_id) values (1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 3), (4, 2)',
  "insert into revised (id, name, revision) values (1, 'one', 7)",
];
