import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const files = {
  'package.json': '{ "type": "module" }',
  'config/routes.yaml':
    "app_cruds: { resource: 'app_main_crud_route_loader:load', type: service }\nwork: { resource: 'work:load', type: service }\n",
  'src/models/thing.ts': `import { defineEntity, p } from '@mikro-orm/core';
export const Tag = defineEntity({ name: 'Tag', properties: { id: p.integer().primary().groups('read') } });
export const Thing = defineEntity({
  name: 'Thing',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    data: p.json().nullable().groups('write'),
    tags: () => p.manyToMany(Tag).groups('read', 'write'),
  },
});
/** What expensive requests are made of. */
const id = p.integer().primary().groups('read');
export const Text = defineEntity({ name: 'Text', properties: { id, note: p.text().groups('read') } });
export const Large = defineEntity({ name: 'Large', properties: { id, note: p.text().groups('read') } });
export const Read = defineEntity({
  name: 'Read',
  properties: { id, name: p.string().groups('read'), tags: () => p.manyToMany(Tag).groups('read') },
});
/** The same with a version. */
export const Note = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    version: p.integer().version().groups('read'),
    tags: () => p.manyToMany(Tag).groups('read', 'write'),
  },
});
`,
  'src/seed.ts': `import { Note, Tag, Thing } from './models/thing.ts';
export default (em) => {
  for (let id = 1; id <= 200; id++) {
    em.create(Thing, { name: 'thing ' + id });
    em.create(Note, { name: 'note ' + id });
  }
  for (let id = 1; id <= 20; id++) em.create(Tag, {});
};
`,
  'src/services/work.ts': `export const work = { load: () => [{ name: 'work', path: '/work.{_format}', methods: ['GET'], handler: async (request) => {
  const end = performance.now() + Number(request.query.busy ?? 0);
  while (performance.now() < end);
  await new Promise((done) => setTimeout(done, Number(request.query.wait ?? 0)));
  return { done: true };
} }] };
`,
  'src/controllers/fragile-controller.ts': `import { ApiController } from 'declarest';
const die = (request, when) => {
  if (request.headers['x-die'] === when) process.kill(process.pid, 'SIGKILL');
};
export class FragileController extends ApiController {
  beforeSerialize(action, request) {
    die(request, 'before the commit');
  }
  afterCommit(action, request) {
    die(request, 'after the commit');
  }
}
`,
  'src/controllers/read-controller.ts': `import { ApiController } from 'declarest';
/** Restricts its list by a to-many association, so that entities are read. */
export class ReadController extends ApiController {
  customizeQuery(action, request, query) {
    query.andWhere({ tags: { id: { $gt: 0 } } });
  }
  afterFetch() {}
}
`,
  'src/controllers/thing-controller.ts': `import { ApiController } from 'declarest';
export class ThingController extends ApiController {
  async holdApi(request) {
    await this.em.transactional(async (em) => {
      await em.execute('select 1');
      await new Promise((done) => setTimeout(done, Number(request.query.wait ?? 1000)));
    });
    return { done: true };
  }
}
`,
};

/** Writes the tested application with its settings, and returns its directory. */
export function writeApplication(root: string, databaseUrl: string, server: object = {}, database: object = {}): string {
  const directory = mkdtempSync(join(root, 'app-'));
  const declaration = {
    app_main: {
      apis: {
        thing: {
          class: 'Thing',
          controller: 'ThingController',
          base_path: '/thing',
          actions: {
            _index: { methods: { GET: true, POST: true } },
            _entity: { methods: { GET: true, PATCH: true, DELETE: true } },
            hold: { 'single-collection': 'collection', methods: { GET: true } },
            tag: { path: 'tags', association: { property: 'tags' } },
          },
        },
        fragile: {
          class: 'Thing',
          controller: 'FragileController',
          base_path: '/fragile',
          actions: { _index: { methods: { POST: true } }, tag: { path: 'tags', association: { property: 'tags' } } },
        },
        note: {
          class: 'Note',
          base_path: '/note',
          actions: {
            _index: null,
            _entity: { methods: { GET: true, PATCH: true } },
            tag: { path: 'tags', association: { property: 'tags' } },
          },
        },
        text: { class: 'Text', base_path: '/text', filters: { note: ['contains'] }, actions: { _index: null } },
        large: { class: 'Large', base_path: '/large', actions: { _index: null } },
        read: {
          class: 'Read',
          controller: 'ReadController',
          base_path: '/read',
          formats: ['json', 'ndjson'],
          actions: { _index: null },
        },
        guarded: { class: 'Thing', base_path: '/guarded', base_role: 'ROLE_USER', actions: { _index: null } },
      },
      database: { url: databaseUrl, schema: 'update', ...database },
      server,
    },
  };
  for (const [name, text] of Object.entries({ ...files, 'config/app.yaml': JSON.stringify(declaration) })) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  symlinkSync(join(import.meta.dirname, '..', 'node_modules'), join(directory, 'node_modules'));
  return directory;
}
