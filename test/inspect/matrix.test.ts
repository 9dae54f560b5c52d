import { join } from 'node:path';
import { defineEntity, p } from '@mikro-orm/core';
import { beforeAll, describe, expect, test } from 'vitest';
import { type CodeOptions, loadApplication } from '../../src/application.ts';
import { ApiController, Denormalizer, type User, Voter } from '../../src/index.ts';
import { type AccessMatrix, accessMatrix, type RouteAccess } from '../../src/inspect/compare/matrix.ts';

const example = join(import.meta.dirname, '..', '..', 'examples', 'courses');

function entry({ routes }: AccessMatrix, method: string, path: string): RouteAccess {
  const found = routes.find((route) => route.method === method && route.path === path);
  if (!found) throw new Error(`there is no ${method} ${path} among ${routes.map((route) => `${route.method} ${route.path}`)}`);
  return found;
}

const labels = ({ fields }: RouteAccess['read']) => fields.map(({ label }) => label);

describe('the matrix of the example', () => {
  let matrix: AccessMatrix;

  beforeAll(async () => {
    matrix = accessMatrix(await loadApplication({ directory: example, env: {} }));
  });

  test('has an entry for each route and method, in matching order', () => {
    expect(matrix.routes.slice(0, 6).map(({ method, path, action }) => `${method} ${path} ${action}`)).toEqual([
      'GET /api/center.{_format} list',
      'HEAD /api/center.{_format} list',
      'GET /api/person.{_format} list',
      'HEAD /api/person.{_format} list',
      'POST /api/person.{_format} create',
      'GET /api/person/{id}.{_format} fetch',
    ]);
  });

  test('is plain data', () => {
    expect(JSON.parse(JSON.stringify(matrix))).toEqual(matrix);
  });

  test('shows the voters of each role and the place of its declaration', () => {
    const { roles, public: open } = entry(matrix, 'DELETE', '/api/person/{id}.{_format}');
    expect(open).toBe(false);
    expect(roles).toEqual([
      { role: 'PERSON_SEE', voters: ['PersonVoter'], place: 'config/apis.yaml:19:18' },
      { role: 'ROLE_ADMIN', voters: ['RoleVoter'], place: 'config/apis.yaml:37:87' },
    ]);
  });

  test('shows PUBLIC for routes without a role', () => {
    expect(entry(matrix, 'HEAD', '/api/center.{_format}')).toMatchObject({ public: true, roles: [] });
    expect(matrix.routes.filter((route) => route.public).map(({ path }) => path)).toEqual([
      '/api/center.{_format}',
      '/api/center.{_format}',
    ]);
  });

  test('follows embedded associations, and separates the classes of polymorphic rows', () => {
    const { read } = entry(matrix, 'GET', '/api/course/{id}.{_format}');
    expect(labels(read)).toEqual(
      expect.arrayContaining([
        'center.name',
        'referrer.centers[].name',
        'participations[].person.address.city',
        'requestor.Person:firstName',
        'requestor.ThirdParty:telephone',
      ]),
    );
    expect(read.fields.map(({ path }) => path)).toContain('requestor.telephone');
    expect(labels(read).filter((label) => label.includes('nationalNumber'))).toEqual([]);
  });

  test('shows the class, the group and the line of each field', () => {
    const { read } = entry(matrix, 'GET', '/api/course/{id}.{_format}');
    expect(read.fields.find(({ label }) => label === 'participations[].person.center.name')).toEqual({
      path: 'participations[].person.center.name',
      label: 'participations[].person.center.name',
      kind: 'value',
      references: [],
      madeBy: null,
      isEmbedded: true,
      roles: [],
      groups: ['read'],
      model: 'Center',
      property: 'name',
      place: 'src/models/center.ts:7',
    });
  });

  test('points at the line of the groups if a property spans several lines', () => {
    const { read } = entry(matrix, 'GET', '/api/document.{_format}');
    expect(read.fields.find(({ label }) => label === 'Note:id')).toMatchObject({ place: 'src/models/document.ts:13' });
    expect(read.fields.find(({ label }) => label === 'Letter:created')).toMatchObject({ place: 'src/models/document.ts:19' });
  });

  test('lists body fields, with the classes of a reference and its denormalizer', () => {
    const { write } = entry(matrix, 'PATCH', '/api/course/{id}.{_format}');
    expect(write.fields.map(({ label, references, madeBy }) => [label, references, madeBy])).toEqual([
      ['title', [], null],
      ['confidential', [], null],
      ['referrer', ['User'], null],
      ['requestor', ['Person', 'ThirdParty'], 'RequestorDenormalizer'],
      ['tags[]', ['Tag'], null],
    ]);
    expect(labels(entry(matrix, 'GET', '/api/course/{id}.{_format}').write)).toEqual([]);
    expect(labels(entry(matrix, 'POST', '/api/document.{_format}').write)).toEqual([
      'Letter:title',
      'Letter:recipient',
      'Letter:postage',
      'Note:title',
      'Note:text',
    ]);
  });

  test('shows that adding and removing accept a reference and return the item', () => {
    const { write, read } = entry(matrix, 'POST', '/api/course/{id}/tags.{_format}');
    expect(write.fields).toMatchObject([{ label: '', kind: 'reference', references: ['Tag'] }]);
    expect(labels(read)).toEqual(['id', 'label']);
  });

  test('shows if a handler decides', () => {
    const close = entry(matrix, 'POST', '/api/course/{id}/close.{_format}');
    expect(close).toMatchObject({
      action: 'handler',
      handler: { value: 'CourseController.closeApi', place: 'src/controllers/course-controller.ts:13' },
      read: { fields: [], decidedBy: 'CourseController.closeApi' },
      write: { fields: [], decidedBy: 'CourseController.closeApi' },
    });
    expect(entry(matrix, 'GET', '/api/status.{_format}')).toMatchObject({
      action: 'service',
      roles: [{ role: 'ROLE_USER', place: 'src/services/status-routes.ts:11' }],
      read: { decidedBy: 'app_status_routes.handler' },
    });
  });

  test('shows row restrictions, also those of a handler without an id, and none for new rows', () => {
    const restricted = { value: 'PersonController.customizeQuery', place: 'src/controllers/person-controller.ts:7' };
    expect(entry(matrix, 'DELETE', '/api/person/{id}.{_format}').restricted).toEqual(restricted);
    expect(entry(matrix, 'GET', '/api/person.{_format}').restricted).toEqual(restricted);
    expect(entry(matrix, 'POST', '/api/person.{_format}').restricted).toBeNull();
    expect(entry(matrix, 'GET', '/api/course/mine.{_format}').restricted?.value).toBe('CourseController.customizeQuery');
    expect(entry(matrix, 'GET', '/api/tag.{_format}').restricted).toBeNull();
  });

  test('shows no fields for DELETE', () => {
    expect(entry(matrix, 'DELETE', '/api/person/{id}.{_format}')).toMatchObject({
      read: { fields: [], decidedBy: null },
      write: { fields: [], decidedBy: null },
    });
  });

  test('has each model with the fields of its groups, whether or not a route shows them', () => {
    const person = matrix.models.find(({ model }) => model === 'Person');
    expect(Object.keys(person?.groups ?? {})).toEqual(['read', 'write']);
    expect(person?.groups.write?.map(({ name }) => name)).toEqual([
      'firstName',
      'lastName',
      'birthdate',
      'email',
      'address',
      'center',
    ]);
    expect(matrix.models.map(({ model }) => model)).toEqual(expect.arrayContaining(['Address', 'Participation', 'Note']));
  });

  test('has the settings that apply to every route', () => {
    expect(matrix.settings.strategy.value).toBe('affirmative');
    expect(matrix.settings.hierarchy.map(({ role, includes, direct }) => [role, includes, direct])).toEqual([
      ['ROLE_ADMIN', 'ROLE_SUPERVISOR', true],
      ['ROLE_ADMIN', 'ROLE_USER', false],
      ['ROLE_SUPERVISOR', 'ROLE_USER', true],
    ]);
    expect(matrix.settings.tokens.issuer).toEqual({ value: 'courses', place: 'config/app.yaml:13:15' });
    expect(matrix.settings.tokens.audience.value).toBeNull();
    expect(matrix.settings.judges.find(({ role }) => role === 'PERSON_SEE')?.voters).toEqual([
      { value: 'PersonVoter', place: 'src/voters/person-voter.ts:7' },
    ]);
  });
});

describe('the matrix of an application in code', () => {
  class OpenVoter extends Voter {
    static override roles = ['THING_SEE'];
    override vote(_role: string, _subject: unknown, _user: User | null) {
      return 'grant' as const;
    }
  }

  const thing = defineEntity({
    name: 'Thing',
    properties: {
      id: p.string().length(10).primary().groups('read', 'write'),
      name: p.string().serializedName('label').groups('read', 'write', 'extra'),
      parent: () => p.manyToOne(Thing).nullable().groups('read', 'write'),
      children: () => p.oneToMany(Thing).mappedBy('parent').groups('read'),
      data: p.json().nullable().groups('read'),
      secret: p.string().hidden().groups('read', 'write'),
      none: p.string().nullable(),
    },
  });
  class Thing extends thing.class {
    addChild(child: Thing) {
      this.children.add(child);
      return this;
    }
  }
  thing.setClass(Thing);

  class ThingController extends ApiController<Thing> {
    override indexApi() {
      return [];
    }
    override beforeSerialize() {}
  }

  class ParentDenormalizer extends Denormalizer {
    static override properties = ['Thing.parent'];
    override denormalize() {
      return null;
    }
  }

  const options: CodeOptions = {
    models: [Thing],
    controllers: [ThingController],
    voters: [OpenVoter],
    denormalizers: [ParentDenormalizer],
    app_main: {
      database: { url: 'sqlite::memory:' },
      apis: {
        thing: {
          class: 'Thing',
          base_path: '/thing',
          base_role: 'THING_SEE',
          actions: {
            _index: { methods: { GET: true, POST: true, DELETE: true } },
            _entity: { methods: { GET: true, PUT: true, POST: true }, requirements: { id: '[a-z]+' } },
            children: { association: { property: 'children' }, methods: { POST: true, DELETE: true, PATCH: true } },
          },
        },
        own: { class: 'Thing', base_path: '/own', controller: 'ThingController', actions: { _index: null } },
      },
    },
  };

  let matrix: AccessMatrix;
  beforeAll(async () => {
    matrix = accessMatrix(await loadApplication(options));
  });

  test('identifies places by dotted paths', () => {
    const { place, roles, requirements } = entry(matrix, 'PUT', '/thing/{id}.{_format}');
    expect(place).toBe('app_main.apis.thing.actions._entity.methods.PUT');
    expect(roles).toEqual([{ role: 'THING_SEE', voters: ['OpenVoter'], place: 'app_main.apis.thing.base_role' }]);
    expect(requirements).toEqual({ id: { value: '[a-z]+', place: 'app_main.apis.thing.actions._entity.requirements.id' } });
    expect(entry(matrix, 'GET', '/thing.{_format}').read.fields[0]?.place).toBe('Thing.id');
  });

  test('uses JSON names, cuts recursion, and omits fields that are hidden or in no group', () => {
    expect(entry(matrix, 'GET', '/thing.{_format}').read.fields.map(({ label, kind, madeBy }) => [label, kind, madeBy])).toEqual([
      ['id', 'value', null],
      ['label', 'value', null],
      ['parent', 'object', null],
      ['parent.id', 'value', null],
      ['children[]', 'list', null],
      ['children[].id', 'value', null],
      ['data', 'value', 'Thing.data'],
    ]);
  });

  test('lets a key be set on creation, and not later', () => {
    expect(labels(entry(matrix, 'POST', '/thing.{_format}').write)).toEqual(['id', 'label', 'parent']);
    expect(labels(entry(matrix, 'PUT', '/thing/{id}.{_format}').write)).toEqual(['label', 'parent']);
    expect(entry(matrix, 'PUT', '/thing/{id}.{_format}').write.fields[1]?.madeBy).toBe('ParentDenormalizer');
  });

  test('lists methods that are enabled but not supported', () => {
    const unsupported = matrix.routes.filter(({ action }) => action === 'unsupported');
    expect(unsupported.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'DELETE /thing.{_format}',
      'POST /thing/{id}.{_format}',
      'PATCH /thing/{id}/children.{_format}',
    ]);
    for (const { read, write } of unsupported) expect([read, write]).toEqual([nothing, nothing]);
  });
  const nothing = { fields: [], decidedBy: null };

  test('names the model method that decides the response to adding', () => {
    expect(entry(matrix, 'POST', '/thing/{id}/children.{_format}').read).toEqual({ fields: [], decidedBy: 'Thing.addChild' });
    expect(labels(entry(matrix, 'DELETE', '/thing/{id}/children.{_format}').read)).toContain('label');
  });

  test('detects a controller that overrides a default action, and its hooks', () => {
    const own = entry(matrix, 'GET', '/own.{_format}');
    expect(own).toMatchObject({ action: 'handler', read: { fields: [], decidedBy: 'ThingController.indexApi' }, public: true });
    expect(own.hooks.map(({ value }) => value)).toEqual(['ThingController.beforeSerialize']);
  });

  test('has every group of a model', () => {
    expect(matrix.models[0]?.groups.extra?.map(({ name, property }) => [name, property])).toEqual([['label', 'name']]);
    expect(JSON.stringify(matrix.models[0]?.groups)).not.toContain('secret');
    expect(matrix.models[0]?.closed.map(({ name }) => name)).toEqual(['secret', 'none']);
  });
});
