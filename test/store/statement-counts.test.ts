// @module-tag divided
import { type Collection, defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, Voter } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { partOf } from '../support/random.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

/** How the rows that others refer to are hidden. */
const targets = ['open', 'restricted', 'voted'] as const;
/** The code that the model has that refers to them. */
const codes = ['none', 'getter', 'rule', 'hook', 'version', 'method', 'restriction', 'voter', 'hiddenToMany'] as const;
type Target = (typeof targets)[number];
type Code = (typeof codes)[number];

const combinations = targets.flatMap((target) => codes.map((code) => [target, code] as const));

const few = 3;
const many = 40;

function tagOf(target: Target) {
  return defineEntity({
    name: `Tag_${target}`,
    tableName: `tag_${target}`,
    properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read'), open: p.boolean() },
  }) as Any;
}

function modelsOf(target: Target, code: Code, Tag: Any) {
  const Part = defineEntity({
    name: `Part_${target}_${code}`,
    tableName: `part_${target}_${code}`.toLowerCase(),
    properties: {
      id: p.integer().primary().groups('read'),
      title: p.string().groups('read', 'write'),
      tag: () => p.manyToOne(Tag).groups('read', 'write'),
      owner: () => p.manyToOne(Owner as Any),
    },
  } as Any) as Any;
  const schema = defineEntity({
    name: `Owner_${target}_${code}`,
    tableName: `owner_${target}_${code}`.toLowerCase(),
    properties: {
      id: p.integer().primary().groups('read'),
      name: p.string().groups('read', 'write'),
      open: p.boolean().default(true),
      main: () => p.manyToOne(Tag).groups('read', 'write'),
      tags: () => p.manyToMany(Tag).groups('read', 'write'),
      parts: () =>
        p
          .oneToMany(Part as Any)
          .mappedBy('owner')
          .groups('read'),
      ...(code === 'version' && { version: p.integer().version() }),
      ...(code === 'getter' && { label: p.string().persist(false).getter().groups('read') }),
    },
  } as Any) as Any;
  class Owner extends schema.class {}
  Object.defineProperty(Owner, 'name', { value: `Owner_${target}_${code}` });
  const prototype = Owner.prototype as Any;
  if (code === 'getter')
    Object.defineProperty(prototype, 'label', {
      configurable: true,
      get(this: Any) {
        return `label of ${this.name}`;
      },
    });
  if (code === 'rule') prototype.validate = () => [];
  if (code === 'method') {
    prototype.addTag = function (this: { tags: Collection<object> }, tag: object) {
      this.tags.add(tag);
    };
    prototype.removeTag = function (this: { tags: Collection<object> }, tag: object) {
      this.tags.remove(tag);
    };
  }
  schema.setClass(Owner);
  return { Owner, Part };
}

function controllerOf(target: Target, code: Code) {
  class OwnerController extends ApiController {}
  Object.defineProperty(OwnerController, 'name', { value: `${target}_${code}` });
  const prototype = OwnerController.prototype as Any;
  if (code === 'hook') for (const hook of ['afterFetch', 'beforeValidation', 'beforeSerialize']) prototype[hook] = async () => {};
  if (code === 'restriction')
    prototype.customizeQuery = (_action: string, _request: ApiRequest, query: Any) => query.andWhere({ open: true });
  if (code === 'hiddenToMany')
    prototype.customizeQuery = (_action: string, _request: ApiRequest, query: Any) =>
      query.leftJoin('e.parts', 'part').andWhere({ open: true }).groupBy('e.id');
  return OwnerController;
}

class TagController extends ApiController {
  override customizeQuery(_action: string, _request: ApiRequest, query: Any) {
    return query.andWhere({ open: true });
  }
}

class RowVoter extends Voter {
  static override roles = ['ROW'];
  override vote(_role: string, subject: Any) {
    return subject === null || subject.name !== 'hidden' ? 'grant' : 'deny';
  }
}

describe.each(databases)('the number of statements of a request does not depend on the number of rows, on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;

  beforeAll(async () => {
    database = await freshDatabase(kind);
    const tags = Object.fromEntries(targets.map((target) => [target, tagOf(target)])) as Record<Target, Any>;
    const apis: Any = {};
    const models: Any[] = Object.values(tags);
    const owners: Any[] = [];
    for (const target of targets) {
      // a voter shows rows that the restriction of another API hides
      if (target === 'voted')
        apis.tag_listed = {
          class: 'Tag_voted',
          base_path: '/listed',
          controller: 'TagController',
          actions: { _entity: { methods: { GET: true } } },
        };
      apis[`tag_${target}`] = {
        class: `Tag_${target}`,
        base_path: `/tag/${target}`,
        ...(target === 'restricted' && { controller: 'TagController' }),
        actions: { _entity: { methods: { GET: true }, roles: target === 'voted' ? { GET: 'ROW' } : {} } },
      };
      for (const code of codes) {
        const { Owner, Part } = modelsOf(target, code, tags[target]);
        models.push(Owner, Part);
        owners.push({ target, Owner, Part });
        const role = code === 'voter' ? 'ROW' : null;
        apis[`${target}_${code}`] = {
          class: `Owner_${target}_${code}`,
          base_path: `/${target}/${code}`,
          controller: `${target}_${code}`,
          nested: { parts: { max_items: 100 } },
          actions: {
            _index: {
              methods: { GET: true, POST: true },
              bulk: { POST: true, PATCH: true, DELETE: true },
              ...(role && { roles: { GET: role, POST: role, PATCH: role, DELETE: role } }),
            },
            _entity: {
              methods: { GET: true, PATCH: true, PUT: true, DELETE: true },
              ...(role && { roles: { GET: role, PATCH: role, PUT: role, DELETE: role } }),
            },
            tags: { association: { property: 'tags', types: [`Tag_${target}`] } },
          },
        };
      }
    }
    app = await startApplication({
      app_main: { database: { url: database.url, schema: 'update' }, pagination: { items_per_page: 100 }, apis },
      models,
      controllers: [TagController, ...targets.flatMap((target) => codes.map((code) => controllerOf(target, code)))],
      voters: [RowVoter],
      seed: (em: Any) => {
        for (const Tag of Object.values(tags))
          for (let id = 1; id <= many; id++) em.create(Tag, { id, name: `${id}`, open: Tag !== tags.voted || id % 2 === 0 });
      },
    } as Any);
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  const ids = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

  test.each(partOf(combinations, 2))('%s, %s', async (target, code) => {
    const base = `/${target}/${code}`;
    const sent = async (method: string, path: string, json?: unknown, expected = 200) => {
      app.statements.length = 0;
      const response = await app.request(method as Any, path, json === undefined ? {} : { json });
      const text = `${method} ${path} ${response.status} ${response.status < 300 ? '' : JSON.stringify(response.json)}`;
      expect(text).toMatch(expected === 200 ? / 20\d / : ` ${expected} `);
      return { json: response.json, statements: [...app.statements] };
    };
    const tagsOf = (count: number) => ids(count).map((id) => ({ id }));
    const partsOf = (count: number) => ids(count).map((id) => ({ title: `${id}`, tag: { id } }));
    const ownersOf = (count: number) => ids(count).map((id) => ({ name: `${id}`, main: { id } }));
    const counts: Record<string, number[]> = {};
    const note = (what: string, { statements }: { statements: string[] }) => {
      counts[what] = [...(counts[what] ?? []), statements.length];
    };
    for (const count of [few, many]) {
      note('POST with a list', await sent('POST', `${base}.json`, { name: 'a', main: { id: 1 }, tags: tagsOf(count) }));
      const made = await sent('POST', `${base}.json`, { name: 'a', main: { id: 1 }, parts: partsOf(count) });
      note('POST with nested rows', made);
      const path = `${base}/${made.json.id}.json`;
      note('PATCH of a list', await sent('PATCH', path, { tags: tagsOf(count) }));
      note('GET', await sent('GET', path));
      note('PATCH of a field', await sent('PATCH', path, { name: 'b' }));
      note('PATCH to an empty list', await sent('PATCH', path, { tags: [] }));
      note('PUT of a list', await sent('PUT', path, { name: 'c', main: { id: 2 }, tags: tagsOf(count) }));
      const added = await sent('POST', `${base}.json`, ownersOf(count));
      note('POST of rows', added);
      const rows = added.json.results.map(({ id }: { id: number }, i: number) => ({
        id,
        main: { id: (i % count) + 1 },
        name: 'd',
      }));
      const missing = ownersOf(count).with(count - 1, { name: 'missing', main: { id: many + 1 } });
      note('POST of rows, one refused', await sent('POST', `${base}.json`, missing, 400));
      note('PATCH of rows', await sent('PATCH', `${base}.json`, rows));
      const listed = rows.map(({ id }: { id: number }) => ({ id, tags: tagsOf(2) }));
      note('PATCH of rows with lists', await sent('PATCH', `${base}.json`, listed));
      const wrong = rows.map(({ id }: { id: number }, i: number) => ({ id, main: { id: i === count - 1 ? many + 1 : 1 } }));
      note('PATCH of rows, one refused', await sent('PATCH', `${base}.json`, wrong, 400));
      note('list', await sent('GET', `${base}.json?items_per_page=${count}`));
      note(
        'DELETE of rows',
        await sent(
          'DELETE',
          `${base}.json`,
          rows.map(({ id }: { id: number }) => ({ id })),
        ),
      );
    }
    // long lists are written through another path, with some more statements, but not with one for each row
    const growing = Object.entries(counts).filter(([, [short, long]]) => (long as number) > (short as number) + 4);
    expect(growing).toEqual([]);
  });
});
