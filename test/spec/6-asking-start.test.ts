import { defineEntity, p, Type } from '@mikro-orm/core';
import { describe, expect } from 'vitest';
import { loadApplication } from '../../src/application.ts';
import { ApiController, type ApiRequest, type ModelQuery } from '../../src/index.ts';
import { databases } from '../support/databases.ts';
import { test } from '../support/halves.ts';

type Any = any;

class Reversed extends Type<string, string> {
  override convertToDatabaseValue(value: string): string {
    return [...value].reverse().join('');
  }
  override convertToJSValue(value: string): string {
    return [...value].reverse().join('');
  }
  override getColumnType(): string {
    return 'text';
  }
}

function models() {
  const Hidden = defineEntity({
    name: 'Hidden',
    properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
  });
  const Deleted = defineEntity({
    name: 'Deleted',
    properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read'), gone: p.boolean() },
    filters: { alive: { name: 'alive', cond: { gone: false }, default: true } },
  } as Any);
  const Center = defineEntity({
    name: 'Center',
    properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read'), budget: p.integer() },
  });
  const Person: Any = defineEntity({
    name: 'Person',
    properties: {
      id: p.integer().primary().groups('read'),
      lastName: p.string().groups('read'),
      age: p.integer().groups('read'),
      active: p.boolean().groups('read'),
      color: p.enum(['red']).groups('read'),
      salary: p.integer(),
      page: p.integer().groups('read'),
      masked: p
        .string()
        .groups('read')
        .serializer(() => '***'),
      own: p.type(Reversed).groups('read'),
      data: p.json().groups('read'),
      sum: p
        .integer()
        .formula(() => '1 + 1')
        .groups('read'),
      upper: (p.string().persist(false) as Any).getter().groups('read'),
      center: () => (p.manyToOne(Center) as Any).groups('read'),
      hidden: () => (p.manyToOne(Hidden) as Any).groups('read'),
      deleted: () => (p.manyToOne(Deleted as Any) as Any).nullable().groups('read'),
      friends: () => (p.manyToMany(Person as Any) as Any).groups('read'),
    },
  });
  return { Person, Center, Hidden, Deleted };
}

class HiddenController extends ApiController {
  override customizeQuery(_action: string, _request: ApiRequest, query: ModelQuery<Any>): void {
    query.andWhere({ id: 1 });
  }
}

/** The errors of a declaration, or else its warnings. */
async function troublesOf(database: string, api: object, actions: object = { _index: null }): Promise<string[]> {
  const { Person, Center, Hidden, Deleted } = models();
  const url = database === 'sqlite' ? 'sqlite::memory:' : 'postgresql://nobody@127.0.0.1:1/none';
  try {
    const { mapper, warnings } = await loadApplication({
      app_main: {
        apis: {
          person: { class: Person, base_path: '/person', actions, ...api },
          hidden: { class: Hidden, base_path: '/hidden', controller: HiddenController, actions: { _index: null } },
        },
        database: { url },
      },
      models: [Person, Center, Hidden, Deleted],
      controllers: [HiddenController],
    } as Any);
    await mapper.close(true);
    return warnings.map(({ text }) => text);
  } catch (error) {
    return (error as Error).message.split('\n').filter((line) => line.includes('app_main'));
  }
}

const cases: [api: object, ...lines: string[]][] = [
  [
    {
      filters: { 'hidden.name': ['eq'], lastName: ['eq', 'contains'], 'center.name': ['in'], 'friends.id': ['eq'] },
      sort: ['center.name'],
      search: ['lastName'],
    },
  ],
  [
    { filters: { lastNam: ['eq'] } },
    'person.filters.lastNam: "lastNam" is not in the group "read" of Person; did you mean "lastName"? fields of the group: id, lastName, age',
  ],
  [
    { filters: { salary: ['eq'] } },
    'person.filters.salary: "salary" is not in the group "read" of Person; fields of the group: id',
  ],
  [{ filters: { 'center.budget': ['eq'] } }, 'person.filters.center.budget: "center.budget" is not in the group "read"'],
  [{ filters: { 'friends.age': ['eq'] } }, 'person.filters.friends.age: "friends.age" is not in the group'],
  [
    { filters: { age: ['eq', 'contains'] } },
    'person.filters.age.1: the operator "contains" does not work on "age", which is an integer; allowed: eq, ne, lt, lte, gt, gte, in, exists',
  ],
  [
    { filters: { active: ['lt'] } },
    'person.filters.active.0: the operator "lt" does not work on "active", which is true or false; allowed: eq, ne, exists',
  ],
  [{ filters: { color: ['starts'] } }, 'person.filters.color.0: the operator "starts" does not work'],
  [
    { filters: { own: ['eq'] } },
    'person.filters.own.0: the operator "eq" does not work on "own", which is a value that cannot be compared; allowed: exists',
  ],
  [{ filters: { data: ['eq'] } }, 'person.filters.data.0: the operator "eq" does not work'],
  [
    { filters: { center: ['eq'] } },
    'person.filters.center.0: the operator "eq" does not work on "center", which is an association; allowed: exists',
  ],
  [
    { filters: { masked: ['eq'] } },
    'person.filters.masked: "masked" cannot be used in lists: "masked" is not returned as the database stores it',
  ],
  [{ filters: { upper: ['eq'] } }, 'person.filters.upper: "upper" cannot be used in lists'],
  [{ filters: { sum: ['eq'] } }, 'person.filters.sum: "sum" cannot be used in lists: "sum" is computed by the database'],
  [{ filters: { page: ['eq'] } }, 'person.filters.page: "page" is a reserved query parameter, and cannot be a filter'],
  [
    { filters: { 'deleted.name': ['eq'] } },
    'person.filters.deleted.name: "deleted.name" cannot be used in lists: "deleted" leads to Deleted, which has a filter that is on by default; remove it, or name another field',
  ],
  [{ filters: { lastName: ['like'] } }, 'person.filters.lastName.0: "lastName[0]" must be one of: eq, ne, lt'],
  [{ filters: { lastName: [] } }, 'person.filters.lastName: "lastName" must have at least one entry'],
  [{ filters: { 'a b': ['eq'] } }, 'person.filters.a b: the name "a b" is not allowed'],
  [{ sort: ['salary'] }, 'person.sort.0: "salary" is not in the group "read"'],
  [{ sort: ['friends.id'] }, 'person.sort.0: cannot sort by "friends.id": it can have several values'],
  [{ sort: ['center'] }, 'person.sort.0: cannot sort by "center": it has no order'],
  [{ sort: ['data'] }, 'person.sort.0: cannot sort by "data": it has no order'],
  [
    { sort: ['hidden.name'] },
    'person.sort.0: cannot sort by "hidden.name": an API hides rows of Hidden from some callers, and the order would reveal them; remove it, or sort by a field of Person itself',
  ],
  [{ search: ['age'] }, 'person.search.0: cannot search in "age": it is an integer, not a text'],
  [
    { search: { fields: ['lastName', 'center.name'], using: 'fulltext' } },
    'person.search.fields.1: "fulltext" searches columns of Person itself',
  ],
  [{ search: { fields: ['lastName'], using: 'magic' } }, 'person.search.using: "using" must be one of: like, trigram, fulltext'],
  [{ search: ['salary'] }, 'person.search.0: "salary" is not in the group'],
];

describe.each(databases)('list declarations on %s', (database) => {
  test.each(cases)('%j', async (api, ...lines) => {
    const found = await troublesOf(database, api);
    expect(found.length).toBe(lines.length);
    for (const [i, line] of lines.entries()) expect(found[i]).toContain(`app_main.apis.${line}`);
  });

  test('are only allowed for list actions, and errors name their location', async () => {
    const found = await troublesOf(
      database,
      {},
      { _index: { filters: { salary: ['eq'] }, default_sort: ['nothing'] }, _entity: { sort: ['id'] } },
    );
    expect(found).toHaveLength(3);
    expect(found.join('\n')).toMatch(/actions\._index\.filters\.salary: "salary" is not in the group/);
    expect(found.join('\n')).toMatch(/actions\._index\.default_sort\.0: Person has no column for "nothing"/);
    expect(found.join('\n')).toMatch(/actions\._entity\.sort: "sort" is allowed for actions that return a list/);
  });

  test('get a warning for each default order by rows that an API hides', async () => {
    const found = await troublesOf(
      database,
      { default_sort: ['lastName', '-hidden.name', 'center.name'] },
      { _index: { default_sort: ['hidden.id'] }, _entity: null },
    );
    expect(found).toEqual([
      'app_main.apis.person.default_sort.1: warning: "default_sort" by "hidden.name" can reveal hidden values: an API hides rows of Hidden from some callers, and the order depends on them; sort by a property of Person itself',
      expect.stringMatching(
        /^app_main\.apis\.person\.actions\._index\.default_sort\.0: warning: "default_sort" by "hidden.id" can /,
      ),
    ]);
  });

  test('are reported once, even if several actions inherit the error', async () => {
    expect(await troublesOf(database, { filters: { salary: ['eq'] } }, { _index: null, _entity: null })).toHaveLength(1);
  });
});
