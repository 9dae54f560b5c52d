import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { openApiDocument } from '../../src/openapi/document.ts';
import { databases } from '../support/databases.ts';
import { useApplication } from './fixtures/use-application.ts';

const Crate = defineEntity({
  name: 'Crate',
  properties: { id: p.integer().primary().groups('read'), label: p.string().groups('read', 'write') },
});
const Slot = defineEntity({
  name: 'Slot',
  properties: { id: p.string().primary().groups('read', 'write') },
});

const POST = { methods: { POST: true } } as const;
const crate = { class: Crate } as const;
const slot = { class: Slot, base_path: '/slot' } as const;

const apis = {
  whole: { ...crate, base_path: '/whole', actions: { _index: POST, _entity: { methods: { GET: true } } } },
  alone: { ...crate, base_path: '/alone', actions: { _index: POST } },
  blind: { ...crate, base_path: '/blind', actions: { _index: POST, _entity: { methods: { PATCH: true, HEAD: true } } } },
  other: {
    ...crate,
    base_path: '/other',
    formats: ['json', 'xml'],
    actions: { _index: POST, _entity: { formats: ['xml'], methods: { GET: true } } },
  },
  narrow: {
    ...crate,
    base_path: '/narrow',
    actions: { _index: POST, _entity: { methods: { GET: true }, requirements: { id: '1\\d*' } } },
  },
  placed: {
    ...crate,
    base_path: '/placed/{hall}',
    actions: { _index: POST, _entity: { methods: { GET: true }, requirements: { hall: '[a-z]+' } } },
  },
  slot: { ...slot, actions: { _index: POST, _entity: { methods: { GET: true }, requirements: { id: '[^/]+' } } } },
  // takes the place of the slot "first"
  first: { class: Crate, base_path: '/slot/first', actions: { _index: null } },
} as const;

describe.each(databases)('Location on %s', (kind) => {
  const running = useApplication(kind, { app_main: { apis }, models: [Crate, Slot] });
  const created = async (path: string, json: object = { label: 'x' }) => {
    const { status, headers, json: made } = await running.request('POST', path, { json });
    expect([path, status]).toEqual([path, 201]);
    return { location: headers.get('location'), id: made?.id };
  };
  const described = (path: string): boolean | undefined => {
    const document = openApiDocument(running.app.application, { title: 'x', version: '1' }) as any;
    const header = document.paths[path].post.responses[201].headers.Location;
    return header && (document.components.headers[header.$ref.split('/').at(-1)].required ?? false);
  };

  test('points to the entity, in the requested format or one that the entity has', async () => {
    const { id, location } = await created('/whole.json');
    expect(location).toBe(`/whole/${id}.json`);
    expect((await running.request('GET', location as string)).status).toBe(200);
    const other = await created('/other.json');
    expect(other.location).toBe(`/other/${other.id}.xml`);
    expect((await running.request('GET', other.location as string)).status).toBe(200);
    expect([described('/whole.json'), described('/other.json'), described('/other.xml')]).toEqual([true, true, true]);
  });

  test('is absent if no GET of the entity is declared', async () => {
    expect((await created('/alone.json')).location).toBeNull();
    expect((await created('/blind.json')).location).toBeNull();
    expect([described('/alone.json'), described('/blind.json')]).toEqual([undefined, undefined]);
  });

  test('is absent if a requirement excludes the entity from GET', async () => {
    for (let i = 0; i < 20; i++) {
      const { id, location } = await created('/narrow.json');
      expect(location).toBe(String(id).startsWith('1') ? `/narrow/${id}.json` : null);
    }
    const { id, location } = await created('/placed/north.json');
    expect(location).toBe(`/placed/north/${id}.json`);
    expect((await created('/placed/2.json')).location).toBeNull();
    expect([described('/narrow.json'), described('/placed/{hall}.json')]).toEqual([false, false]);
  });

  test('is absent if another route matches the path, or the id does not fit in a path', async () => {
    expect((await created('/slot.json', { id: 'second' })).location).toBe('/slot/second.json');
    expect((await created('/slot.json', { id: 'first' })).location).toBeNull();
    expect((await created('/slot.json', { id: 'a/b' })).location).toBeNull();
    expect((await created('/slot.json', { id: 'x'.repeat(101) })).location).toBeNull();
    expect(described('/slot.json')).toBe(false);
  });
});
