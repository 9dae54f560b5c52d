import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, describe, expect, test } from 'vitest';
import type { GroupGrants } from '../../src/actions/group-grants.ts';
import { grantsFor } from '../../src/actions/start/grants-for.ts';
import type { DeclaredGroup, HttpMethod } from '../../src/declaration/types.ts';
import { memoryMapper, metaNamed } from '../support/memory-mapper.ts';

type Any = any;

const id = p.integer().primary().groups('read');
const secret = p.string().groups('read:area');
const Home = defineEntity({
  name: 'Home',
  embeddable: true,
  properties: { city: p.string().groups('read') },
} as never);
const Made = defineEntity({
  name: 'Made',
  embeddable: true,
  properties: {
    city: p
      .string()
      .groups('read')
      .serializer((city) => city),
  },
} as never);
const Note = defineEntity({ name: 'Note', properties: { id, secret, home: () => p.embedded(Home as Any).groups('read') } });
const Shelf = defineEntity({ name: 'Shelf', properties: { id, secret } });
const Plain = defineEntity({ name: 'Plain', properties: { id } });
const Book = defineEntity({ name: 'Book', properties: { id, shelf: () => p.manyToOne(Shelf).groups('read') } });
const Page = defineEntity({ name: 'Page', properties: { id, secret, plain: () => p.manyToOne(Plain).groups('read') } });
const Serialized = defineEntity({
  name: 'Serialized',
  properties: {
    id,
    text: p
      .string()
      .groups('read')
      .serializer((text) => text),
  },
});
const Embedding = defineEntity({ name: 'Embedding', properties: { id, made: () => p.embedded(Made as Any).groups('read') } });
const Root = defineEntity({
  name: 'Root',
  discriminatorColumn: 'type',
  discriminatorValue: 'root',
  properties: { id, type: p.enum(['root', 'leaf']) },
} as never);
const Leaf = defineEntity({
  name: 'Leaf',
  extends: Root,
  discriminatorValue: 'leaf',
  properties: {
    text: p
      .string()
      .groups('read')
      .serializer((text) => text),
  },
} as never);
const getterSchema: Any = defineEntity({
  name: 'Getter',
  properties: { id, text: p.string().persist(false).groups('read') },
} as never);
class Getter extends getterSchema.class {
  get text() {
    return 'text';
  }
}
getterSchema.setClass(Getter);

const mapper = await memoryMapper(Home, Made, Note, Shelf, Plain, Book, Page, Serialized, Embedding, Root, Leaf, getterSchema);
afterAll(() => mapper.close());
const metaIn = (name: string) => metaNamed(mapper, name);

const group = (name: string, role: string | null = null): DeclaredGroup => ({ name, role, path: null });
const all = {
  read: [group('read'), group('read:area', 'AREA')],
  write: [group('write'), group('write:area', 'AREA')],
};
const open = { read: [group('read')], write: [group('write')] };
const actions = [
  { name: '_index', kind: 'index', groups: all, bulk: null },
  { name: '_entity', kind: 'entity', groups: all, bulk: null },
  { name: 'tags', kind: 'custom', groups: all, bulk: null, association: { property: 'tags' } },
  { name: 'close', kind: 'custom', groups: all, bulk: null },
  { name: 'open', kind: 'custom', groups: open, bulk: null },
];

/** The subjects that voters were asked about. */
let subjects: unknown[] = [];
const guardFor: Any = () => ({
  readsSubject: true,
  loads: [],
  grants: (subject: unknown) => {
    subjects.push(subject);
    return true;
  },
});
function grantsOf({
  bulk = null,
  handlesEntity = false,
  model = 'Book',
}: {
  bulk?: object | null;
  handlesEntity?: boolean;
  model?: string;
} = {}) {
  const api: Any = { groups: open, actions: actions.map((action) => (action.kind === 'index' ? { ...action, bulk } : action)) };
  return grantsFor(api, metaIn(model), { declaration: { groups: [] }, mapper } as Any, guardFor, handlesEntity);
}
const namesOf = ({ all: { read, write } }: GroupGrants) => ({ read, write });
const read = ['read', 'read:area'];
const forms = {
  reads: { read, write: [] },
  writes: { read, write: ['write', 'write:area'] },
  removes: { read: ['read'], write: ['write'] },
};

describe('the groups of an action', () => {
  test.each<[string, HttpMethod, keyof typeof forms, object?]>([
    ['_index', 'GET', 'reads'],
    ['_index', 'POST', 'writes'],
    ['_index', 'DELETE', 'writes'],
    ['_index', 'DELETE', 'writes', { bulk: { methods: ['PATCH'] } }],
    ['_index', 'DELETE', 'removes', { bulk: { methods: ['PATCH', 'DELETE'] } }],
    ['_index', 'PATCH', 'writes', { bulk: { methods: ['PATCH', 'DELETE'] } }],
    ['_entity', 'HEAD', 'reads'],
    ['_entity', 'PATCH', 'writes'],
    ['_entity', 'DELETE', 'removes'],
    ['_entity', 'DELETE', 'writes', { handlesEntity: true }],
    ['tags', 'POST', 'reads'],
    ['tags', 'DELETE', 'reads'],
    ['close', 'GET', 'reads'],
    ['close', 'POST', 'writes'],
    ['close', 'DELETE', 'writes'],
  ])('%s %s are those that it %s', (action, method, form, options) => {
    const grants = grantsOf(options)(action, method);
    expect(namesOf(grants)).toEqual(forms[form]);
    expect(grants.fixed).toBe(form === 'removes' ? grants.all : null);
  });

  test('are its own, or those of the API for other code', () => {
    for (const name of ['open', 'other'])
      for (const method of ['POST', 'DELETE'] as const)
        expect(namesOf(grantsOf()(name, method))).toEqual({ read: ['read'], write: ['write'] });
  });

  test('are decided by one object for methods that use the same', () => {
    const grants = grantsOf();
    const of = (action: string, ...methods: HttpMethod[]) => new Set(methods.map((method) => grants(action, method)));
    expect(of('_entity', 'GET', 'HEAD').size).toBe(1);
    expect(of('_entity', 'PATCH', 'PUT').size).toBe(1);
    expect(of('_entity', 'GET', 'PATCH', 'DELETE').size).toBe(3);
    expect(grants('_index', 'GET')).not.toBe(grants('_entity', 'GET'));
  });
});

describe('roles of groups are also checked for rows inside a response', () => {
  async function asksInside(model: string, action: string): Promise<boolean> {
    subjects = [];
    await grantsOf({ model })(action, 'GET').ofEntity({ request: true } as Any, {});
    return subjects.includes(null);
  }

  test.each([
    ['Book', true],
    ['Serialized', true],
    ['Embedding', true],
    ['Getter', true],
    ['Root', true],
    ['Note', false],
    ['Page', false],
  ])('by default actions if these can show fields of such groups, or come from code: %s %s', async (model, expected) => {
    for (const action of ['_index', '_entity']) expect(await asksInside(model, action)).toBe(expected);
    expect(await asksInside(model, 'close')).toBe(true);
  });
});
