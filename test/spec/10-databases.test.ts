import { existsSync, mkdtempSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { defineEntity, p } from '@mikro-orm/core';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import { ApiController, type ApiRequest, type CodeOptions } from '../../src/index.ts';
import { type DatabaseKind, databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { makeTemporary } from '../support/temporary.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';
import { call, type Served, serve, zooDirectory, zooSecret } from './fixtures/zoo.ts';

const temporary = makeTemporary('spec-10');
afterAll(() => temporary.remove());

const Shelf = defineEntity({
  name: 'Shelf',
  properties: { id: p.integer().primary().groups('read'), label: p.string().groups('read', 'write') },
});

const Crate = defineEntity({
  name: 'Crate',
  properties: {
    id: p.integer().primary().groups('read'),
    label: p.string().groups('read', 'write'),
    grams: p.bigint().nullable().groups('read', 'write'),
    shelf: () => p.manyToOne(Shelf).nullable().deferMode('deferred').groups('read', 'write'),
  },
});

/** Lets a test hold a transaction open and end it when it likes. */
const held = { begun: () => {}, end: Promise.resolve() };

class CrateController extends ApiController {
  relabelApi(_request: ApiRequest) {
    return this.em.transactional(async (em) => {
      await em.nativeUpdate(Crate, {}, { label: 'changed' });
      held.begun();
      await held.end;
      return { relabelled: true };
    });
  }

  /** What breaks the foreign key comes out when the transaction is to be committed, not before. */
  orphanApi(_request: ApiRequest) {
    return this.em.transactional(async (em) => {
      await em.execute("insert into crate (label, shelf_id) values ('orphan', 4711)");
      return { orphaned: true };
    });
  }
}

const options: CodeOptions = {
  app_main: {
    apis: {
      crate: {
        class: Crate,
        base_path: '/crate',
        controller: CrateController,
        actions: {
          _index: { methods: { GET: true, POST: true } },
          _entity: { methods: { GET: true, PATCH: true, DELETE: true } },
          relabel: { methods: { POST: true }, 'single-collection': 'collection' },
          orphan: { methods: { POST: true }, 'single-collection': 'collection' },
        },
      },
      shelf: { class: Shelf, base_path: '/shelf', actions: { _index: { methods: { GET: true, POST: true } } } },
    },
  },
  models: [Crate, Shelf],
  controllers: [CrateController],
};

const running: TestApplication[] = [];
afterEach(async () => {
  for (const app of running.splice(0)) await app.close();
});

/** Starts an application that is closed after the test. */
async function start(given: CodeOptions): Promise<TestApplication> {
  const app = await startApplication(given);
  running.push(app);
  return app;
}

const at = (url: string, more: object = {}) => ({ ...options.app_main, database: { url, ...more } });

describe.each(databases)('a database on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;

  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication({ ...options, databaseUrl: database.url });
    await app.request('POST', '/crate.json', { json: { label: 'first' } });
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  test('is of the kind that the URL names', async () => {
    const sql = kind === 'sqlite' ? 'select sqlite_version() as version' : 'select version() as version';
    const [row] = await app.application.mapper.em.fork().execute(sql);
    expect(row?.version).toMatch(kind === 'sqlite' ? /^3\./ : /^PostgreSQL 1\d/);
  });

  test('serves reads during an open write transaction, and shows only committed data', async () => {
    let end = () => {};
    held.end = new Promise((resolve) => {
      end = () => resolve();
    });
    const begun = new Promise<void>((resolve) => {
      held.begun = resolve;
    });
    const writing = app.request('POST', '/crate/relabel.json');
    await begun;
    const before = await Promise.all([app.request('GET', '/crate/1.json'), app.request('GET', '/crate.json')]);
    expect(before.map(({ status }) => status)).toEqual([200, 200]);
    expect(before[0]?.json.label).toBe('first');
    expect(before[1]?.json.results[0].label).toBe('first');
    // A second write waits for its turn and is not lost.
    const second = app.request('POST', '/shelf.json', { json: { label: 'later' } });
    end();
    expect((await writing).json).toEqual({ relabelled: true });
    expect((await second).status).toBe(201);
    expect((await app.request('GET', '/crate/1.json')).json.label).toBe('changed');
  });

  test('keeps working after a transaction that fails on commit', async () => {
    const { status, json } = await app.request('POST', '/crate/orphan.json');
    expect([status, json.code]).toEqual([409, 'conflict_reference']);
    expect((await app.request('POST', '/shelf.json', { json: { label: 'after' } })).status).toBe(201);
    const { json: crates } = await app.request('GET', '/crate.json');
    expect(crates.results.map(({ label }: { label: string }) => label)).not.toContain('orphan');
  });

  test('accepts many concurrent writes', async () => {
    const before = (await app.request('GET', '/shelf.json')).json.count;
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => app.request('POST', '/shelf.json', { json: { label: `s${index}` } })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(40).fill(201));
    expect(new Set(answers.map(({ json }) => json.id)).size).toBe(40);
    expect((await app.request('GET', '/shelf.json')).json.count).toBe(before + 40);
  });

  test.each(['9007199254740993', '-9007199254740993', '9223372036854775807', '-9223372036854775807'])(
    'stores the integer %s exactly',
    async (grams) => {
      const made = await app.request('POST', '/crate.json', { json: { label: 'heavy', grams } });
      expect([made.status, made.json.grams]).toEqual([201, grams]);
      const { id } = made.json;
      expect((await app.request('GET', `/crate/${id}.json`)).json.grams).toBe(grams);
      const { results } = (await app.request('GET', '/crate.json')).json;
      expect(results.find((crate: { id: number }) => crate.id === id).grams).toBe(grams);
      const [stored] = await app.application.mapper.em
        .fork()
        .execute(`select cast(grams as text) as grams from crate where id = ${id}`);
      expect(stored?.grams).toBe(grams);
    },
  );
});

describe('the schema', () => {
  const idOf = () => p.integer().primary().groups('read');
  const first = defineEntity({
    name: 'Item',
    tableName: 'item',
    properties: {
      id: idOf(),
      name: p.string().length(50).groups('read', 'write'),
      colour: p.string().nullable().groups('read', 'write'),
    },
  });
  const gone = defineEntity({
    name: 'Gone',
    tableName: 'gone',
    properties: { id: idOf(), text: p.string().groups('read', 'write') },
  });
  const added = defineEntity({
    name: 'Added',
    tableName: 'added',
    properties: { id: idOf(), text: p.string().groups('read', 'write') },
  });
  const second = defineEntity({
    name: 'Item',
    tableName: 'item',
    properties: {
      id: idOf(),
      name: p.string().length(50).groups('read', 'write'),
      size: p.integer().nullable().groups('read', 'write'),
      state: p.string().default('new').groups('read', 'write'),
      added: () => p.manyToOne(added).nullable().groups('read', 'write'),
    },
  });

  const app_main = (apis: readonly [string, unknown][], database: object): CodeOptions['app_main'] => ({
    apis: Object.fromEntries(
      apis.map(([name, model]) => [
        name,
        { class: model as never, base_path: `/${name}`, actions: { _index: { methods: { GET: true, POST: true } } } },
      ]),
    ),
    database,
  });

  test.each(databases)('gains columns and tables without losing data, on %s', async (kind) => {
    const database = await freshDatabase(kind);
    const at = { url: database.url, schema: 'update' };
    try {
      const before = await startApplication({
        app_main: app_main(
          [
            ['item', first],
            ['gone', gone],
          ],
          at,
        ),
        models: [first, gone],
      });
      expect((await before.request('POST', '/item.json', { json: { name: 'chair', colour: 'red' } })).status).toBe(201);
      expect((await before.request('POST', '/gone.json', { json: { text: 'kept' } })).status).toBe(201);
      await before.close();

      const after = await startApplication({
        app_main: app_main(
          [
            ['item', second],
            ['added', added],
          ],
          at,
        ),
        models: [second, added],
      });
      const listed = await after.request('GET', '/item.json');
      expect(listed.json.results).toEqual([{ id: 1, name: 'chair', size: null, state: 'new', added: null }]);
      expect((await after.request('POST', '/added.json', { json: { text: 'x' } })).status).toBe(201);
      expect((await after.request('POST', '/item.json', { json: { name: 'table', size: 4, added: { id: 1 } } })).status).toBe(
        201,
      );
      await after.close();

      expect(await rows(kind, database.url, 'select colour from item where id = 1')).toEqual([{ colour: 'red' }]);
      expect(await rows(kind, database.url, 'select text from gone')).toEqual([{ text: 'kept' }]);

      // And back: what the older models do not know stays as it is.
      const again = await startApplication({ app_main: app_main([['item', first]], at), models: [first] });
      expect((await again.request('GET', '/item.json')).json.results[0]).toEqual({ id: 1, name: 'chair', colour: 'red' });
      await again.close();
      expect(await rows(kind, database.url, 'select size from item where id = 2')).toEqual([{ size: 4 }]);
    } finally {
      await database.drop();
    }
  });

  test.each(databases)('never renames a column, so that hidden data does not become public, on %s', async (kind) => {
    const database = await freshDatabase(kind);
    const at = { url: database.url, schema: 'update' };
    const hidden = defineEntity({
      name: 'Item',
      tableName: 'item',
      properties: { id: idOf(), name: p.string().groups('read', 'write'), secret: p.string().nullable() },
    });
    const shown = defineEntity({
      name: 'Item',
      tableName: 'item',
      properties: { id: idOf(), name: p.string().groups('read', 'write'), nickname: p.string().nullable().groups('read') },
    });
    try {
      const before = await startApplication({
        app_main: app_main([['item', hidden]], at),
        models: [hidden],
        seed: (em) => {
          em.create(hidden, { name: 'chair', secret: 'under the seat' });
          return em.flush();
        },
      });
      await before.close();
      const after = await startApplication({ app_main: app_main([['item', shown]], at), models: [shown] });
      expect((await after.request('GET', '/item.json')).json.results).toEqual([{ id: 1, name: 'chair', nickname: null }]);
      await after.close();
      expect(await rows(kind, database.url, 'select secret, nickname from item')).toEqual([
        { secret: 'under the seat', nickname: null },
      ]);
    } finally {
      await database.drop();
    }
  });

  test.each(databases)('is never narrowed if that would truncate data, on %s', async (kind) => {
    const database = await freshDatabase(kind);
    const at = { url: database.url, schema: 'update' };
    const narrow = defineEntity({
      name: 'Item',
      tableName: 'item',
      properties: { id: idOf(), name: p.string().length(3).groups('read'), colour: p.string().nullable().groups('read') },
    });
    try {
      const before = await startApplication({ app_main: app_main([['item', first]], at), models: [first] });
      await before.request('POST', '/item.json', { json: { name: 'a long name', colour: '12' } });
      await before.close();
      const after = await startApplication({ app_main: app_main([['item', narrow]], at), models: [narrow] }).catch(() => null);
      await after?.close();
      expect(await rows(kind, database.url, 'select name, colour from item')).toEqual([{ name: 'a long name', colour: '12' }]);
    } finally {
      await database.drop();
    }
  });

  test.each(databases)('never changes a column type, and reports a column that is too narrow, on %s', async (kind) => {
    const database = await freshDatabase(kind);
    const at = { url: database.url, schema: 'update' };
    const wide = defineEntity({
      name: 'Item',
      tableName: 'item',
      properties: { id: idOf(), name: p.string().length(90).groups('read', 'write'), colour: p.text().nullable().groups('read') },
    });
    try {
      const before = await startApplication({ app_main: app_main([['item', first]], at), models: [first] });
      expect((await before.request('POST', '/item.json', { json: { name: 'x'.repeat(51) } })).status).toBe(422);
      await before.close();
      const starting = startApplication({ app_main: app_main([['item', wide]], at), models: [wide] });
      if (kind === 'postgresql') {
        await expect(starting).rejects.toThrow(
          /^Item\.name: the column item\.name is character varying\(50\); needed: varchar\(90\); .*\nItem\.colour: .*needed: text; .*\n2 differences/,
        );
        return;
      }
      // a text of SQLite has no limit
      const after = await starting;
      expect((await after.request('POST', '/item.json', { json: { name: 'x'.repeat(90) } })).status).toBe(201);
      await after.close();
    } finally {
      await database.drop();
    }
  });

  test('stays unchanged on PostgreSQL if a column has another type, and the start error says what to do', async () => {
    const database = await freshDatabase('postgresql');
    const at = { url: database.url, schema: 'update' };
    const other = defineEntity({
      name: 'Item',
      tableName: 'item',
      properties: { id: idOf(), name: p.integer().groups('read'), size: p.integer().nullable().groups('read') },
    });
    try {
      const before = await startApplication({ app_main: app_main([['item', first]], at), models: [first] });
      await before.request('POST', '/item.json', { json: { name: '12' } });
      await before.close();
      await expect(startApplication({ app_main: app_main([['item', other]], at), models: [other] })).rejects.toThrow(
        /^Item\.name: the column item\.name is character varying\(50\); needed: int; change the column by a migration/,
      );
      const columns = "select column_name from information_schema.columns where table_name = 'item' order by 1";
      expect((await rows('postgresql', database.url, columns)).map((row) => row.column_name)).toEqual(['colour', 'id', 'name']);
      expect(await rows('postgresql', database.url, 'select name from item')).toEqual([{ name: '12' }]);
    } finally {
      await database.drop();
    }
  });

  test.each([
    ['sqlite', 'none'],
    ['postgresql', 'none'],
  ] as const)('stays unchanged on %s with the setting %s, and no seed runs', async (kind, schema) => {
    const database = await freshDatabase(kind);
    let seeded = false;
    try {
      const app = await startApplication({
        app_main: app_main([['item', first]], { url: database.url, schema }),
        models: [first],
        seed: () => {
          seeded = true;
        },
      });
      expect((await app.request('POST', '/item.json', { json: { name: 'x' } })).status).toBe(503);
      await app.close();
      expect(seeded).toBe(false);
      const tables =
        kind === 'sqlite'
          ? "select name from sqlite_master where name not like 'sqlite_%'"
          : "select tablename from pg_tables where schemaname = 'public'";
      expect(await rows(kind, database.url, tables)).toEqual([]);
    } finally {
      await database.drop();
    }
  });

  test('is inspected on SQLite only if it was changed since the last start', async () => {
    const database = await freshDatabase('sqlite');
    const looked: string[] = [];
    const startOnce = async () => {
      looked.length = 0;
      const options = { app_main: app_main([['item', first]], { url: database.url }), models: [first] };
      const app = await startApplication({ ...options, onStatement: (sql: string) => looked.push(sql) });
      const { status } = await app.request('GET', '/item.json');
      await app.close();
      return status;
    };
    const takenApart = () => looked.some((sql) => /pragma table_/i.test(sql));
    const change = (sql: string) => {
      const db = new DatabaseSync(database.url.slice('sqlite:'.length));
      db.exec(sql);
      db.close();
    };
    expect(await startOnce()).toBe(200);
    expect([await startOnce(), takenApart()]).toEqual([200, false]);
    change('create index by_hand on item (name)');
    expect([await startOnce(), takenApart()]).toEqual([200, true]);
    change('drop table item');
    expect([await startOnce(), takenApart()]).toEqual([200, false]);
    change('alter table item drop column colour');
    expect([await startOnce(), takenApart()]).toEqual([200, true]);
    await database.drop();
  });

  test('is updated by default on SQLite', async () => {
    const database = await freshDatabase('sqlite');
    const app = await start({ app_main: app_main([['item', first]], { url: database.url }), models: [first] });
    expect((await app.request('GET', '/item.json')).json.count).toBe(0);
  });
});

async function rows(kind: DatabaseKind, url: string, sql: string): Promise<Record<string, unknown>[]> {
  if (kind === 'sqlite') {
    const db = new DatabaseSync(url.slice('sqlite:'.length));
    const found = db.prepare(sql).all();
    db.close();
    return found.map((row) => ({ ...row }));
  }
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows: found } = await client.query(sql);
  await client.end();
  return found;
}

describe('SQLite', () => {
  const settings = ['journal_mode', 'synchronous', 'foreign_keys', 'busy_timeout'] as const;

  test('runs in WAL with synchronous=FULL, foreign keys and a busy timeout, on every connection', async () => {
    const database = await freshDatabase('sqlite');
    const app = await start({ ...options, databaseUrl: database.url });
    const { em } = app.application.mapper;
    const read = async (ask: (sql: string) => Promise<Record<string, unknown>[]>) => {
      const found: unknown[] = [];
      for (const setting of settings) found.push(Object.values((await ask(setting))[0] ?? {})[0]);
      return found;
    };
    const inUse = {
      reading: await read((setting) => em.fork().execute(`select * from pragma_${setting}`)),
      writing: await read((setting) => em.fork().execute(`pragma ${setting}`)),
      'in a transaction': await em
        .fork()
        .transactional((inner) => read((setting) => inner.execute(`select * from pragma_${setting}`))),
    };
    for (const [where, [mode, synchronous, foreignKeys, timeout]] of Object.entries(inUse)) {
      expect([where, mode, synchronous, foreignKeys]).toEqual([where, 'wal', 2, 1]);
      // the connection that writes waits the rest of the five seconds without holding up the process
      expect(timeout).toBeGreaterThan(0);
    }
    expect(existsSync(`${database.url.slice('sqlite:'.length)}-wal`)).toBe(true);
  });

  test.each([
    [undefined, 'var/app.db'],
    ['sqlite:data/of/mine/zoo.db', 'data/of/mine/zoo.db'],
  ])('with the URL %s uses the file %s in the application directory, and creates it', async (url, file) => {
    const directory = mkdtempSync(join(temporary.directory, 'app-'));
    const app = await start({ ...options, app_main: { ...options.app_main, ...(url && { database: { url } }) }, directory });
    expect((await app.request('POST', '/shelf.json', { json: { label: 'x' } })).status).toBe(201);
    expect(existsSync(join(directory, file))).toBe(true);
  });

  test('with an absolute path in the URL uses that file', async () => {
    const file = join(mkdtempSync(join(temporary.directory, 'abs-')), 'deep', 'zoo.db');
    await start({ ...options, app_main: at(`sqlite:${file}`), directory: temporary.directory });
    expect(existsSync(file)).toBe(true);
  });

  describe('in memory', () => {
    test('keeps data while it runs, shares it with no other instance, and creates no file', async () => {
      const directory = mkdtempSync(join(temporary.directory, 'memory-'));
      const given = { ...options, app_main: at('sqlite::memory:'), directory };
      const [one, other] = [await start(given), await start(given)];
      expect((await one.request('POST', '/shelf.json', { json: { label: 'x' } })).status).toBe(201);
      expect((await one.request('GET', '/shelf.json')).json.count).toBe(1);
      expect((await other.request('GET', '/shelf.json')).json.count).toBe(0);
      expect(readdirSync(directory).filter((name) => name !== 'var')).toEqual([]);
      expect(existsSync(':memory:')).toBe(false);
    });

    test('never shows uncommitted data, because reads wait for the transaction', async () => {
      const app = await start({ ...options, app_main: at('sqlite::memory:') });
      await app.request('POST', '/crate.json', { json: { label: 'first' } });
      let end = () => {};
      held.end = new Promise((resolve) => {
        end = () => resolve();
      });
      const begun = new Promise<void>((resolve) => {
        held.begun = resolve;
      });
      const writing = app.request('POST', '/crate/relabel.json');
      await begun;
      const reading = app.request('GET', '/crate/1.json');
      const early = await Promise.race([reading, new Promise((resolve) => setTimeout(resolve, 100, 'still waiting'))]);
      expect(early).toBe('still waiting');
      end();
      await writing;
      expect((await reading).json.label).toBe('changed');
    });
  });

  test('accepts concurrent writes of two processes, and runs the seed once', async () => {
    const file = join(mkdtempSync(join(temporary.directory, 'shared-')), 'zoo.db');
    const env = { ZOO_DATABASE: `sqlite:${file}`, ZOO_SECRET: zooSecret };
    const servers: Served[] = [];
    try {
      const started = await Promise.allSettled([serve(zooDirectory, env), serve(zooDirectory, env)]);
      for (const outcome of started) if (outcome.status === 'fulfilled') servers.push(outcome.value);
      expect(started.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []))).toEqual([]);
      const as = { id: 'kim', roles: ['ROLE_KEEPER'] };
      const answers = await Promise.all(
        servers.flatMap(({ url }) =>
          Array.from({ length: 50 }, (_, index) => call(url, 'POST', '/api/animal.json', { json: { name: `n${index}` }, as })),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array(100).fill(201));
      const { json } = await call(servers[0]?.url ?? '', 'GET', '/api/animal.json', {
        as: { id: 'd', roles: ['ROLE_DIRECTOR'] },
      });
      expect(json.count).toBe(104);
    } finally {
      for (const server of servers) await server.stop();
    }
  });
});

describe('PostgreSQL', () => {
  test('accepts four servers that start concurrently, and runs the seed once', async () => {
    const database = await freshDatabase('postgresql');
    const given: CodeOptions = {
      ...options,
      databaseUrl: database.url,
      seed: async (em) => {
        em.create(Shelf, { label: 'seeded' });
        // long enough for the others to come and look
        await new Promise((resolve) => setTimeout(resolve, 200));
      },
    };
    const started = await Promise.allSettled(Array.from({ length: 4 }, () => startApplication(given)));
    const servers = started.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    try {
      expect(started.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []))).toEqual([]);
      for (const server of servers) expect((await server.request('GET', '/shelf.json')).json.count).toBe(1);
    } finally {
      for (const server of servers) await server.close();
      await database.drop();
    }
  });

  test('that is unreachable aborts the start with an error', async () => {
    const url = 'postgresql://nobody:x@127.0.0.1:9/none';
    await expect(startApplication({ ...options, app_main: at(url, { connect_timeout: 500 }) })).rejects.toThrow();
  });
});
