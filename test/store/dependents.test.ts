import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ApiController } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

/** More than are removed in one step. */
const many = 600;

const Tag = defineEntity({ name: 'Tag', properties: { id: p.integer().primary().groups('read') } });
const Box: Any = defineEntity({
  name: 'Box',
  properties: {
    id: p.integer().primary().groups('read'),
    tags: () => p.manyToMany(Tag).groups('read'),
    inside: () => (p.manyToOne(Box) as Any).nullable().deleteRule('cascade').groups('read'),
  },
} as Any);
const Part: Any = defineEntity({
  name: 'Part',
  properties: {
    box: () => (p.manyToOne(Box) as Any).primary().deleteRule('cascade').groups('read'),
    no: p.integer().primary().groups('read'),
  },
} as Any);
const Mark: Any = defineEntity({
  name: 'Mark',
  properties: { id: p.integer().primary().groups('read'), part: () => (p.manyToOne(Part) as Any).deleteRule('cascade') },
} as Any);
const Note: Any = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary().groups('read'),
    box: () => (p.manyToOne(Box) as Any).nullable().deleteRule('set null').groups('read'),
    revision: p.integer().version().groups('read'),
  },
} as Any);
/** Is removed with its box, and keeps its part until then. */
const Pair: Any = defineEntity({
  name: 'Pair',
  properties: {
    id: p.integer().primary().groups('read'),
    part: () => (p.manyToOne(Part) as Any).deleteRule('no action'),
    box: () => (p.manyToOne(Box) as Any).nullable().deleteRule('cascade'),
  },
} as Any);

/** Makes its API write entities. */
class HookedController extends ApiController {
  override afterCommit(): void {}
}

describe.each(databases)('rows that are removed with many others by an API with hooks on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication({
      app_main: {
        database: { url: database.url, schema: 'update' },
        apis: {
          box: {
            class: 'Box',
            base_path: '/box',
            controller: 'HookedController',
            actions: {
              _index: { methods: { GET: true }, bulk: { DELETE: true } },
              _entity: { methods: { DELETE: true } },
            },
          },
        },
      } as never,
      models: [Tag, Box, Part, Mark, Note, Pair],
      controllers: [HookedController],
    });
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  const execute = (sql: string): Promise<Any[]> => app.application.mapper.em.fork().execute(sql);
  const tables = ['pair', 'note', 'mark', 'part', 'box_tags', 'box', 'tag'];
  const counts = async () => {
    const sql = tables.map((table) => `(select count(*) from ${table}) as ${table}`).join(', ');
    const [row] = await execute(`select ${sql}`);
    return Object.fromEntries(Object.entries(row as object).map(([table, count]) => [table, Number(count)]));
  };
  /** Rows `from` to `to` of another statement. */
  const each = (to: number) => `with recursive s(i) as (select 1 union all select i + 1 from s where i < ${to})`;

  beforeEach(async () => {
    for (const table of tables) await execute(`delete from ${table}`);
    await execute(`${each(many)} insert into tag (id) select i from s`);
    await execute('insert into box (id, inside_id) values (1, null), (2, null), (3, 1)');
    await execute(`${each(many)} insert into part (box_id, no) select i % 2 + 1, i from s`);
    await execute('insert into mark (id, part_box_id, part_no) select no, box_id, no from part');
    await execute(`insert into mark (id, part_box_id, part_no) select no + ${many}, box_id, no from part`);
    await execute('insert into note (id, box_id, revision) select no, box_id, 1 from part');
    await execute('insert into box_tags (box_id, tag_id) select 1, id from tag union all select 3, id from tag');
    await execute('insert into box_tags (box_id, tag_id) select 2, 1');
  });

  /** Makes the same table again, with its rows. */
  const withoutRowid = async (table: string) => {
    const [{ sql }] = await execute(`select sql from sqlite_master where type = 'table' and name = '${table}'`);
    const indexes = await execute(
      `select sql from sqlite_master where type = 'index' and tbl_name = '${table}' and sql is not null`,
    );
    const em = app.application.mapper.em.fork();
    await em.execute('pragma foreign_keys = off');
    await em.execute(`create table copied as select * from "${table}"`);
    await em.execute(`drop table "${table}"`);
    await em.execute(`${sql.replace(/ autoincrement| without rowid/g, '')} without rowid`);
    for (const index of indexes) await em.execute(index.sql);
    await em.execute(`insert into "${table}" select * from copied`);
    await em.execute('drop table copied');
    await em.execute('pragma foreign_keys = on');
  };

  const half = many / 2;
  const remaining = { pair: 0, note: many, mark: many, part: half, box_tags: 1, box: 1, tag: many };

  test('take all that depend on them with them, and clear references', async () => {
    expect((await app.request('DELETE', '/box/1.json')).status).toBe(204);
    expect(await counts()).toEqual(remaining);
    const notes = await execute('select box_id as box, revision, count(*) as count from note group by 1, 2 order by 2');
    expect(notes.map(({ box, count, revision }) => [box, revision, Number(count)])).toEqual([
      [2, 1, half],
      [null, 2, half],
    ]);
  });

  test('are removed by a list', async () => {
    expect((await app.request('DELETE', '/box.json', { json: [{ id: 1 }, { id: 2 }] })).status).toBe(204);
    expect(await counts()).toEqual({ pair: 0, note: many, mark: 0, part: 0, box_tags: 0, box: 0, tag: many });
  });

  test('are removed if rows among them keep each other until all are gone', async () => {
    await execute('insert into pair (id, part_box_id, part_no, box_id) select no, box_id, no, box_id from part where box_id = 1');
    expect((await app.request('DELETE', '/box/1.json')).status).toBe(204);
    expect(await counts()).toEqual(remaining);
  });

  test('stay with all that depend on them if another row keeps one of these', async () => {
    await execute('insert into pair (id, part_box_id, part_no) select no, box_id, no from part where box_id = 1 and no > 500');
    const before = await counts();
    expect((await app.request('DELETE', '/box/1.json')).status).toBe(409);
    expect(await counts()).toEqual(before);
  });

  if (kind === 'sqlite')
    test('are removed some at a time', async () => {
      app.statements.length = 0;
      expect((await app.request('DELETE', '/box/1.json')).status).toBe(204);
      const removals = app.statements.filter((sql) => /^(delete from|update) "/.test(String(sql)));
      // 300 parts with two marks each, 300 notes, and 600 tags of two boxes
      expect(removals.length).toBeGreaterThan(10);
    });

  if (kind === 'sqlite')
    test.each(['part', 'box'])('are removed if the table %s has no rowid', async (table) => {
      await withoutRowid(table);
      // the other rows are few enough for one step
      await execute('delete from box_tags');
      await execute('delete from note');
      expect((await app.request('DELETE', '/box/1.json')).status).toBe(204);
      expect(await counts()).toEqual({ ...remaining, note: 0, box_tags: 0 });
    });
});
