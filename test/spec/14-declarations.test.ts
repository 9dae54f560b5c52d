import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { loadApplication } from '../../src/application.ts';
import { accessRows } from '../../src/cli/text/access-rows.ts';
import { ApiController, Voter } from '../../src/index.ts';
import { baselineText, readBaseline } from '../../src/inspect/compare/baseline.ts';
import { compareAccess } from '../../src/inspect/compare/compare.ts';
import { accessMatrix } from '../../src/inspect/compare/matrix.ts';
import { clientSource } from '../../src/openapi/client/client.ts';
import { startApplication } from '../support/testing.ts';

const Child = defineEntity({
  name: 'Child',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    thing: () => p.manyToOne(Thing).groups('write'),
  },
});
const Thing = defineEntity({
  name: 'Thing',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    children: () => p.oneToMany(Child).mappedBy('thing').groups('read'),
  },
});

class ThingVoter extends Voter {
  static override roles = ['CHANGE', 'BULK', 'NEST'];
  vote() {
    return 'grant' as const;
  }
}
class Loading extends ApiController {
  override async getEntity(): Promise<never> {
    throw new Error('unused');
  }
}
class Indexing extends ApiController {
  override indexApi() {
    return [];
  }
}

function options({ actions, ...api }: Record<string, any>): any {
  return {
    app_main: {
      database: { url: 'sqlite::memory:', schema: 'update' },
      apis: { thing: { class: 'Thing', base_path: '/api/thing', ...api, actions } },
    },
    models: [Thing, Child],
    voters: [ThingVoter],
    controllers: [Loading, Indexing],
  };
}

const read = { GET: true };
const entity = { methods: { GET: true, PATCH: true, DELETE: true }, roles: { PATCH: 'CHANGE' } };

describe('the declaration of lists', () => {
  test.each([
    [
      'a method without a role or a single form',
      { _index: { bulk: { PATCH: true } }, _entity: { methods: read } },
      'enable PATCH under "methods" of _entity',
    ],
    ['POST without a role or a single form', { _index: { bulk: { POST: true } } }, 'enable POST under "methods" of _index'],
    ['another action', { _entity: { ...entity, bulk: { PATCH: true } } }, '"bulk" is allowed for _index only'],
    ['no method', { _index: { bulk: { max_items: 5 } } }, 'no method of "bulk" is enabled'],
    ['an unknown method', { _index: { bulk: { PUT: true } } }, 'PUT'],
    ['a limit of none', { _index: { methods: { POST: true }, bulk: { POST: true, max_items: 0 } } }, 'an integer from 1'],
    ['a handler', { _index: { controller_action: 'indexApi', bulk: { DELETE: true } }, _entity: entity }, 'exclude each other'],
  ])('refuses %s', async (_, actions, message) => {
    await expect(loadApplication(options({ actions }))).rejects.toThrow(message);
  });

  test.each([
    ['getEntity', 'Loading', 'overrides getEntity'],
    ['indexApi', 'Indexing', 'overrides indexApi'],
  ])('refuses a controller that overrides %s', async (_, controller, message) => {
    const actions = { _index: { methods: read, bulk: { PATCH: true } }, _entity: entity };
    await expect(loadApplication(options({ controller, actions }))).rejects.toThrow(message);
  });

  test.each([
    ['that of the single form', {}, ['CHANGE']],
    ['its own', { roles: { PATCH: 'BULK' } }, ['BULK']],
  ])('the role of a list is %s', async (_, index, roles) => {
    const { records } = await loadApplication(
      options({ actions: { _index: { ...index, methods: read, bulk: { PATCH: true } }, _entity: entity } }),
    );
    const record = records.find(({ action }) => action?.name === '_index');
    expect(record?.methods).toEqual(expect.arrayContaining(['GET', 'PATCH']));
    expect(record?.roles.PATCH).toEqual(roles);
  });
});

describe('the description of lists', () => {
  const index = { methods: { GET: true, POST: true } };
  const bulk = { POST: true, PATCH: true, DELETE: true, max_items: 7 };
  const withoutLists = () => loadApplication(options({ actions: { _index: index, _entity: entity } }));
  const withLists = (nested: object = { children: { role: 'NEST' } }) =>
    loadApplication(options({ nested, actions: { _index: { ...index, bulk }, _entity: entity } }));

  test('the access matrix shows lists and nested rows, and a comparison reports them', async () => {
    const was = accessMatrix(await withoutLists());
    const now = accessMatrix(await withLists());
    const rows = accessRows(now);
    expect(rows.find(({ methods, path }) => methods === 'POST' && path === '/api/thing.{_format}')?.write).toBe(
      'name; rows of children (requires NEST); lists of up to 7 rows',
    );
    expect(rows.find(({ methods, path }) => methods.includes('PATCH') && path === '/api/thing.{_format}')?.roles).toContain(
      'CHANGE',
    );
    const { opened } = compareAccess(readBaseline(baselineText(was)), now);
    const texts = opened.map(({ subject, text }) => `${subject} ${text}`);
    expect(texts).toContain('POST /api/thing.{_format} accepts lists now');
    expect(texts).toContain('POST /api/thing.{_format} creates rows of children requires NEST now');
    expect(texts.some((text) => text.startsWith('PATCH /api/thing.{_format} is new: requires CHANGE'))).toBe(true);
    const open = accessMatrix(await withLists({ children: {} }));
    const further = compareAccess(readBaseline(baselineText(now)), open);
    expect(further.opened.map(({ text }) => text)).toEqual(['creates rows of children now, was children requires NEST']);
    expect(compareAccess(readBaseline(baselineText(open)), now).opened).toEqual([]);
  });

  test('the document and the client have lists', async () => {
    const app = await startApplication(
      options({ nested: { children: {} }, actions: { _index: { ...index, bulk }, _entity: entity } }),
    );
    const { json: document } = await app.request('GET', '/openapi.json');
    const { patch, post } = document.paths['/api/thing.json'];
    expect(post.requestBody.content['application/json'].schema.oneOf).toHaveLength(2);
    expect(patch.requestBody.content['application/json'].schema).toMatchObject({ type: 'array', maxItems: 7 });
    expect(Object.keys(patch.responses)).toEqual(expect.arrayContaining(['404', '413', '412']));
    const source = clientSource(document, app.application.records);
    expect(source).toContain('create: (body: ThingNestedCreate, ');
    expect(source).toContain('createMany: (body: ThingNestedCreate[], ');
    expect(source).toMatch(/updateMany: \(body: ThingPatchItem\[\], .*Promise<ThingRows>/);
    expect(source).toMatch(/deleteMany: \(body: ThingDeleteItem\[\], .*Promise<void>/);
    const explained = await app.explain('POST', '/api/thing.json', { json: [{ name: 'a' }] });
    expect(explained).toBeDefined();
    expect(await app.explain('PATCH', '/api/thing.json', { json: [{ id: 1 }] })).toBeDefined();
    await app.close();
  });
});
