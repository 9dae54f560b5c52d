import { defineEntity, type EntityMetadata, p } from '@mikro-orm/core';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { link } from '../../src/actions/link.ts';
import { JsonReply } from '../../src/response/json-reply.ts';
import { stateOf } from '../../src/store/request-state.ts';
import { memoryMapper } from '../support/memory-mapper.ts';

type Any = any;

const calls: unknown[][] = [];
const noted =
  (name: string): Any =>
  (...given: unknown[]) =>
    void calls.push([name, ...given]);
const names = () => calls.map(([name]) => name);

const tagSchema = defineEntity({ name: 'Tag', discriminatorColumn: 'kind', properties: { id: p.integer().primary() } });
class Tag extends tagSchema.class {}
tagSchema.setClass(Tag);
const LabelSchema = defineEntity({ name: 'Label', extends: tagSchema, properties: {} });
class Label extends LabelSchema.class {}
LabelSchema.setClass(Label);
const partSchema = defineEntity({ name: 'Part', discriminatorColumn: 'kind', properties: { id: p.integer().primary() } });
class Part extends partSchema.class {}
partSchema.setClass(Part);
const wheelSchema = defineEntity({ name: 'Wheel', extends: partSchema, properties: {} });
class Wheel extends wheelSchema.class {}
wheelSchema.setClass(Wheel);
const entrySchema = defineEntity({
  name: 'Entry',
  properties: { id: p.integer().primary(), part: () => p.manyToOne(Part), box: () => p.manyToOne(Box) },
});
class Entry extends entrySchema.class {}
entrySchema.setClass(Entry);
const boxSchema = defineEntity({
  name: 'Box',
  properties: {
    id: p.integer().primary(),
    tags: () => p.manyToMany(Tag),
    entries: () => p.oneToMany(Entry).mappedBy('box'),
    version: p.integer().version(),
  },
});
class Box extends boxSchema.class {
  addLabel(label: object): void {
    calls.push(['addLabel', label]);
  }
  removeLabel(label: object): void {
    calls.push(['removeLabel', label]);
  }
  addPaper(paper: object): void {
    calls.push(['addPaper', paper]);
  }
  addPart(): void {
    calls.push(['addPart']);
  }
  removePart(): void {}
  addWheel(): void {
    calls.push(['addWheel']);
  }
  removeWheel(): void {}
}
boxSchema.setClass(Box);

let refusal: Error | null = null;
const mapper = await memoryMapper(boxSchema, entrySchema, partSchema, tagSchema, LabelSchema, wheelSchema);
for (const table of [
  'box_tags (box_id integer, tag_id integer)',
  'tag (id integer primary key, kind text)',
  'entry (id integer primary key, part_id integer, box_id integer)',
])
  await mapper.em.getConnection().execute(`create table ${table}`);
afterAll(() => mapper.close());

const metaOf = (type: Any) => mapper.getMetadata().get(type) as EntityMetadata;

/** Runs the action on a new box with an item. The store calls the steps of the edit as both stores do. */
async function run(method: string, options: Any = {}) {
  const {
    body = { id: 1 },
    denormalizes = [false, false],
    groups,
    isThere = false,
    linked,
    property = 'tags',
    targets = [Tag],
  } = options;
  const em = mapper.em.fork();
  const box = em.create(Box as Any, { id: 7 } as Any, { persist: false } as Any) as Any;
  const own = em.create((options.of ?? Tag) as Any, { id: 1 } as Any, { persist: false } as Any) as object;
  if (isThere) box.tags.add(own);
  const api: Any = {
    api: {
      name: 'box',
      controller: options.controller,
      requireIfMatch: options.requireIfMatch ?? false,
      actions: [{ name: 'tags', validationGroups: [] }],
    },
    meta: metaOf(Box),
    hooks: {
      beforeValidation: noted('beforeValidation'),
      validate: async () => {
        calls.push(['validate']);
        if (refusal) throw refusal;
        return [];
      },
      afterValidation: noted('afterValidation'),
      afterCommit: noted('afterCommit'),
    },
    framework: {
      mapper: { em: { fork: () => em } },
      metaOf: (entity: object) => (entity as { __meta: EntityMetadata }).__meta,
      associations: {
        denormalizesBody: (bound: string) => calls.push(['denormalizesBody', bound]) > 0 && denormalizes[0],
        denormalizes: (_: unknown, name: string) => calls.push(['denormalizes', name]) > 0 && denormalizes[1],
        item: async (meta: EntityMetadata, name: string, types: EntityMetadata[], given: unknown, scope: Any, bound: string) => {
          calls.push(['item', meta.className, name, types.map(({ className }) => className), given, scope.em === em, bound]);
          return own;
        },
      },
    },
  };
  em.populate = noted('populate');
  const request: Any = { method, body, headers: options.headers ?? {}, query: {} };
  stateOf(request, api.framework.mapper);
  const store: Any = {
    change: async (_: unknown, admission: unknown, verb: string, edit: Any) => {
      calls.push(['change', admission === given, verb]);
      if (linked !== undefined) return linked;
      const { changed, returned } = await edit.apply(box, await edit.resolve(box));
      calls.push(['applied', changed]);
      return { entity: box, result: returned };
    },
  };
  const given: Any = { action: 'tags', key: 7, restriction: null, found: null };
  const reply = await link(api, store, request, given, { property, targets: targets.map(metaOf), groups });
  return { box, item: own, reply };
}

beforeEach(() => {
  calls.length = 0;
  refusal = null;
});

describe('a link', () => {
  test('reads the item, adds it, validates the owner, and calls afterCommit after that', async () => {
    const { box, item: added, reply } = await run('POST');
    expect(names()).toEqual([
      'change',
      'denormalizesBody',
      'denormalizes',
      'item',
      'populate',
      'beforeValidation',
      'validate',
      'afterValidation',
      'applied',
      'afterCommit',
    ]);
    expect(calls[0]).toEqual(['change', true, 'add']);
    expect(calls[1]).toEqual(['denormalizesBody', 'box.tags']);
    expect(calls[2]).toEqual(['denormalizes', 'tags']);
    expect(calls[3]).toEqual(['item', 'Box', 'tags', ['Tag'], { id: 1 }, true, 'box.tags']);
    expect(calls[4]?.slice(1, 3)).toEqual([[box], ['tags']]);
    expect(calls.at(-1)?.[1]).toBe('tags');
    expect(calls.at(-1)?.at(-1)).toBe(box);
    expect(box.tags.getItems(false)).toEqual([added]);
    expect(reply).toBeInstanceOf(JsonReply);
    expect(reply.value).toBe(added);
    expect(reply.groups).toBeNull();
  });

  test('is removed by DELETE', async () => {
    const { box } = await run('DELETE', { isThere: true });
    expect(calls[0]).toEqual(['change', true, 'remove']);
    expect(box.tags.length).toBe(0);
    expect(names()).toContain('afterCommit');
  });

  test.each([
    ['POST', true],
    ['DELETE', false],
  ])('that %s need not change calls neither rules nor hooks', async (method, isThere) => {
    await run(method, { isThere });
    expect(calls.at(-1)).toEqual(['applied', false]);
    expect(names()).not.toContain('validate');
  });

  test('has the groups of its declaration', async () => {
    const { reply } = await run('POST', { groups: ['short'] });
    expect(reply.groups).toEqual(['short']);
  });

  test.each(['PUT', 'PATCH', 'GET'])('accepts no %s', async (method) => {
    await expect(run(method)).rejects.toMatchObject({ code: 'method_not_supported' });
    expect(calls).toEqual([]);
  });

  test('checks the precondition before anything is read', async () => {
    await expect(run('POST', { requireIfMatch: true })).rejects.toMatchObject({ code: 'precondition_required' });
    expect(calls).toEqual([]);
  });

  test('to a row that is gone returns 404 without calling hooks', async () => {
    await expect(run('POST', { linked: null })).rejects.toMatchObject({ code: 'entity_not_found' });
    expect(names()).toEqual(['change']);
  });

  test('that a statement has written calls no hook', async () => {
    const { reply } = await run('POST', { linked: { entity: null, result: 'row' } });
    expect([names(), reply.value]).toEqual([['change'], 'row']);
  });

  test('that breaks a rule is not followed by hooks', async () => {
    refusal = new Error('too many');
    await expect(run('POST')).rejects.toBe(refusal);
    expect(names().at(-1)).toBe('validate');
  });

  test.each([
    ['is an object', [false, false], 'text', 'invalid_body'],
    ['is anything that a denormalizer of the action reads', [true, false], 'text', null],
    ['is anything that a denormalizer of the association reads', [false, true], 'text', null],
    ['is there for a denormalizer as well', [true, true], undefined, 'invalid_body'],
  ])('has a body that %s', async (_, denormalizes, body, code) => {
    const running = run('POST', { denormalizes, body: body ?? null });
    if (code) await expect(running).rejects.toMatchObject({ code });
    else await running;
    const given = calls.flatMap(([name, ...more]) => (name === 'item' ? [more[3]] : []));
    expect(given).toEqual(code ? [] : ['text']);
  });

  test('to an association of a model without it calls methods', async () => {
    const { item: label } = await run('POST', { property: 'labels', of: Label });
    expect(calls).toContainEqual(['addLabel', label]);
    calls.length = 0;
    const { item: other } = await run('DELETE', { property: 'labels', of: Label });
    expect(calls).toContainEqual(['removeLabel', other]);
  });

  test.each([
    ['Part', 'addPart', [Part, Wheel], Part],
    ['Wheel', 'addWheel', [Part, Wheel], Wheel],
    ['Wheel', 'addWheel', [Wheel, Part], Wheel],
    ['Part', 'addPart', [Wheel, Part], Part],
    ['Wheel that is declared as a part', 'addPart', [Part], Wheel],
  ])('of a %s calls %s, the method of its closest declared type', async (_, method, targets, of) => {
    await run('POST', { property: 'entries', targets, of });
    expect(names().filter((name) => ['addPart', 'addWheel'].includes(name as string))).toEqual([method]);
  });

  test.each([
    [undefined, 'ApiController'],
    [{ name: 'BoxController' }, 'BoxController'],
  ])('names the controller %j of an action whose model has no such methods', async (controller, name) => {
    await expect(run('DELETE', { property: 'papers', controller })).rejects.toThrow(
      `${name}, action "tags": Box has no to-many association "papers", and no removePaper(item)`,
    );
    expect(names()).toEqual(['change']);
  });
});
