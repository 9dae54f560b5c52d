import { describe, expect, test } from 'vitest';
import { catalogFromCode } from '../../src/declaration/modules/modules.ts';
import type { ApiDeclaration } from '../../src/declaration/types.ts';
import {
  actionLines,
  apiLines,
  Center,
  catalog,
  fromCode,
  fromYaml,
  Person,
  PersonController,
  personApi,
} from './application.ts';

const action = (name: string) => `app_main.apis.person.actions.${name}`;

function only({ declaration, lines }: ReturnType<typeof fromCode>): ApiDeclaration {
  expect(lines).toEqual([]);
  return declaration.apis[0] as ApiDeclaration;
}

const usualGroups = {
  read: [{ name: 'read', role: null, path: null }],
  write: [{ name: 'write', role: null, path: null }],
};
const nothingToAsk = {
  filters: [],
  sort: [],
  search: null,
  aggregate: null,
  defaultSort: [],
  defaultSortPath: [],
};

describe('an API', () => {
  test('with only the required keys gets all defaults', () => {
    expect(only(fromCode({ apis: { person: personApi({ actions: { _index: null, _entity: {} } }) } }))).toEqual({
      name: 'person',
      class: { name: 'Person', qualifiedName: 'Person', value: Person },
      controller: null,
      basePath: '/api/person',
      baseRole: null,
      pagination: { itemsPerPage: 50, maxItemsPerPage: 200, maxOffset: 0, count: 'exact', maxOrDepth: 2, maxOrGroups: 10 },
      rateLimit: null,
      requireIfMatch: false,
      nested: [],
      defaultSort: [],
      groups: usualGroups,
      list: nothingToAsk,
      formats: ['json'],
      description: null,
      actions: [
        {
          name: '_index',
          kind: 'index',
          single: false,
          methods: ['GET', 'HEAD'],
          roles: {},
          controllerAction: null,
          segment: null,
          repeatable: null,
          validationGroups: [],
          groups: usualGroups,
          requirements: {},
          bulk: null,
          association: null,
          parameters: [],
          list: nothingToAsk,
          formats: ['json'],
          descriptions: {},
          operationIds: {},
          hidden: false,
          body: null,
          result: null,
          path: ['app_main', 'apis', 'person', 'actions', '_index'],
        },
        {
          name: '_entity',
          kind: 'entity',
          single: true,
          methods: ['GET', 'HEAD'],
          roles: {},
          controllerAction: null,
          segment: null,
          repeatable: null,
          validationGroups: [],
          groups: usualGroups,
          requirements: {},
          bulk: null,
          association: null,
          parameters: [],
          list: null,
          formats: ['json'],
          descriptions: {},
          operationIds: {},
          hidden: false,
          body: null,
          result: null,
          path: ['app_main', 'apis', 'person', 'actions', '_entity'],
        },
      ],
      path: ['app_main', 'apis', 'person'],
    });
  });

  test('with every key keeps every value', () => {
    const api = only(
      fromYaml(`
app_main:
  pagination: { items_per_page: 10, max_items_per_page: 20 }
  apis:
    key-of-mine:
      class: Person
      name: people
      base-path: /api/{tenant}/people
      controller: PersonController
      base-role: ROLE_USER
      pagination: { max-items-per-page: 30 }
      default_sort: [-created, center.name]
      actions:
        history-of:
          methods: { GET: true, POST: false, DELETE: true }
          roles: { GET: SEE, POST: ~, DELETE: REMOVE, PUT: UNUSED }
          controller-action: showHistory
          path: history/recent
          requirements: { id: '[a-z]+', tenant: \\d+ }
          single_collection: single
        participants:
          association: { property: participants, types: [Person, Center] }
        export:
          methods: { POST: true }
          requirements: []
          single-collection: collection
`),
    );
    expect(api).toMatchObject({
      name: 'people',
      class: { value: Person },
      controller: { value: PersonController },
      basePath: '/api/{tenant}/people',
      baseRole: 'ROLE_USER',
      pagination: { itemsPerPage: 10, maxItemsPerPage: 30, maxOffset: 0, count: 'exact', maxOrDepth: 2, maxOrGroups: 10 },
      rateLimit: null,
      defaultSort: [
        { property: 'created', direction: 'desc' },
        { property: 'center.name', direction: 'asc' },
      ],
      path: ['app_main', 'apis', 'key-of-mine'],
    });
    expect(api.actions).toMatchObject([
      {
        name: 'history-of',
        kind: 'custom',
        single: true,
        methods: ['GET', 'DELETE'],
        roles: { GET: 'SEE', DELETE: 'REMOVE', PUT: 'UNUSED' },
        controllerAction: 'showHistory',
        segment: 'history/recent',
        requirements: { id: '[a-z]+', tenant: '\\d+' },
      },
      {
        name: 'participants',
        single: true,
        methods: ['POST', 'DELETE'],
        association: { property: 'participants', types: [{ value: Person }, { value: Center }] },
      },
      { name: 'export', single: false, methods: ['POST'], requirements: {}, association: null },
    ]);
  });

  test('is the same from a mapping or a list, and from YAML or code', () => {
    const api =
      '{ class: Person, base_path: /api/person, actions: { _index: , _entity: { methods: { GET: true, PATCH: true } } } }';
    const code = {
      class: Person,
      base_path: '/api/person',
      actions: { _index: null, _entity: { methods: { GET: true, PATCH: true } } },
    };
    const withoutPaths = (outcome: ReturnType<typeof fromCode>) =>
      JSON.parse(JSON.stringify(only(outcome)), (key, value) => (key === 'path' ? undefined : value));
    const expected = withoutPaths(fromYaml(`app_main: { apis: { person: ${api} } }`));
    expect(withoutPaths(fromYaml(`app_main: { apis: [${api.replace('{', '{ name: person,')}] }`))).toEqual(expected);
    expect(withoutPaths(fromCode({ apis: { person: code } }))).toEqual(expected);
    expect(withoutPaths(fromCode({ apis: [{ ...code, name: 'person' }] }))).toEqual(expected);
  });

  test('is deeply frozen, except for the classes of the application', () => {
    const { declaration } = fromCode({
      apis: {
        person: personApi({
          actions: { a: { association: { property: 'x', types: ['Person'] }, requirements: { id: 'x' } } },
          default_sort: ['a'],
        }),
      },
    });
    const check = (value: unknown, key = '') => {
      if (typeof value !== 'object' || value === null) return;
      expect(Object.isFrozen(value), key).toBe(true);
      for (const [name, inner] of Object.entries(value)) check(inner, name);
    };
    check(declaration);
    expect(Object.isFrozen(Person)).toBe(false);
  });

  test.each([
    [
      { base_path: undefined },
      'app_main.apis.person: the key "base_path" is missing: add a path such as "/api/person", for example "base_path: /api/person"',
    ],
    [
      { class: undefined },
      'app_main.apis.person: the key "class" is missing: add the name of a model class, for example "class: Person"',
    ],
    [{ actions: undefined }, 'app_main.apis.person: the key "actions" is missing: add a mapping'],
    [{ actions: null }, 'app_main.apis.person: the key "actions" is missing: add a mapping'],
    [{ actions: {} }, 'app_main.apis.person.actions: "actions" must have at least one entry'],
    [{ actions: [] }, 'app_main.apis.person.actions: "actions" must be a mapping; given: an empty list'],
    [
      { name: 'a-b' },
      'app_main.apis.person.name: "name" must be a name of letters, digits and underscores that does not start with a digit; given: "a-b"',
    ],
    [{ base_role: '' }, 'app_main.apis.person.base_role: "base_role" must be the name of a role; given: ""'],
    [{ base_role: 5 }, 'app_main.apis.person.base_role: "base_role" must be the name of a role, or null; given: 5'],
    [
      { controller: [] },
      'app_main.apis.person.controller: "controller" must be the name of a controller class, or null; given: an empty list',
    ],
    [{ default_sort: 'name' }, 'app_main.apis.person.default_sort: "default_sort" must be a list; given: "name"'],
    [
      { default_sort: ['a', '--b'] },
      'app_main.apis.person.default_sort.1: "default_sort[1]" must be a property such as "name", "-name" or "center.name"; given: "--b"',
    ],
    [{ default_sort: ['a', '-a'] }, 'app_main.apis.person.default_sort.1: the property "a" is in "default_sort" twice'],
    [{ default_sort: ['a', 'a'] }, 'app_main.apis.person.default_sort.1: "default_sort[1]" repeats an earlier item'],
    [
      { pagination: { items_per_page: 500 } },
      'app_main.apis.person.pagination.items_per_page: "items_per_page" (500) must not be greater than "max_items_per_page" (200)',
    ],
    [
      { pagination: { items_per_page: 0 } },
      'app_main.apis.person.pagination.items_per_page: "items_per_page" must be an integer from 1 to 2147483647; given: 0',
    ],
    [
      { single_collection: 1 },
      'app_main.apis.person.single_collection: unknown key "single_collection"; allowed: class, name, base_path, controller, base_role, pagination, rate_limit, require_if_match, groups, formats, nested, filters, sort, default_sort, search, aggregate, description, hidden, actions',
    ],
    [
      { 'base-path': '/b' },
      'app_main.apis.person.base-path: the key "base-path" is duplicated; it is also written as "base_path"',
    ],
  ])('with %j is rejected', (changes, line) => {
    expect(apiLines(changes)).toEqual([line]);
  });

  test('that is not a mapping is rejected', () => {
    expect(fromCode({ apis: { person: 'Person', center: null, other: new Person() } }).lines).toEqual([
      'app_main.apis.person: "person" must be a mapping; given: "Person"',
      'app_main.apis.center: the key "class" is missing: add the name of a model class, for example "class: Person"',
      'app_main.apis.center: the key "base_path" is missing: add a path such as "/api/person", for example "base_path: /api/person"',
      'app_main.apis.center: the key "actions" is missing: add a mapping',
      'app_main.apis.other: "other" must be a mapping; given: a mapping',
    ]);
  });

  test('with an error is kept as far as it is readable, and hides no error of another API', () => {
    const { declaration, lines } = fromCode({
      apis: { a: personApi({ class: 'X', base_role: 'R' }), b: personApi(), c: personApi({ base_path: 'x' }) },
    });
    expect(declaration.apis.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    expect(declaration.apis[0]).toMatchObject({ class: { value: null }, baseRole: 'R' });
    expect(declaration.apis[2]).toMatchObject({ class: { name: 'Person' }, basePath: '' });
    expect(lines.map((line) => line.split(':')[0])).toEqual(['app_main.apis.a.class', 'app_main.apis.c.base_path']);
  });
});

describe('the name of an API', () => {
  test('is required in a list', () => {
    expect(fromCode({ apis: [personApi()] }).lines).toEqual([
      'app_main.apis.0: the key "name" is missing: every API in a list needs one',
    ]);
  });

  test('cannot be taken from a key that is not a valid name', () => {
    expect(fromCode({ apis: { 'a-b': personApi() } }).lines).toEqual([
      'app_main.apis.a-b: the key "a-b" cannot be the name of the API: use letters, digits and underscores, or add "name"',
    ]);
  });

  test('must be unique', () => {
    const { lines } = fromCode({
      apis: { a: personApi(), b: personApi({ name: 'a' }), c: personApi({ name: 'a' }) },
    });
    expect(lines).toEqual([
      'app_main.apis.b.name: the name "a" is already used by app_main.apis.a; names must be unique',
      'app_main.apis.c.name: the name "a" is already used by app_main.apis.a; names must be unique',
    ]);
  });
});

describe('a base path', () => {
  test.each(['/a', '/api/v1/person', '/a-b/c_d/e.f/~g', '/{tenant}/person', '/a/{b}/{c}', '/...'])('can be %j', (base_path) => {
    expect(apiLines({ base_path })).toEqual([]);
  });

  test.each([
    ['person', 'begin it with a slash'],
    ['', 'begin it with a slash'],
    ['/', 'leave out the slash at the end'],
    ['/person/', 'leave out the slash at the end'],
    ['/a//b', 'it has an empty segment'],
    ['/a?b=c', 'remove the query or fragment'],
    ['/a#b', 'remove the query or fragment'],
    ['/a/{id}', 'the placeholder {id} is reserved; choose another name'],
    ['/{_format}/a', 'the placeholder {_format} is reserved; choose another name'],
    ['/a b', 'a segment has letters, digits and "-._~", or is a {placeholder}'],
    ['/a/../b', 'a segment has letters, digits and "-._~", or is a {placeholder}'],
    ['/a/{b}c', 'a segment has letters, digits and "-._~", or is a {placeholder}'],
    ['/ä', 'a segment has letters, digits and "-._~", or is a {placeholder}'],
  ])('cannot be %j', (base_path, reason) => {
    expect(apiLines({ base_path })).toEqual([
      `app_main.apis.person.base_path: "base_path" must be a path such as "/api/person" (${reason}); given: ${JSON.stringify(base_path)}`,
    ]);
  });

  test('must not repeat a placeholder', () => {
    expect(apiLines({ base_path: '/{a}/{a}' })).toEqual([
      'app_main.apis.person.base_path: the placeholder {a} is in "base_path" twice; choose another name',
    ]);
  });
});

describe('the methods of an action', () => {
  test('must be declared for a custom action', () => {
    expect(actionLines('export', null)).toEqual([
      `${action('export')}: no method is enabled; a custom action needs "methods", for example "methods: { POST: true }"`,
    ]);
  });

  test.each([{}, { GET: false }])('cannot be only %j', (methods) => {
    expect(actionLines('_index', { methods })).toEqual([
      `${action('_index')}.methods: no method is enabled; set one to true, for example "methods: { GET: true }"`,
    ]);
  });

  test('are the defaults if the key is empty', () => {
    expect(actionLines('_index', { methods: null })).toEqual([]);
  });

  test('are reported once if they are invalid', () => {
    expect(actionLines('export', { methods: { get: true } })).toEqual([
      `${action('export')}.methods.get: unknown key "get"; did you mean "GET"? allowed: GET, HEAD, POST, PUT, PATCH, DELETE`,
    ]);
    expect(actionLines('export', { methods: 'GET' })).toEqual([
      `${action('export')}.methods: "methods" must be a mapping; given: "GET"`,
    ]);
    expect(actionLines('export', { methods: { GET: 'yes' } })).toEqual([
      `${action('export')}.methods.GET: "GET" must be true or false; given: "yes"`,
    ]);
    expect(actionLines('export', { association: { types: [] } })).toEqual([
      `${action('export')}.association: the key "property" is missing: add the name of a property, for example "property: participants"`,
    ]);
  });
});

describe('the name of an action', () => {
  test.each(['export', 'Export', 'a1', 'a_b', 'a-b', '_changes', '_a', '__a'])('can be %j', (name) => {
    expect(actionLines(name, { methods: { GET: true } })).toEqual([]);
  });

  const rules = 'the name of an action begins with a letter or an underscore and has letters, digits, underscores and dashes';

  test.each(['1a', 'a b', 'a/b', '', '__proto__'])('cannot be %j', (name) => {
    expect(actionLines(name, { methods: { GET: true } })).toEqual([
      `${action(name)}: the name "${name}" is not allowed; ${rules}`,
    ]);
  });

  test.each([
    ['_indx', '_index'],
    ['entity', '_entity'],
  ])('that is %j gets a default action as suggestion', (name, meant) => {
    expect(actionLines(name, null)).toEqual([
      `${action(name)}: no method is enabled; did you mean "${meant}"? a custom action needs "methods", for example "methods: { POST: true }"`,
    ]);
  });
});

describe('an action', () => {
  test.each([
    [
      '_index',
      { 'single-collection': 'single' },
      '.single-collection: "single-collection" of _index is always collection; leave it out',
    ],
    [
      '_entity',
      { single_collection: 'collection' },
      '.single-collection: "single-collection" of _entity is always single; leave it out',
    ],
    [
      '_index',
      { 'single-collection': 'colection' },
      '.single-collection: "single-collection" must be one of: single, collection (did you mean "collection"?); given: "colection"',
    ],
    [
      '_index',
      { path: '/recent' },
      '.path: "path" must be one or more URL segments such as "history" or "history/recent" (leave out the slash at the beginning); given: "/recent"',
    ],
    [
      '_index',
      { path: 'recent/' },
      '.path: "path" must be one or more URL segments such as "history" or "history/recent" (leave out the slash at the end); given: "recent/"',
    ],
    [
      '_index',
      { path: '{x}' },
      '.path: "path" must be one or more URL segments such as "history" or "history/recent" (placeholders are allowed in base_path only); given: "{x}"',
    ],
    [
      '_index',
      { path: 'a//b' },
      '.path: "path" must be one or more URL segments such as "history" or "history/recent"; given: "a//b"',
    ],
    [
      '_index',
      { controller_action: 'a-b' },
      '.controller_action: "controller_action" must be the name of a method; given: "a-b"',
    ],
    ['_index', { roles: { GET: '' } }, '.roles.GET: "GET" must be the name of a role; given: ""'],
    ['_index', { requirements: ['a'] }, '.requirements: "requirements" must be a mapping, or an empty list; given: a list'],
    ['_index', { requirements: 'a' }, '.requirements: "requirements" must be a mapping or an empty list; given: "a"'],
    [
      '_index',
      { requirements: { id: 'a' } },
      '.requirements.id: the path of this action has no placeholder "id"; allowed: _format',
    ],
    [
      '_entity',
      { requirements: { ids: 'a' } },
      '.requirements.ids: the path of this action has no placeholder "ids"; did you mean "id"? allowed: id, _format',
    ],
    [
      '_entity',
      { requirements: { id: '(' } },
      '.requirements.id: the requirement of "id" is not a regular expression: unterminated group',
    ],
    [
      '_entity',
      { requirements: { id: 'a)|(b' } },
      `.requirements.id: the requirement of "id" is not a regular expression: unmatched ')'`,
    ],
    [
      '_entity',
      { requirements: { id: '' } },
      '.requirements.id: the requirement of "id" is not a regular expression: it is empty',
    ],
    ['_entity', 'yes', ': "_entity" must be a mapping; given: "yes"'],
  ])('%s with %j is rejected', (name, value, line) => {
    expect(actionLines(name, value)).toEqual([`${action(name)}${line}`]);
  });

  test('reports no requirements if the base path is invalid', () => {
    expect(actionLines('_index', { requirements: { tenant: 'a' } }, { base_path: '{tenant}' })).toHaveLength(1);
  });
});

describe('an association', () => {
  const association = { property: 'participants' };

  test.each([
    ['_entity', { association }, '"association" is allowed for custom actions only; choose another action name'],
    [
      'x',
      { association, single_collection: 'collection' },
      '"association" needs the id of an entity: remove "single-collection: collection"',
    ],
    [
      'x',
      { association, controller_action: 'y' },
      '"association" and "controller_action" exclude each other; remove one of them',
    ],
  ])('on %s as in %j is rejected', (name, value, message) => {
    expect(actionLines(name, value)).toEqual([`${action(name)}.association: ${message}`]);
  });

  test('may enable fewer methods', () => {
    expect(actionLines('x', { association, methods: { POST: true } })).toEqual([]);
  });

  test('resolves its types', () => {
    expect(actionLines('x', { association: { ...association, types: ['Persn', Center] } })).toEqual([
      `${action('x')}.association.types.0: unknown model class "Persn"; did you mean "Person"? known: Person, Center`,
    ]);
  });
});

describe('a class name', () => {
  class Other {}
  const twins = {
    ...catalog,
    models: [
      { name: 'Person', qualifiedName: 'src/models/a#Person', value: Person },
      { name: 'Person', qualifiedName: 'src/models/b#Person', value: Other },
      { name: 'Center', qualifiedName: 'src/models/center#Center', value: Center },
    ],
  };

  test('is ambiguous if two classes have it', () => {
    expect(fromCode({ apis: { person: personApi() } }, { catalog: twins }).lines).toEqual([
      'app_main.apis.person.class: the model class "Person" is ambiguous; write one of: src/models/a#Person, src/models/b#Person',
    ]);
  });

  test('can be qualified', () => {
    expect(
      only(fromCode({ apis: { person: personApi({ class: 'src/models/b#Person' }) } }, { catalog: twins })).class.value,
    ).toBe(Other);
  });

  test('that is unknown is reported with the known names', () => {
    expect(fromCode({ apis: { person: personApi({ class: 'src/models/c#Person' }) } }, { catalog: twins }).lines).toEqual([
      'app_main.apis.person.class: unknown model class "src/models/c#Person"; did you mean "src/models/a#Person"? known: src/models/a#Person, src/models/b#Person, Center',
    ]);
    expect(fromCode({ apis: { person: personApi({ class: 'Person' }) } }, { catalog: catalogFromCode({}) }).lines).toEqual([
      'app_main.apis.person.class: unknown model class "Person"; known: none',
    ]);
  });

  test('can be the class itself or its schema in code', () => {
    class Schema {
      readonly class = Person;
      readonly name = 'Person';
    }
    const schema = new Schema();
    expect(
      only(fromCode({ apis: { person: personApi({ class: Person, controller: PersonController }) } })).controller?.value,
    ).toBe(PersonController);
    expect(only(fromCode({ apis: { person: personApi({ class: schema }) } })).class.value).toBe(Person);
    expect(
      only(fromCode({ apis: { person: personApi({ class: Person }) } }, { catalog: catalogFromCode({ models: [schema] }) })).class
        .value,
    ).toBe(schema);
  });

  test('must belong to the application', () => {
    expect(apiLines({ class: Other })).toEqual([
      'app_main.apis.person.class: the model class Other is not one of the models of the application; known: Person, Center',
    ]);
    expect(apiLines({ class: (() => class {})() })[0]).toContain('the model class without a name is not one of');
    expect(apiLines({ class: '' })).toEqual(['app_main.apis.person.class: "class" must be the name of a model class; given: ""']);
    expect(apiLines({ class: { a: 1 } })).toEqual([
      'app_main.apis.person.class: "class" must be the name of a model class; given: a mapping',
    ]);
  });
});
