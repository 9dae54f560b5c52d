// @module-tag divided
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, describe, expect, test } from 'vitest';
import {
  ApiController,
  type ApplicationOptions,
  Authenticator,
  type Create,
  createServer,
  DeclarationErrors,
  type DenormalizationContext,
  Denormalizer,
  type ModelClass,
  Voter,
} from '../../src/index.ts';
import { blocksOf } from '../docs/markdown.ts';
import { databases, freshDatabase } from '../support/databases.ts';
import { makeTemporary } from '../support/temporary.ts';
import { startApplication } from '../support/testing.ts';

const Shelf = defineEntity({
  name: 'Shelf',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read', 'write') },
});
const Jar = defineEntity({
  name: 'Jar',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    shelf: () => p.manyToOne(Shelf).nullable().groups('read', 'write'),
  },
});

/** What the application needs from outside. */
class Clock {
  readonly calls: string[] = [];
  now(caller: string): string {
    this.calls.push(caller);
    return 'noon';
  }
}

class JarController extends ApiController {
  readonly #clock: Clock;
  constructor(clock: Clock) {
    super();
    this.#clock = clock;
  }
  timeApi() {
    return { time: this.#clock.now('controller') };
  }
}

class JarVoter extends Voter {
  static override roles = ['JAR_SEE'];
  readonly #clock: Clock;
  constructor(clock: Clock) {
    super();
    this.#clock = clock;
  }
  override vote() {
    return this.#clock.now('voter') === 'noon' ? ('grant' as const) : ('deny' as const);
  }
}

class ShelfDenormalizer extends Denormalizer {
  static override properties = ['Jar.shelf'];
  readonly #clock: Clock;
  constructor(clock: Clock) {
    super();
    this.#clock = clock;
  }
  override denormalize(value: unknown, types: readonly ModelClass[], context: DenormalizationContext) {
    this.#clock.now('denormalizer');
    return context.resolve({ id: value }, types);
  }
}

class JarAuthenticator extends Authenticator {
  readonly #clock: Clock;
  constructor(clock: Clock) {
    super();
    this.#clock = clock;
  }
  override authenticate() {
    this.#clock.now('authenticator');
    return null;
  }
}

class JarRoutes {
  readonly #clock: Clock;
  constructor(clock: Clock) {
    this.#clock = clock;
  }
  load() {
    return [{ name: 'clock', path: '/clock', methods: ['GET'], handler: () => ({ time: this.#clock.now('service') }) }];
  }
}

const GET = { methods: { GET: true }, 'single-collection': 'collection' } as const;
const jar = { class: Jar, controller: JarController } as const;
const options = (create: unknown) =>
  ({
    app_main: {
      apis: {
        jar: {
          ...jar,
          base_path: '/jar',
          base_role: 'JAR_SEE',
          actions: { time: GET, _index: { methods: { GET: true, POST: true } } },
        },
        other: { ...jar, base_path: '/other', actions: { time: GET, _index: null } },
        shelf: { class: Shelf, base_path: '/shelf', actions: { _index: { methods: { POST: true } } } },
      },
    },
    routes: {
      app_cruds: { resource: 'app_main_crud_route_loader:load', type: 'service' },
      clock: { resource: 'jar_routes:load', type: 'service' },
    },
    models: [Jar, Shelf],
    controllers: [JarController],
    voters: [JarVoter],
    denormalizers: [ShelfDenormalizer],
    authenticators: [JarAuthenticator],
    services: { jar_routes: JarRoutes },
    create,
  }) as unknown as ApplicationOptions;

describe.each(databases)('a factory on %s', (kind) => {
  test('creates all objects of the application with their dependencies', async () => {
    const database = await freshDatabase(kind);
    const clock = new Clock();
    const made: string[] = [];
    const create: Create = (type) => {
      made.push(type.name);
      return new type(clock);
    };
    const app = await startApplication({ ...options(create), databaseUrl: database.url });
    try {
      expect(made.toSorted()).toEqual([
        'ApiController',
        'JarAuthenticator',
        'JarController',
        'JarController',
        'JarRoutes',
        'JarVoter',
        'ShelfDenormalizer',
      ]);
      expect((await app.request('GET', '/jar/time.json')).json).toEqual({ time: 'noon' });
      expect((await app.request('GET', '/other/time.json')).json).toEqual({ time: 'noon' });
      expect((await app.request('GET', '/clock')).json).toEqual({ time: 'noon' });
      const { json } = await app.request('POST', '/shelf.json', { json: { name: 'top' } });
      const created = await app.request('POST', '/jar.json', { json: { name: 'honey', shelf: json.id } });
      expect([created.status, created.json.shelf]).toEqual([201, { id: json.id, name: 'top' }]);
      expect((await app.request('GET', '/jar.json')).json.count).toBe(1);
      expect(new Set(clock.calls)).toEqual(new Set(['authenticator', 'voter', 'controller', 'service', 'denormalizer']));
      expect(await app.explain('GET', '/jar.json')).toMatchObject({ status: 200 });
    } finally {
      await app.close();
      await database.drop();
    }
  });
});

describe('a factory', () => {
  const failure = (create: unknown) =>
    createServer({ ...options(create), databaseUrl: 'sqlite::memory:' }).then(
      async (app) => app.close().then(() => 'it started'),
      (error: Error) =>
        error instanceof DeclarationErrors ? error.errors.map(({ message }) => message).join('\n') : error.message,
    );
  const clock = new Clock();

  test('that is async is rejected', async () => {
    const asynchronous = await failure(async (type: any) => new type(clock));
    expect(asynchronous).toContain('must return an instance of JarVoter, not a promise');
    const later = async (type: any) => {
      await Promise.resolve();
      return new type(clock);
    };
    const forControllers = await failure((type: any) => (type === JarController ? later(type) : new type(clock)));
    expect(forControllers).toContain('must return an instance of JarController, not a promise');
  });

  test('that returns an instance of another class is rejected', async () => {
    expect(await failure(() => undefined)).toContain('must return an instance of JarVoter; it returned undefined');
    expect(await failure(() => new Clock())).toContain('must return an instance of JarVoter; it returned an instance of Clock');
  });

  test('that throws is reported with the class name', async () => {
    const broken = await failure((type: any) => {
      throw new Error(`no ${type.name} here`);
    });
    expect(broken).toContain('JarVoter cannot be created: no JarVoter here');
    // the role has a voter, which is what is broken
    expect(broken).not.toContain('no voter judges');
  });

  test('that returns the same controller for two APIs is rejected', async () => {
    const made = new Map<unknown, object>();
    const single = (type: any) => {
      if (!made.has(type)) made.set(type, new type(clock));
      return made.get(type);
    };
    expect(await failure(single)).toContain('must construct a JarController itself in each call');
  });
});

describe('src/container of an application on disk', () => {
  const temporary = makeTemporary('container');
  afterAll(() => temporary.remove());
  const write = (name: string, files: Readonly<Record<string, string>>): string => {
    const directory = join(temporary.directory, name);
    const common = {
      'package.json': '{ "type": "module" }',
      'config/routes.yaml': "app_cruds: { resource: 'app_main_crud_route_loader:load', type: service }\n",
      'config/app.yaml':
        "app_main:\n  database: { url: 'sqlite::memory:' }\n  apis:\n    note:\n      class: Note\n      base_path: /note\n      controller: GreetingController\n      actions:\n        greet: { single-collection: collection, methods: { GET: true } }\n",
      'src/models/note.ts':
        "import { defineEntity, p } from '@mikro-orm/core';\nexport const Note = defineEntity({ name: 'Note', properties: { id: p.integer().primary().groups('read') } });\n",
    };
    for (const [file, text] of Object.entries({ ...common, ...files })) {
      mkdirSync(dirname(join(directory, file)), { recursive: true });
      writeFileSync(join(directory, file), text);
    }
    return directory;
  };
  const shown = Object.fromEntries(
    blocksOf('docs/reference/controllers.md').flatMap(({ marks, text }) =>
      marks.file?.startsWith('src/') ? [[marks.file, text]] : [],
    ),
  );

  test('creates controllers as shown in the documentation', async () => {
    expect(Object.keys(shown)).toEqual([
      'src/services/greetings.ts',
      'src/controllers/greeting-controller.ts',
      'src/container.ts',
    ]);
    const app = await startApplication({ directory: write('documented', shown) });
    try {
      expect((await app.request('GET', '/note/greet.json')).json).toEqual({ text: 'Hello, world' });
    } finally {
      await app.close();
    }
  });

  test.each([
    ['export const create = 1;\n', 'must have a function as its default export'],
    ['throw new Error("broken");\n', 'the module cannot be loaded: broken'],
  ])('is reported if it is invalid: %s', async (text, message) => {
    const directory = write(`wrong-${text.length}`, { ...shown, 'src/container.ts': text });
    const error = (await createServer({ directory }).catch((thrown) => thrown)) as DeclarationErrors;
    expect(error.errors.map((each) => each.message).join('\n')).toContain(message);
  });
});
