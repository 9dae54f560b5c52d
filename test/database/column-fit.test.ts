import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { loadApplication } from '../../src/application.ts';
import { prepareDatabase } from '../../src/database/prepare-database.ts';
import { type DatabaseKind, freshDatabase } from '../support/databases.ts';
import { partOf } from '../support/random.ts';
import { rowsOf } from '../support/sql.ts';
import { startApplication } from '../support/testing.ts';

/** A property, a value of it, and columns that can hold it or not. */
interface Case {
  readonly make: () => unknown;
  readonly value: unknown;
  readonly fits: readonly string[];
  readonly misfits: readonly string[];
}

const shown = <Builder>(property: Builder): Builder =>
  (property as { groups(...names: string[]): Builder }).groups('read', 'write');

const postgresql: Readonly<Record<string, Case>> = {
  'varchar(10)': {
    make: () => shown(p.string().length(10)),
    value: 'abc',
    fits: ['varchar(10)', 'varchar(50)', 'varchar', 'text', 'name_domain', 'nested_domain'],
    misfits: ['varchar(5)', 'char(10)', 'integer', 'uuid', 'jsonb', 'mood', 'text[]', 'bytea'],
  },
  text: { make: () => shown(p.text()), value: 'abc', fits: ['text', 'varchar'], misfits: ['varchar(255)', 'integer', 'date'] },
  integer: {
    make: () => shown(p.integer()),
    value: 7,
    fits: ['integer', 'bigint', 'serial'],
    misfits: ['smallint', 'text', 'boolean', 'numeric(10,2)', 'double precision'],
  },
  bigint: { make: () => shown(p.bigint()), value: '9007199254740993', fits: ['bigint'], misfits: ['integer', 'text', 'numeric'] },
  'numeric(10,2)': {
    make: () => shown(p.decimal().precision(10).scale(2)),
    value: '12.30',
    fits: ['numeric(10,2)', 'numeric(12,2)'],
    misfits: ['numeric(10,1)', 'numeric(9,2)', 'double precision', 'integer', 'money'],
  },
  double: {
    make: () => shown(p.double()),
    value: 0.1,
    fits: ['double precision'],
    misfits: ['real', 'integer', 'text', 'numeric(4,2)'],
  },
  boolean: { make: () => shown(p.boolean()), value: true, fits: ['boolean'], misfits: ['integer', 'text', 'smallint'] },
  datetime: {
    make: () => shown(p.datetime()),
    value: '2026-11-15T10:11:12.000Z',
    fits: ['timestamptz', 'timestamptz(3)', 'timestamptz(0)', 'timestamp', 'timestamp(3)', 'timestamp(0)'],
    misfits: ['date', 'time', 'text', 'bigint'],
  },
  date: { make: () => shown(p.date()), value: '2026-11-15', fits: ['date'], misfits: ['timestamptz', 'text', 'integer'] },
  json: { make: () => shown(p.json()), value: { a: [1] }, fits: ['jsonb', 'json'], misfits: ['integer', 'text[]'] },
  uuid: {
    make: () => shown(p.uuid()),
    value: '8f4e3c9a-2f4b-4d4e-9a6b-0d6f3e6a1b2c',
    fits: ['uuid', 'text', 'varchar(36)'],
    misfits: ['varchar(20)', 'integer', 'bytea'],
  },
  enum: {
    make: () => shown(p.enum(['sad', 'glad'])),
    value: 'glad',
    fits: ['text', 'varchar(10)', "text check (value in ('sad', 'glad', 'mad'))"],
    misfits: ['varchar(3)', 'integer', 'mood', "text check (value in ('sad'))"],
  },
  'enum of its own': {
    make: () => shown(p.enum(['sad', 'glad']).nativeEnumName('mood')),
    value: 'glad',
    fits: ['mood'],
    misfits: ['text', 'old_mood', 'integer'],
  },
  'enum with a value more': {
    make: () => shown(p.enum(['sad', 'glad', 'proud']).nativeEnumName('mood')),
    value: 'glad',
    fits: [],
    misfits: ['mood'],
  },
  list: { make: () => shown(p.array()), value: ['a', 'b'], fits: ['text[]'], misfits: ['text', 'integer[]', 'jsonb'] },
};

const sqlite: Readonly<Record<string, Case>> = {
  string: {
    make: () => shown(p.string().length(10)),
    value: '007',
    fits: ['text', 'varchar(5)', 'character(20)', 'clob', '', 'text strict', 'any strict'],
    misfits: ['integer', 'real', 'numeric', 'boolean', 'blob strict'],
  },
  integer: {
    make: () => shown(p.integer()),
    value: 7,
    fits: ['integer', 'int', 'bigint', 'numeric', 'real', '', 'integer strict', 'any strict'],
    misfits: ['text', 'varchar(5)', 'text strict'],
  },
  bigint: {
    make: () => shown(p.bigint()),
    value: '9007199254740993',
    fits: ['bigint', 'integer', 'numeric'],
    misfits: ['text', 'real'],
  },
  decimal: {
    make: () => shown(p.decimal().precision(10).scale(2)),
    value: '12.30',
    fits: ['numeric(10,2)', 'decimal', 'numeric'],
    misfits: ['text'],
  },
  double: {
    make: () => shown(p.double()),
    value: 0.5,
    fits: ['real', 'double', 'numeric', 'integer', 'real strict'],
    misfits: ['text', 'integer strict'],
  },
  boolean: {
    make: () => shown(p.boolean()),
    value: true,
    fits: ['integer', 'boolean', 'tinyint', 'integer strict'],
    misfits: ['text'],
  },
  datetime: {
    make: () => shown(p.datetime()),
    value: '2026-11-15T10:11:12.000Z',
    fits: ['datetime', 'timestamp', 'integer', 'numeric', 'integer strict'],
    misfits: ['text'],
  },
  date: {
    make: () => shown(p.date()),
    value: '2026-11-15',
    fits: ['date', 'text', 'numeric', 'text strict'],
    misfits: ['integer strict'],
  },
  json: {
    make: () => shown(p.json()),
    value: { a: [1] },
    fits: ['json', 'text', 'jsonb', 'text strict'],
    misfits: ['integer strict', 'blob strict'],
  },
  enum: {
    make: () => shown(p.enum(['sad', 'glad'])),
    value: 'glad',
    fits: ['text', 'varchar(3)', "text check (value in ('sad', 'glad'))"],
    misfits: ['integer', "text check (value in ('sad'))"],
  },
};

const optionsFor = (url: string, property: unknown, compiledReads: boolean) => {
  const Thing = defineEntity({
    name: 'Thing',
    properties: { id: p.integer().primary().groups('read'), value: property as never },
  });
  const apis = {
    thing: {
      class: Thing,
      base_path: '/thing',
      actions: { _index: { methods: { GET: true, POST: true } }, _entity: { methods: { GET: true, PATCH: true } } },
    },
  };
  return { app_main: { apis, database: { url, schema: 'check' } } as never, models: [Thing], compiledReads };
};

async function makeThing(kind: DatabaseKind, url: string, column: string): Promise<void> {
  if (kind === 'postgresql') {
    await rowsOf(
      kind,
      url,
      'drop table if exists thing; drop domain if exists name_domain, nested_domain; drop type if exists mood, old_mood',
    );
    await rowsOf(
      kind,
      url,
      `create domain name_domain as varchar(20) not null; create domain nested_domain as name_domain; create type mood as enum ('sad', 'glad', 'mad'); create type old_mood as enum ('sad');
       create table thing (id serial primary key, value ${column})`,
    );
    return;
  }
  await rowsOf(kind, url, 'drop table if exists thing');
  const [type = '', strict] = column.split(/ (?=strict$)/);
  await rowsOf(kind, url, `create table thing (id integer primary key, value ${type}) ${strict ?? ''}`);
}

describe.each([
  ['postgresql', postgresql],
  ['sqlite', sqlite],
] as const)('on %s', (kind, cases) => {
  test.each(Object.entries(cases))('a property of the type %s', async (_, { fits, make, misfits, value }) => {
    const database = await freshDatabase(kind);
    const outcomes: Record<string, unknown> = {};
    try {
      for (const [place, column] of fits.entries()) {
        for (const compiledReads of partOf([true, false], 2, place)) {
          await makeThing(kind, database.url, column);
          const app = await startApplication(optionsFor(database.url, make(), compiledReads)).catch((error: Error) => error);
          if (app instanceof Error) {
            outcomes[column] = app.message;
            continue;
          }
          const made = await app.request('POST', '/thing.json', { json: { value } });
          const listed = await app.request('GET', '/thing.json');
          const changed = await app.request('PATCH', '/thing/1.json', { json: { value } });
          const read = await app.request('GET', '/thing/1.json');
          await app.close();
          const values = [made.json.value, listed.json.results?.[0]?.value, changed.json.value, read.json.value];
          const asGiven = values.every((one) => JSON.stringify(one) === JSON.stringify(value));
          if (!asGiven) outcomes[`${column} ${compiledReads}`] = values;
        }
      }
      expect(outcomes).toEqual({});
      for (const column of misfits) {
        await makeThing(kind, database.url, column);
        const { declaration, mapper } = await loadApplication(optionsFor(database.url, make(), true));
        const starting = prepareDatabase(mapper, declaration.database, { seed: null });
        await expect(starting, column).rejects.toThrow(/^Thing\.value: the column thing\.value (is|refuses)/);
        await mapper.close(true);
      }
    } finally {
      await database.drop();
    }
  });
});

test('a key of a strict table without rowid does not number new rows on SQLite', async () => {
  const database = await freshDatabase('sqlite');
  await rowsOf('sqlite', database.url, 'create table thing (id integer primary key, value text) without rowid, strict');
  const { declaration, mapper } = await loadApplication(optionsFor(database.url, shown(p.string()), true));
  const starting = prepareDatabase(mapper, declaration.database, { seed: null });
  await expect(starting).rejects.toThrow(/^Thing\.id: the column thing\.id does not generate numbers/);
  await mapper.close(true);
  await database.drop();
});
