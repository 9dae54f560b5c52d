import { defineEntity, EntitySchema, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import type { ApiController } from '../../src/actions/controller/api-controller.ts';
import { type Apis, type AppMain, defineApis, type ListOptions, type Routes } from '../../src/declaration/define-apis.ts';
import { catalogFromCode } from '../../src/declaration/modules/modules.ts';
import type { BaseMethod, MethodsOf } from '../../src/declaration/names/handler-names.ts';
import { appMain } from '../../src/declaration/schema/schema.ts';
import { freshDatabase } from '../support/databases.ts';
import { startApplication } from '../support/testing.ts';
import { fromCode, PersonController } from './application.ts';

type Same<A, B> = [A, B] extends [B, A] ? true : false;

const PersonSchema = defineEntity({
  name: 'Person',
  properties: { id: p.integer().primary(), friends: () => p.manyToMany(Person) },
});
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
      controller: 'PersonController',
      actions: { all: { methods: { GET: true }, 'single-collection': 'collection' } },
    },
  });

  test.each([
    ['schemas', [PersonSchema, CenterSchema]],
    ['classes', [Person, CenterSchema.class]],
    ['both', [PersonSchema, Person, CenterSchema, CenterSchema.class]],
  ])('name models by class or schema if the application has %s', (_, models) => {
    const { declaration, lines } = fromCode({ apis }, { catalog: catalogFromCode({ models, controllers: [PersonController] }) });
    expect(lines).toEqual([]);
    expect(declaration.apis.map((api) => api.class.name)).toEqual(['Person', 'Center']);
    expect(declaration.apis[0]?.actions[1]?.association?.types.map(({ name }) => name)).toEqual(['Person', 'Center']);
  });

  test('are returned unchanged', () => {
    expect(defineApis(apis)).toBe(apis);
  });

  test('can have every key of the schema', () => {
    const full: Required<AppMain> = {
      apis: [{ name: 'person', class: 'Person', base_path: '/a', actions: { _index: { requirements: [] } } }],
      database: {
        url: 'sqlite::memory:',
        schema: 'none',
        pool: 1,
        connect_timeout: 1,
        statement_timeout: 1,
        prepared_statements: false,
        pooler: 'transaction',
        replicas: [],
        replica_max_lag: 1,
      },
      groups: { 'read:medical': { role: 'PERSON_MEDICAL' } },
      orm: null,
      security: {
        require_role: false,
        strategy: 'consensus',
        role_hierarchy: { A: ['B'] },
        jwt: { secret: 's'.repeat(32), algorithm: 'HS256', issuer: null, audience: 'x', jwks: null },
        api_keys: { a: { key: 'k'.repeat(16), roles: [] } },
        sample_users: { Ada: { id: 1, roles: ['A'], claims: { tenants: [1] } } },
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
      explorer: { login: '/login' },
    };
    const routes: Routes = { app_cruds: { resource: 'app_main_crud_route_loader:load', type: 'service' } };
    expect(fromCode(full, { catalog: catalogFromCode({ models: [Person] }), routes }).lines).toEqual([]);
    expect(Object.keys(full).sort()).toEqual(Object.keys(appMain.keys).sort());
  });
});

describe('the field names in code', () => {
  const Address = defineEntity({
    name: 'Address',
    embeddable: true,
    properties: { zip: p.string().nullable().groups('read').serializedName('postal_code') },
  });
  const Place = defineEntity({
    name: 'Place',
    properties: { id: p.integer().primary().groups('read'), title: p.string().groups('read').serializedName('label') },
  });
  const Thing = defineEntity({
    name: 'Thing',
    properties: {
      id: p.integer().primary().groups('read'),
      size: p.integer().nullable().groups('read').serializedName('dimension'),
      place: () => p.manyToOne(Place).nullable().groups('read').serializedName('location'),
      kept: () => p.manyToOne(Place).ref().nullable().groups('read'),
      places: () => p.manyToMany(Place).groups('read'),
      address: () => p.embedded(Address).groups('read'),
    },
  });
  const base = { class: Thing, base_path: '/thing', actions: {} } as const;

  test('are the JSON names, which the server accepts too; default_sort uses model names', async () => {
    const apis = defineApis({
      thing: {
        ...base,
        filters: {
          dimension: ['eq'],
          'location.label': ['contains'],
          'kept.id': ['in'],
          'places.label': ['eq'],
          location: ['exists'],
          'address.postal_code': ['eq'],
        },
        sort: ['dimension', 'location.label'],
        search: ['location.label'],
        default_sort: ['-size', 'place.title', 'kept.title', 'address.zip'],
        actions: { _index: { sort: ['id'], search: { fields: ['places.label'], using: 'like' } } },
      },
    });
    const database = await freshDatabase('sqlite');
    const app = await startApplication({ app_main: { apis }, models: [Thing, Place, Address], databaseUrl: database.url });
    await app.close();
    await database.drop();
    expect(Object.keys(apis)).toEqual(['thing']);
  });

  test('exclude all others', () => {
    // @ts-expect-error there is no such property
    defineApis({ thing: { ...base, filters: { colour: ['eq'] } } });
    // @ts-expect-error it has another name in JSON
    defineApis({ thing: { ...base, filters: { size: ['eq'] } } });
    // @ts-expect-error nor there
    defineApis({ thing: { ...base, filters: { 'location.name': ['eq'] } } });
    // @ts-expect-error a list has no such property, its items might
    defineApis({ thing: { ...base, sort: ['places.name'] } });
    // @ts-expect-error in a search
    defineApis({ thing: { ...base, search: ['id', 'name'] } });
    // @ts-expect-error in the mapping of a search
    defineApis({ thing: { ...base, search: { fields: ['name'], using: 'fulltext' } } });
    // @ts-expect-error in the order that is the default, which has the names of the model
    defineApis({ thing: { ...base, default_sort: ['-dimension'] } });
    // @ts-expect-error in an action
    defineApis({ thing: { ...base, actions: { _index: { filters: { name: ['eq'] } } } } });
    // @ts-expect-error in a list of APIs
    defineApis([{ name: 'thing', ...base, sort: ['name'] }]);
    // @ts-expect-error an operator that there is not
    defineApis({ thing: { ...base, filters: { dimension: ['like'] } } });
    expect.assertions(0);
  });

  test('are not restricted if the type does not know them', () => {
    class Plain {
      id = 1;
    }
    class Empty {}
    class Described {
      id = 1;
    }
    const Animal = defineEntity({
      name: 'Animal',
      discriminatorColumn: 'type',
      properties: { id: p.integer().primary(), type: p.enum(['dog', 'cat']), owner: () => p.manyToOne(Plain) },
    });
    const renamed: string = 'size';
    const Renamed = defineEntity({
      name: 'Renamed',
      properties: { id: p.integer().primary(), size: p.integer().serializedName(renamed), plain: () => p.manyToOne(Plain) },
    });
    const Owner = defineEntity({
      name: 'Owner',
      properties: { id: p.integer().primary(), plain: () => p.manyToOne(Plain), far: { kind: 'm:1', entity: () => Place } },
    });
    const any: any = Thing;
    const rest = { base_path: '/x', filters: { anything: ['eq'] }, sort: ['any.thing'], actions: { _index: null } } as const;
    const list: ListOptions = { filters: { anything: ['eq'] } };
    const apis: Apis = { thing: { ...base, ...list } };
    expect(defineApis({ thing: { ...base, ...list } })).toBeDefined();
    expect(defineApis({ thing: { ...base, sort: [renamed] } })).toBeDefined();
    expect(defineApis(apis)).toBe(apis);
    const friends = { ...rest, actions: { friends: { association: { property: 'friends' } } } } as const;
    const known = defineApis({
      named: { class: 'Thing', ...rest },
      namedFriends: { class: 'Thing', ...friends },
      plain: { class: Plain, ...rest },
      plainFriends: { class: Plain, ...friends },
      empty: { class: Empty, ...rest },
      described: { class: defineEntity({ class: Described, properties: { id: p.integer().primary() } }), ...rest },
      schema: { class: new EntitySchema<{ id: number }>({ name: 'Schema', properties: { id: { type: 'number' } } }), ...rest },
      // those that inherit from it can have more
      animal: { class: Animal, ...rest },
      animalClass: { class: Animal.class, ...friends },
      renamed: { class: Renamed, ...rest, sort: ['anything'] },
      any: { class: any, ...rest },
      beyond: { class: Owner, base_path: '/owner', filters: { 'plain.any.thing': ['eq'], 'far.any': ['eq'] }, actions: {} },
    });
    expect(known).toBeDefined();
  });

  test('include inherited ones', () => {
    const Base = defineEntity({
      name: 'Base',
      abstract: true,
      properties: { id: p.integer().primary(), made: p.datetime().serializedName('created') },
    });
    const Child = defineEntity({ name: 'Child', extends: Base, properties: { label: p.string() } });
    class Grown extends Child.class {
      shout(): string {
        return this.label.toUpperCase();
      }
    }
    expect(
      defineApis({
        child: { class: Child, base_path: '/child', sort: ['id', 'created', 'label'], actions: { _index: null } },
        grown: { class: Grown, base_path: '/grown', sort: ['id', 'created', 'label'], actions: { _index: null } },
      }),
    ).toBeDefined();
    // @ts-expect-error it has another name in JSON
    defineApis({ grown: { class: Grown, base_path: '/grown', sort: ['made'], actions: { _index: null } } });
    // @ts-expect-error a method is no field
    defineApis({ grown: { class: Grown, base_path: '/grown', sort: ['shout'], actions: { _index: null } } });
  });
});

describe('the associations in code', () => {
  const Place = defineEntity({ name: 'Place', properties: { id: p.integer().primary() } });
  const schema = defineEntity({
    name: 'Thing',
    properties: {
      id: p.integer().primary(),
      place: () => p.manyToOne(Place),
      places: () => p.manyToMany(Place).serializedName('locations'),
      parts: () => p.oneToMany(Place).mappedBy('id'),
    },
  });
  class Thing extends schema.class {
    addPerson(_: object): void {}
    removePerson(_: object): void {}
    addBox(_: object): void {}
    removeBox(_: object): void {}
    addHalf(_: object): void {}
  }
  const rest = { base_path: '/thing' } as const;

  test('are to-many associations by their model names, and those the model has methods for', () => {
    const apis = defineApis({
      thing: {
        ...rest,
        class: Thing,
        actions: {
          place: { association: { property: 'places' } },
          part: { association: { property: 'parts' } },
          person: { association: { property: 'people', types: [Place] } },
          box: { association: { property: 'boxes', types: [Place] } },
          none: { association: null, controller_action: 'noneApi' },
        },
        controller: 'ThingController',
      },
      // its class may bring methods
      schema: { ...rest, class: schema, actions: { person: { association: { property: 'people', types: [Place] } } } },
    });
    expect(Object.keys(apis)).toEqual(['thing', 'schema']);
  });

  test('exclude all others', () => {
    // @ts-expect-error there is none
    defineApis({ thing: { ...rest, class: Thing, actions: { owner: { association: { property: 'owners' } } } } });
    // @ts-expect-error this one is to one
    defineApis({ thing: { ...rest, class: Thing, actions: { place: { association: { property: 'place' } } } } });
    // @ts-expect-error this is its name in JSON
    defineApis({ thing: { ...rest, class: Thing, actions: { place: { association: { property: 'locations' } } } } });
    // @ts-expect-error it can be added to only
    defineApis({ thing: { ...rest, class: Thing, actions: { half: { association: { property: 'halves' } } } } });
    expect.assertions(0);
  });
});

describe('the handler methods in code', () => {
  class ThingController {
    closeApi(): void {}
    theLoudest(): void {}
    plainApi(): void {}
    readonly size = 1;
  }
  const base = { class: 'Thing', base_path: '/thing' } as const;

  test('are the methods of the controller if its class is given', () => {
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

  test('exclude all others', () => {
    // @ts-expect-error there is no such method
    defineApis({ thing: { ...base, controller: ThingController, actions: { loud: { controller_action: 'theLouder' } } } });
    // @ts-expect-error nor one that is called as its action
    defineApis({ thing: { ...base, controller: ThingController, actions: { open: null } } });
    // @ts-expect-error it is no method
    defineApis({ thing: { ...base, controller: ThingController, actions: { size: { controller_action: 'size' } } } });
    // @ts-expect-error the default controller handles no custom action
    defineApis({ thing: { ...base, actions: { open: { methods: { GET: true } } } } });
    // @ts-expect-error and has no methods of an application
    defineApis({ thing: { ...base, controller: null, actions: { _index: { controller_action: 'openApi' } } } });
    expect.assertions(0);
  });

  test('exclude exactly the methods of the base controller', () => {
    const same: Same<BaseMethod, MethodsOf<ApiController>> = true;
    expect(same).toBe(true);
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

  test('are the roles of the given voters, and names that begin with ROLE_', () => {
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
        other: {
          ...base,
          controller: 'ThingController',
          base_role: 'OTHER_SEE',
          actions: { close: { roles: { POST: 'THING_CLOSE' } } },
        },
      },
      known,
    );
    expect(apis.thing.base_role).toBe('THING_SEE');
    expect(defineApis({ thing: { ...base, base_role: 'ANYTHING', actions: { _index: null } } }).thing.base_role).toBe('ANYTHING');
  });

  test('exclude all others', () => {
    // @ts-expect-error no voter judges it
    defineApis({ thing: { ...base, base_role: 'THING_SEEN', actions: { _index: null } } }, known);
    // @ts-expect-error nor this one
    defineApis({ thing: { ...base, actions: { _index: { roles: { GET: 'THING_SEEN' } } } } }, known);
    expect.assertions(0);
  });
});
