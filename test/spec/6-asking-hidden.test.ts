// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, type ModelQuery } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

/** Shows what the request names, which is how a caller is let see more or less here. */
class HidingController extends ApiController {
  override async customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Any>): Promise<void> {
    await Promise.resolve();
    const seen = String(request.headers['x-sees'] ?? '');
    if (seen === 'all') return;
    query.andWhere({ name: { $in: seen.split(',') } });
  }
}

class FirstController extends ApiController {
  override customizeQuery(_action: string, _request: ApiRequest, query: ModelQuery<Any>): void {
    query.orderBy({ id: 'asc' }).limit(1);
  }
}

function optionsOf(url: string, compiledReads: boolean) {
  const named = () => ({ id: p.integer().primary().groups('read'), name: p.string().groups('read') });
  const Center = defineEntity({ name: 'Center', properties: named() });
  const Tag = defineEntity({ name: 'Tag', properties: named() });
  const Badge = defineEntity({ name: 'Badge', properties: named() });
  const Pet: Any = defineEntity({
    name: 'Pet',
    discriminatorColumn: 'type',
    discriminatorValue: 'pet',
    properties: { ...named(), type: p.enum(['pet', 'dog']).groups('read') },
  });
  const Dog: Any = defineEntity({ name: 'Dog', extends: Pet, discriminatorValue: 'dog', properties: {} });
  const Person = defineEntity({
    name: 'Person',
    properties: {
      id: p.integer().primary().groups('read'),
      center: () => (p.manyToOne(Center) as Any).nullable().groups('read'),
      tags: () => (p.manyToMany(Tag) as Any).groups('read'),
      badge: () => (p.manyToOne(Badge) as Any).nullable().groups('read'),
      pet: () => (p.manyToOne(Pet as Any) as Any).nullable().groups('read'),
    },
  });
  const api = (model: Any, base_path: string, controller: Any) => ({
    class: model,
    base_path,
    controller,
    actions: { _entity: null },
  });
  return {
    app_main: {
      apis: {
        person: {
          class: Person,
          base_path: '/person',
          actions: { _index: null },
          filters: {
            'center.name': ['eq', 'ne', 'contains', 'exists'],
            'center.id': ['eq', 'in', 'ne'],
            center: ['exists'],
            'tags.name': ['eq', 'ne', 'exists'],
            tags: ['exists'],
            'badge.name': ['eq'],
            'pet.name': ['eq', 'exists'],
          },
          search: ['center.name', 'tags.name'],
        },
        center: api(Center, '/center', HidingController),
        tag: api(Tag, '/tag', HidingController),
        badge: api(Badge, '/badge', FirstController),
        dog: api(Dog, '/dog', HidingController),
      },
      formats: ['json', 'ndjson'],
      database: { url, schema: compiledReads ? 'none' : 'update' },
    },
    models: [Person, Center, Tag, Badge, Pet, Dog],
    controllers: [HidingController, FirstController],
    compiledReads,
  } as Any;
}

/** What is asked by somebody who sees only some of the associated rows, and who is found; and who is found by those who see all. */
const cases: [query: string, sees: string, found: number[], foundByAll: number[]][] = [
  ['', 'north', [1, 2, 3, 4], [1, 2, 3, 4]],
  ['center.name=south', 'north', [], [2]],
  ['center.name=north', 'north', [1], [1]],
  ['center.name[ne]=north', 'north', [2, 3, 4], [2, 3, 4]],
  ['center.name[ne]=south', 'north', [1, 2, 3, 4], [1, 3, 4]],
  ['center.name[contains]=s', 'north', [], [2]],
  ['center.name[exists]=false', 'north', [2, 3, 4], [3, 4]],
  ['center[exists]=true', 'north', [1], [1, 2]],
  ['center.id=2', 'north', [], [2]],
  ['center.id[in]=1,2', 'north', [1], [1, 2]],
  ['center.id[ne]=2', 'north', [1, 2, 3, 4], [1, 3, 4]],
  ['center.id=2', '', [], [2]],
  ['tags.name=b', 'a', [], [1, 2]],
  ['tags.name=b', 'b', [1, 2], [1, 2]],
  ['tags.name[ne]=a', 'a', [], [1, 2]],
  ['tags.name[exists]=false', 'a', [2, 3, 4], [3, 4]],
  ['tags[exists]=true', 'a', [1], [1, 2]],
  ['badge.name=first', '', [1], [1]],
  ['badge.name=second', 'all', [], []],
  ['pet.name=rex', 'cat', [], [2]],
  ['pet.name=rex', 'rex', [2], [2]],
  ['pet.name=tom', '', [1], [1]],
  ['pet.name[exists]=true', '', [1], [1, 2]],
  ['q=south', 'north,a', [], [2]],
  ['q=b', 'north,a', [], [1, 2]],
  ['or[0][center.name]=south&or[1][tags.name]=a', 'north,a', [1], [1, 2]],
  ['center.name=south&tags.name=b', 'south', [], [2]],
  ['center.name=south&tags.name=b', 'south,b', [2], [2]],
];

describe.each(databases)('rows that are hidden from a caller on %s', (database) => {
  let fresh: FreshDatabase;
  let apps: Record<'entities' | 'compiled', TestApplication>;
  beforeAll(async () => {
    fresh = await freshDatabase(database);
    const entities = await startApplication(optionsOf(fresh.url, false));
    const em = entities.application.mapper.em.fork() as Any;
    const [north, south] = ['north', 'south'].map((name, i) => em.create('Center', { id: i + 1, name }));
    const [a, b] = ['a', 'b'].map((name, i) => em.create('Tag', { id: i + 1, name }));
    const [first, second] = ['first', 'second'].map((name, i) => em.create('Badge', { id: i + 1, name }));
    const tom = em.create('Pet', { id: 1, name: 'tom' });
    const rex = em.create('Dog', { id: 2, name: 'rex' });
    em.create('Person', { id: 1, center: north, tags: [a, b], badge: first, pet: tom });
    em.create('Person', { id: 2, center: south, tags: [b], badge: second, pet: rex });
    em.create('Person', { id: 3 });
    em.create('Person', { id: 4 });
    await em.flush();
    apps = { entities, compiled: await startApplication(optionsOf(fresh.url, true)) };
  });
  afterAll(async () => {
    for (const app of Object.values(apps ?? {})) await app.close();
    await fresh?.drop();
  });

  describe.each(['entities', 'compiled'] as const)('do not affect filter and search results, through %s', (way) => {
    test.each(cases)('?%s by a caller who sees %j', async (query, sees, found, foundByAll) => {
      const ids = async (who: string) => {
        const { json, status } = await apps[way].request('GET', `/person.json?${query}`, { headers: { 'x-sees': who } });
        expect([status, json.detail]).toEqual([200, undefined]);
        expect(json.count).toBe(json.results.length);
        return json.results.map(({ id }: Any) => id);
      };
      expect(await ids(sees)).toEqual(found);
      expect(await ids('all')).toEqual(foundByAll);
      const { text } = await apps[way].request('GET', `/person.ndjson?${query}`, { headers: { 'x-sees': sees } });
      expect(text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).id]))).toEqual(found);
    });
  });
});
