import { describe, expect, test } from 'vitest';
import type { ActionDeclaration } from '../../src/declaration/types.ts';
import { handlerName, recordOfDefinition, recordsOf } from '../../src/route/record.ts';
import { action, api, definition, records } from './fixtures.ts';

describe('names', () => {
  test('are built from the name of the API and of the action', () => {
    const made = records([api('person', [action('_index'), action('_entity'), action('participants')])]);
    expect(made.map(({ name }) => name)).toEqual([
      'app_api_single_person__index',
      'app_api_single_person__entity',
      'app_api_single_person_participants',
    ]);
  });
});

describe('paths', () => {
  const paths: [string, ActionDeclaration, string][] = [
    ['_index is at the base path', action('_index'), '/api/person.{_format}'],
    ['_index with a path has it appended', action('_index', { segment: 'foo' }), '/api/person/foo.{_format}'],
    ['_entity has the id', action('_entity'), '/api/person/{id}.{_format}'],
    ['_entity with a path has it after the id', action('_entity', { segment: 'foo' }), '/api/person/{id}/foo.{_format}'],
    ['a single action has id and name', action('join'), '/api/person/{id}/join.{_format}'],
    ['a collection action has its name only', action('stats', { single: false }), '/api/person/stats.{_format}'],
    ['a path takes the place of the name of a single action', action('join', { segment: 'in' }), '/api/person/{id}/in.{_format}'],
    [
      'a path takes the place of the name of a collection action',
      action('stats', { single: false, segment: 'by/year' }),
      '/api/person/by/year.{_format}',
    ],
  ];
  test.each(paths)('%s', (_, given, expected) => {
    expect(records([api('person', [given])])[0]?.path).toBe(expected);
  });
});

describe('requirements', () => {
  const requirementsOf = (given: ActionDeclaration, basePath = '/api/person') =>
    records([api('person', [given], { basePath })])[0]?.requirements;

  test('id is digits unless declared', () => {
    expect(requirementsOf(action('_entity'))).toEqual({ id: '\\d+' });
    expect(requirementsOf(action('_entity', { requirements: { id: '[a-z]+' } }))).toEqual({ id: '[a-z]+' });
  });

  test('a path without id has no id requirement', () => {
    expect(requirementsOf(action('_index', { requirements: { id: '\\d+' } }))).toEqual({});
  });

  test('further placeholders of the base path have one only if declared', () => {
    expect(requirementsOf(action('_entity'), '/api/{tenant}/person')).toEqual({ id: '\\d+' });
    expect(requirementsOf(action('_index', { requirements: { tenant: '[a-z]+' } }), '/api/{tenant}/person')).toEqual({
      tenant: '[a-z]+',
    });
  });

  test('names of Object.prototype are not treated as declared', () => {
    expect(requirementsOf(action('_index'), '/api/{constructor}/person')).toEqual({});
  });
});

describe('handlers and controllers', () => {
  const association = { property: 'participants', types: [] };
  const names: [ActionDeclaration, string][] = [
    [action('_index'), 'indexApi'],
    [action('_entity'), 'entityApi'],
    [action('join'), 'joinApi'],
    [action('participants', { association }), 'addRemoveApi'],
    [action('_index', { controllerAction: 'list' }), 'list'],
    [action('participants', { association, controllerAction: 'mine' }), 'mine'],
  ];
  test.each(names)('%# the handler depends on the action', (given, expected) => {
    expect(handlerName(given)).toBe(expected);
    expect(records([api('person', [given])])[0]?.handler).toBe(expected);
  });

  test('the controller is the declared class, or ApiController', () => {
    const controller = { name: 'PersonController', qualifiedName: 'src/controllers/person#PersonController', value: class {} };
    const made = records([api('a', [action('_index')]), api('b', [action('_index')], { controller })]);
    expect(made.map((record) => record.controller)).toEqual(['ApiController', 'PersonController']);
  });
});

describe('records', () => {
  test('carry the roles of exactly the enabled methods', () => {
    const guarded = { methods: ['GET', 'PATCH'], formats: ['json', 'xml'], roles: { PATCH: 'EDIT', PUT: 'REPLACE' } } as const;
    const [record] = recordsOf({ apis: [api('a', [action('_entity', guarded)], { baseRole: 'BASE' })] });
    expect(record).toMatchObject({
      roles: { GET: ['BASE'], PATCH: ['BASE', 'EDIT'] },
      methods: ['GET', 'PATCH'],
      formats: ['json', 'xml'],
      single: true,
      source: ['app_main', 'apis', 'x', 'actions', '_entity'],
    });
    expect(Object.keys(record?.roles ?? {})).toEqual(['GET', 'PATCH']);
  });

  test('are deeply frozen', () => {
    const made = records([api('a', [action('_entity')])]);
    const [record] = made;
    for (const part of [made, record, record?.methods, record?.requirements, record?.formats, record?.roles, record?.roles.GET]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });
});

describe('definitions of route-loading services', () => {
  test('become records outside of any API', () => {
    const handler = function health() {};
    const record = definition('/health', { name: 'health', methods: ['GET', 'HEAD'], handler, roles: 'ROLE_OPS' });
    expect(record).toMatchObject({
      name: 'health',
      path: '/health',
      methods: ['GET', 'HEAD'],
      requirements: {},
      single: false,
      api: null,
      action: null,
      controller: 'my_loader',
      handler: 'health',
      roles: { GET: ['ROLE_OPS'], HEAD: ['ROLE_OPS'] },
      source: ['mine', 'resource'],
    });
    expect(record.definition?.handler).toBe(handler);
  });

  test('may have a role for some methods only, placeholders and requirements', () => {
    const record = definition('/reports/{year}/{id}.{_format}', {
      methods: ['GET', 'POST'],
      roles: { POST: 'REPORT_MAKE' },
      requirements: { year: '\\d{4}', unused: 'x' },
    });
    expect(record.roles).toEqual({ GET: [], POST: ['REPORT_MAKE'] });
    expect(record.requirements).toEqual({ year: '\\d{4}', id: '\\d+' });
    expect(record.single).toBe(true);
  });

  test('have a handler named handler if the function has no name', () => {
    const made = recordOfDefinition(
      {
        name: 'x',
        path: '/x',
        methods: ['GET'],
        ...{
          handler: (
            () => () =>
              null
          )(),
        },
      },
      { formats: [], controller: 'c', source: [] },
    );
    expect(made.handler).toBe('handler');
  });
});
