import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { type AppMain, defineApis, type ListOptions, type Routes } from '../../src/declaration/define-apis.ts';
import { catalogFromCode } from '../../src/declaration/modules.ts';
import { appMain } from '../../src/declaration/schema.ts';
import { fromCode, PersonController } from './application.ts';

const PersonSchema = defineEntity({ name: 'Person', properties: { id: p.integer().primary() } });
class Person extends PersonSchema.class {}
PersonSchema.setClass(Person);
const CenterSchema = defineEntity({ name: 'Center', properties: { id: p.integer().primary() } });

describe('declarations in code', () => {
  const apis = defineApis({
    person: {
      class: Person,
      base_path: '/api/person',
      controller: PersonController,
      actions: { _index: null, friends: { association: { property: 'friends', types: [PersonSchema, 'Center'] } } },
    },
    center: {
      class: CenterSchema,
      base_path: '/api/center',
      actions: { all: { methods: { GET: true }, 'single-collection': 'collection' } },
    },
  });

  test.each([
    ['schemas', [PersonSchema, CenterSchema]],
    ['classes', [Person, CenterSchema.class]],
    ['both', [PersonSchema, Person, CenterSchema, CenterSchema.class]],
  ])('name models by class or schema where the application brings %s', (_, models) => {
    const { declaration, lines } = fromCode({ apis }, { catalog: catalogFromCode({ models, controllers: [PersonController] }) });
    expect(lines).toEqual([]);
    expect(declaration.apis.map((api) => api.class.name)).toEqual(['Person', 'Center']);
    expect(declaration.apis[0]?.actions[1]?.association?.types.map(({ name }) => name)).toEqual(['Person', 'Center']);
  });

  test('are returned as they are', () => {
    expect(defineApis(apis)).toBe(apis);
  });

  test('can have every key that the schema knows', () => {
    const full: Required<AppMain> = {
      apis: [{ name: 'person', class: 'Person', base_path: '/a', actions: { _index: { requirements: [] } } }],
      database: {
        url: 'sqlite::memory:',
        schema: 'none',
        pool: 1,
        connect_timeout: 1,
        statement_timeout: 1,
        prepared_statements: false,
      },
      security: {
        require_role: false,
        strategy: 'consensus',
        role_hierarchy: { A: ['B'] },
        jwt: { secret: 's'.repeat(32), algorithm: 'HS256', issuer: null, audience: 'x', jwks: null },
        api_keys: { a: { key: 'k'.repeat(16), roles: [] } },
        authenticator: null,
      },
      pagination: { items_per_page: 1, max_items_per_page: 2 },
      server: { host: 'localhost', port: 1, base_url: '/x', body_limit: 1 },
      formats: ['json'],
      exports: { at_once: 1, stall_timeout: 0 },
      openapi: {
        enabled: true,
        title: 'x',
        version: '1',
        description: 'x',
        path: '/openapi.json',
        docs: null,
        greeting: false,
      },
    };
    const routes: Routes = { app_cruds: { resource: 'app_main_crud_route_loader:load', type: 'service' } };
    expect(fromCode(full, { catalog: catalogFromCode({ models: [Person] }), routes }).lines).toEqual([]);
    expect(Object.keys(full).sort()).toEqual(Object.keys(appMain.keys).sort());
  });
});

describe('the names of fields in code', () => {
  const Place = defineEntity({ name: 'Place', properties: { id: p.integer().primary(), title: p.string() } });
  const Thing = defineEntity({
    name: 'Thing',
    properties: {
      id: p.integer().primary(),
      size: p.integer().nullable(),
      place: () => p.manyToOne(Place).nullable(),
      kept: () => p.manyToOne(Place).ref(),
      places: () => p.manyToMany(Place),
    },
  });
  const base = { class: Thing, base_path: '/thing', actions: {} } as const;

  test('are those of the model', () => {
    const apis = defineApis({
      thing: {
        ...base,
        filters: { size: ['eq'], 'place.title': ['contains'], 'kept.id': ['in'], 'places.title': ['eq'], place: ['exists'] },
        sort: ['size', 'place.title'],
        search: ['place.title'],
        actions: { _index: { sort: ['id'], search: { fields: ['places.title'], using: 'trigram' } } },
      },
      named: { class: 'Thing', base_path: '/named', filters: { anything: ['eq'] }, actions: { _index: null } },
    });
    expect(Object.keys(apis)).toEqual(['thing', 'named']);
  });

  test('and no others', () => {
    // @ts-expect-error there is no such property
    defineApis({ thing: { ...base, filters: { colour: ['eq'] } } });
    // @ts-expect-error nor there
    defineApis({ thing: { ...base, filters: { 'place.name': ['eq'] } } });
    // @ts-expect-error a list has no such property, its items might
    defineApis({ thing: { ...base, sort: ['places.name'] } });
    // @ts-expect-error in a search
    defineApis({ thing: { ...base, search: ['id', 'name'] } });
    // @ts-expect-error in the mapping of a search
    defineApis({ thing: { ...base, search: { fields: ['name'], using: 'fulltext' } } });
    // @ts-expect-error in an action
    defineApis({ thing: { ...base, actions: { _index: { filters: { name: ['eq'] } } } } });
    // @ts-expect-error an operator that there is not
    defineApis({ thing: { ...base, filters: { size: ['like'] } } });
    // a name that only JSON has
    const list: ListOptions = { filters: { dimension: ['eq'] } };
    expect(defineApis({ thing: { ...base, ...list } })).toBeDefined();
  });
});

describe('the methods of handlers in code', () => {
  class ThingController {
    closeApi(): void {}
    theLoudest(): void {}
    readonly size = 1;
  }
  const base = { class: 'Thing', base_path: '/thing' } as const;

  test('are those of the controller, where it is given itself', () => {
    const apis = defineApis({
      thing: {
        ...base,
        controller: ThingController,
        actions: { close: null, loud: { controller_action: 'theLoudest' }, plain: { controller_action: null } },
      },
      named: { ...base, controller: 'ThingController', actions: { any: { controller_action: 'anything' } } },
    });
    expect(Object.keys(apis)).toEqual(['thing', 'named']);
  });

  test('and no others', () => {
    // @ts-expect-error there is no such method
    defineApis({ thing: { ...base, controller: ThingController, actions: { loud: { controller_action: 'theLouder' } } } });
  });
});

describe('the roles in code', () => {
  class ThingVoter {
    static roles = ['THING_SEE', 'THING_CLOSE'] as const;
  }
  class OtherVoter {
    static roles = ['OTHER_SEE'] as const;
  }
  const known = { voters: [ThingVoter, OtherVoter] } as const;
  const base = { class: 'Thing', base_path: '/thing' } as const;

  test('are those of the voters, where they are given, and those that begin with ROLE_', () => {
    const apis = defineApis(
      {
        thing: {
          ...base,
          base_role: 'THING_SEE',
          actions: {
            _index: null,
            _entity: { methods: { GET: true, DELETE: true }, roles: { GET: null, DELETE: 'ROLE_ADMIN' } },
          },
        },
        other: { ...base, base_role: 'OTHER_SEE', actions: { close: { roles: { POST: 'THING_CLOSE' } } } },
      },
      known,
    );
    expect(apis.thing.base_role).toBe('THING_SEE');
    expect(defineApis({ thing: { ...base, base_role: 'ANYTHING', actions: { _index: null } } }).thing.base_role).toBe('ANYTHING');
  });

  test('and no others', () => {
    // @ts-expect-error no voter judges it
    defineApis({ thing: { ...base, base_role: 'THING_SEEN', actions: { _index: null } } }, known);
    // @ts-expect-error nor this one
    defineApis({ thing: { ...base, actions: { _index: { roles: { GET: 'THING_SEEN' } } } } }, known);
  });
});
