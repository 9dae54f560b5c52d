import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { call } from '../cli/call.ts';
import { type DatabaseKind, databases, freshDatabase } from '../support/databases.ts';
import { casesOn } from '../support/random.ts';
import { checkSchema, pullInto, runSql } from './databases.ts';

const runs = Number(process.env.FC_RUNS ?? 3);

/** Column types, each with a default. */
const types: Readonly<Record<DatabaseKind, readonly (readonly [type: string, standard: string])[]>> = {
  postgresql: [
    ['smallint', '1'],
    ['integer', '-5'],
    ['bigint', '9007199254740993'],
    ['numeric', '1.5'],
    ['numeric(12,3)', '0.125'],
    ['numeric(4,-2)', '100'],
    ['real', '1.5'],
    ['double precision', "'NaN'"],
    ['boolean', 'true'],
    ['text', "'it''s \\ \"x\" {y} */'"],
    ['varchar', "''"],
    ['varchar(30)', "'a'"],
    ['char(4)', "'ab'"],
    ['uuid', 'gen_random_uuid()'],
    ['date', 'current_date'],
    ['time', "'10:00'"],
    ['time(3)', 'localtime'],
    ['timetz', 'current_time'],
    ['timestamp', 'now()'],
    ['timestamp(2)', "'2026-01-01'"],
    ['timestamptz', 'now()'],
    ['timestamptz(0)', 'current_timestamp'],
    ['interval', "'1 day'"],
    ['interval day to second(3)', "'1 day'"],
    ['bytea', "'\\x00'"],
    ['json', "'{}'"],
    ['jsonb', "'[]'"],
    ['inet', "'10.0.0.1'"],
    ['cidr', "'10.0.0.0/8'"],
    ['macaddr', "'08:00:2b:01:02:03'"],
    ['text[]', "'{}'"],
    ['integer[]', "'{1,2}'"],
    ['varchar(5)[]', "'{a}'"],
    ['boolean[]', "'{t}'"],
    ['mood', "'so so'"],
    ['mood[]', "'{happy}'"],
    ['short_text', "'a'"],
    ['point', "'(1,2)'"],
    ['tsvector', "''"],
    ['int4range', "'[1,2)'"],
    ['money', '1'],
    ['bit(3)', "'101'"],
    ['numeric(5,2)[]', "'{}'"],
  ],
  sqlite: [
    ['integer', '1'],
    ['int', '-5'],
    ['INT UNSIGNED', '2'],
    ['bigint', '9007199254740993'],
    ['tinyint(1)', '1'],
    ['boolean', 'true'],
    ['text', "'it''s \\ \"x\" {y} */'"],
    ['varchar(30)', "'a'"],
    ['NVARCHAR(5)', "''"],
    ['string', "'x'"],
    ['char(36)', 'lower(hex(randomblob(18)))'],
    ['uuid', "'8a3f0c1e-1111-4222-8333-444455556666'"],
    ['date', "'2026-01-01'"],
    ['time', "'10:00:00'"],
    ['datetime', 'current_timestamp'],
    ['timestamp', "(strftime('%s', 'now'))"],
    ['json', "'{}'"],
    ['real', '1.5'],
    ['double precision', '1e3'],
    ['decimal(12,3)', '0.125'],
    ['numeric', '1'],
    ['blob', "x'00'"],
    ['varbinary(4)', "x'00'"],
    ['', '1'],
    ['geometry', '1'],
  ],
};

const names = fc.constantFrom(
  'name',
  'First Name',
  'firstName',
  'first_name',
  'ORDER',
  'class',
  'constructor',
  'toString',
  'then',
  '2fa',
  'straße',
  '名前',
  'a-b',
  'type',
  'id',
  'with.dot',
  'say "hi"',
  "it's",
  'why?',
  'per%cent',
  '$cash',
  '(x)',
  'x:y',
  '_',
  'Id',
);

/** A table, with numbers in place of choices that depend on the database. */
const table = fc.record({
  name: fc.constantFrom(
    'user',
    'order',
    'Order',
    'ORDER ITEMS',
    'order_items',
    'date',
    'map',
    '2nd',
    'straße',
    'group',
    'p',
    'defineEntity',
    'index',
    'a.b',
    'x-y',
    'say "hi"',
  ),
  schema: fc.constantFrom('public', 'public', 'other', 'Odd One'),
  key: fc.constantFrom('number', 'number', 'plain number', 'text', 'two', 'reference', 'none'),
  columns: fc.uniqueArray(
    fc.record({
      name: names,
      type: fc.nat(),
      required: fc.boolean(),
      standard: fc.boolean(),
      index: fc.constantFrom('', '', 'unique', 'index'),
    }),
    { maxLength: 7, selector: ({ name }) => name.toLowerCase() },
  ),
  references: fc.array(
    fc.record({
      target: fc.nat(),
      required: fc.boolean(),
      unique: fc.boolean(),
      rule: fc.constantFrom('no action', 'cascade', 'restrict', 'set null'),
    }),
    { maxLength: 3 },
  ),
  /** A foreign key of two columns. */
  pair: fc.option(
    fc.record({
      target: fc.nat(),
      required: fc.boolean(),
      swapped: fc.boolean(),
      index: fc.constantFrom('', 'unique', 'index'),
      /** Whether a second foreign key has one of the columns too, and a third one has a column of the primary key. */
      shared: fc.boolean(),
    }),
  ),
  check: fc.boolean(),
});
type Table = typeof table extends fc.Arbitrary<infer Value> ? Value : never;

const quote = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** The statements that create the tables; references go to earlier tables. */
function statementsFor(kind: DatabaseKind, tables: readonly Table[]): string {
  const isPostgres = kind === 'postgresql';
  const lines = isPostgres
    ? [
        'create schema other',
        'create schema "Odd One"',
        `create type mood as enum ('happy', 'so so', 'it''s')`,
        'create domain short_text as varchar(10) not null',
      ]
    : [];
  const made: { label: string; type: string }[] = [];
  const pairs: string[] = [];
  for (const [position, { check, columns, key, name, pair, references, schema }] of tables.entries()) {
    const label = isPostgres ? `${quote(schema)}.${quote(name)}` : quote(name);
    const targets = made.slice();
    const single = targets[position % Math.max(1, targets.length)];
    const keys: Record<string, string[]> = {
      number: [isPostgres ? 'key integer generated by default as identity primary key' : 'key integer primary key'],
      'plain number': ['key bigint primary key'],
      text: ['key varchar(20) primary key'],
      two: ['key integer not null', 'key2 varchar(5) not null', 'primary key (key, key2)'],
      reference: single ? [`key ${single.type} primary key references ${single.label}`] : ['key integer primary key'],
      none: ['key integer'],
    };
    const parts = [...(keys[key] as string[])].filter((part) => !part.startsWith('primary'));
    for (const { index, name: column, required, standard, type } of columns) {
      const list = types[kind];
      const [typeName, value] = list[type % list.length] as readonly [string, string];
      const canBeUnique = index === 'unique' && !/json|point|macaddr/.test(typeName);
      const given = standard ? ` default ${/^[a-z]+\(/.test(value) && !isPostgres ? `(${value})` : value}` : '';
      parts.push(`${quote(column)} ${typeName}${required ? ' not null' : ''}${given}${canBeUnique ? ' unique' : ''}`);
    }
    for (const [number, { required, rule, target, unique }] of references.entries()) {
      const found = targets[target % Math.max(1, targets.length)];
      if (found)
        parts.push(
          `ref${number}_id ${found.type}${required && rule !== 'set null' ? ' not null' : ''}${unique ? ' unique' : ''} references ${found.label} on delete ${rule}`,
        );
    }
    parts.push(
      isPostgres ? 'doubled integer generated always as (2 * 3) stored' : 'doubled integer generated always as (2 * 3) virtual',
    );
    const paired = pair && pairs[pair.target % Math.max(1, pairs.length)];
    if (paired) {
      const needed = pair.required ? ' not null' : '';
      parts.push(`pair_key2 varchar(5)${needed}`, `pair_key integer${needed}`);
      if (pair.shared) parts.push('also_key2 varchar(5)', 'third_key2 varchar(5)');
    }
    if (check)
      parts.push(
        `status text check (status in ('a', 'it''s', 'c,d'))`,
        `constraint ${quote(`check ${position}`)} check (length(status) < 9 or status is null)`,
      );
    parts.push(...(keys[key] as string[]).filter((part) => part.startsWith('primary')));
    if (paired) {
      const [own, other] = pair.swapped ? ['pair_key2, pair_key', 'key2, key'] : ['pair_key, pair_key2', 'key, key2'];
      if (pair.index === 'unique') parts.push(`unique (${own})`);
      parts.push(`foreign key (${own}) references ${paired} (${other})`);
      if (pair.shared) parts.push(`foreign key (pair_key, also_key2) references ${paired} (key, key2)`);
      if (pair.shared && ['number', 'two'].includes(key))
        parts.push(`foreign key (key, third_key2) references ${paired} (key, key2)`);
    }
    lines.push(`create table ${label} (${parts.join(', ')})`);
    if (paired && pair.index === 'index') lines.push(`create index pair_${position} on ${label} (pair_key, pair_key2)`);
    for (const { index, name: column, type } of columns)
      if (index === 'index' && !/json|point|macaddr|range/.test(types[kind][type % types[kind].length]?.[0] ?? ''))
        lines.push(`create index on_${position}_${lines.length} on ${label} (${quote(column)})`);
    const keyType =
      key === 'text'
        ? 'varchar(20)'
        : key === 'plain number'
          ? 'bigint'
          : key === 'reference'
            ? (single?.type ?? 'integer')
            : 'integer';
    if (key === 'two') pairs.push(label);
    else if (key !== 'none') made.push({ label, type: keyType });
  }
  return lines.join(';\n');
}

describe.each(databases)('declarest pull on %s', (kind) => {
  const label = ({ name, schema }: Table) => (kind === 'sqlite' ? name.toLowerCase() : `${schema}.${name}`);

  test('makes models of random schemas that fit the database', async () => {
    const schemas = fc.uniqueArray(table, { minLength: 1, maxLength: 6, selector: label });
    await fc.assert(
      fc.asyncProperty(schemas, async (tables) => {
        const database = await freshDatabase(kind);
        try {
          await runSql(kind, database, statementsFor(kind, tables));
          const { code, directory, err, out } = await pullInto(database.url);
          expect([code, err]).toEqual([0, '']);
          // every table is a model, or is listed
          const made = out.match(/^created src\/models/gm)?.length ?? 0;
          const skipped = out.match(/^skipped (?!\S+: the (?:column|foreign key) )/gm)?.length ?? 0;
          expect(made + skipped).toBe(tables.length);
          await checkSchema(directory, database.url);
          const again = await call(['pull', directory, '--from', database.url]);
          expect([again.code, again.err]).toEqual([0, '']);
        } finally {
          await database.drop();
        }
      }),
      { numRuns: runs, ...casesOn(kind) },
    );
  });
});
