import { defineEntity, type EntityManager, p } from '@mikro-orm/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, type ModelQuery } from '../../src/index.ts';
import { type DatabaseKind, databases, freshDatabase } from '../support/databases.ts';
import { casesOn } from '../support/random.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';
import { type ColumnKind, kinds } from './random-model.ts';

const runs = Number(process.env.FC_RUNS ?? 1);

type Any = any;

const used = [
  'integer',
  'smallint',
  'bigint',
  'bigintText',
  'decimal',
  'double',
  'float',
  'boolean',
  'string',
  'text',
  'uuid',
  'date',
  'time',
  'datetime3',
  'enum',
  'numberEnum',
] as const satisfies readonly ColumnKind[];
type Kind = (typeof used)[number];

const ordered = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'in', 'exists'];
const operators: Record<Kind, readonly string[]> = {
  integer: ordered,
  smallint: ordered,
  bigint: ordered,
  bigintText: ordered,
  decimal: ordered,
  double: ordered,
  float: ordered,
  boolean: ['eq', 'ne', 'exists'],
  string: [...ordered, 'contains', 'starts', 'ends'],
  text: [...ordered, 'contains', 'starts', 'ends'],
  uuid: ['eq', 'ne', 'in', 'exists'],
  date: ordered,
  time: ordered,
  datetime3: ordered,
  enum: ['eq', 'ne', 'in', 'exists'],
  numberEnum: ['eq', 'ne', 'in', 'exists'],
};

/** Letters that mean something to patterns and lists, or have another case. */
const letters = fc.constantFrom(
  'a',
  'A',
  'é',
  'É',
  'ж',
  'Ж',
  'Σ',
  'σ',
  'ß',
  '%',
  '_',
  '\\',
  ',',
  "'",
  '"',
  '?',
  ' ',
  '{',
  '}',
  '1',
  '😀',
);
const words = fc.string({ unit: letters, maxLength: 5 });
const valuesOf = (kind: Kind): fc.Arbitrary<unknown> =>
  kind === 'string' || kind === 'text' ? words : (kinds[kind].value as Any);

interface Column {
  readonly kind: Kind;
  readonly nullable: boolean;
  /** So few values that rows share them, and a fourth that no row has. */
  readonly values: readonly unknown[];
}

interface Condition {
  readonly place: number;
  readonly column: number;
  readonly operator: number;
  readonly picks: readonly number[];
  readonly needle: string;
  readonly flag: boolean;
}

interface Request {
  readonly conditions: readonly Condition[];
  readonly groups: readonly (readonly Condition[])[];
  readonly sort: readonly { readonly place: number; readonly column: number; readonly down: boolean }[];
  readonly q: string | null;
  readonly size: number;
}

interface Shelf {
  readonly columns: readonly Column[];
  readonly rows: readonly {
    readonly picks: readonly number[];
    readonly box: number;
    readonly tags: readonly number[];
    readonly shown: boolean;
  }[];
  readonly requests: readonly Request[];
}

const column: fc.Arbitrary<Column> = fc.constantFrom(...used).chain((kind) =>
  fc.record({
    kind: fc.constant(kind),
    nullable: fc.boolean(),
    values: fc.array(valuesOf(kind), { minLength: 4, maxLength: 4 }),
  }),
);

/** Where a column can stand: in the row, its embeddable, the box that it is in, that one's shelf, its tags, the boxes of its tags. */
const places = ['', 'lid.', 'box.', 'box.shelf.', 'tags.', 'tags.box.'];
const sortable = 4;

const condition: fc.Arbitrary<Condition> = fc.record({
  place: fc.nat(places.length - 1),
  column: fc.nat(2),
  operator: fc.nat(50),
  picks: fc.array(fc.nat(3), { minLength: 1, maxLength: 3 }),
  needle: words,
  flag: fc.boolean(),
});

const request: fc.Arbitrary<Request> = fc.record({
  conditions: fc.array(condition, { maxLength: 2 }),
  groups: fc.array(fc.array(condition, { minLength: 1, maxLength: 2 }), { maxLength: 2 }),
  sort: fc.array(fc.record({ place: fc.nat(sortable - 1), column: fc.nat(2), down: fc.boolean() }), { maxLength: 2 }),
  q: fc.option(fc.string({ unit: letters, maxLength: 3 })),
  size: fc.integer({ min: 1, max: 6 }),
});

const shelf: fc.Arbitrary<Shelf> = fc.record({
  columns: fc.array(column, { minLength: 3, maxLength: 3 }),
  rows: fc.array(
    fc.record({
      picks: fc.array(fc.nat(3), { minLength: 12, maxLength: 12 }),
      box: fc.nat(3),
      tags: fc.uniqueArray(fc.nat(2), { maxLength: 3 }),
      shown: fc.boolean(),
    }),
    { maxLength: 12 },
  ),
  requests: fc.array(request, { minLength: 8, maxLength: 8 }),
});

function modelsOf({ columns }: Shelf): Any[] {
  const fields = () =>
    Object.fromEntries([
      ...columns.map(({ kind, nullable }, i) => {
        const property = (kinds[kind] as Any).make();
        return [`field${i}`, (nullable ? property.nullable() : property).groups('read')];
      }),
      ['label', p.string().groups('read').serializedName('name')],
    ]);
  const id = () => p.integer().primary().groups('read');
  const toOne = (target: Any) => () => (p.manyToOne(target) as Any).nullable().groups('read');
  const Lid = defineEntity({ name: 'Lid', embeddable: true, properties: fields() } as Any) as Any;
  const Rack = defineEntity({ name: 'Rack', properties: { id: id(), ...fields() } } as Any) as Any;
  const Box = defineEntity({ name: 'Box', properties: { id: id(), ...fields(), shelf: toOne(Rack) } } as Any) as Any;
  const Tag = defineEntity({ name: 'Tag', properties: { id: id(), ...fields(), box: toOne(Box) } } as Any) as Any;
  const Thing = defineEntity({
    name: 'Thing',
    properties: {
      id: id(),
      ...fields(),
      lid: () => (p.embedded(Lid) as Any).groups('read'),
      shown: p.boolean(),
      box: toOne(Box),
      tags: () => (p.manyToMany(Tag) as Any).groups('read'),
    },
  } as Any);
  return [Thing, Tag, Box, Rack, Lid];
}

class ShownController extends ApiController {
  override customizeQuery(_action: string, _request: ApiRequest, query: ModelQuery<object>): void {
    query.andWhere({ shown: true } as never);
  }
}

function applicationOf(made: Shelf, url: string, compiledReads: boolean) {
  const models = modelsOf(made);
  const names = made.columns.map((_, i) => `field${i}`);
  const filters = Object.fromEntries(
    places.flatMap((place) => [
      ...names.map((name, i) => [`${place}${name}`, operators[(made.columns[i] as Column).kind]]),
      [`${place}name`, operators.string],
    ]),
  );
  const api = {
    class: models[0],
    actions: { _index: null },
    filters,
    sort: places.slice(0, sortable).flatMap((place) => [...names, 'name'].map((name) => `${place}${name}`)),
    search: ['name', 'box.name', 'tags.name'],
  };
  return {
    app_main: {
      apis: {
        all: { ...api, base_path: '/all' },
        shown: { ...api, base_path: '/shown', controller: ShownController },
        capped: { ...api, base_path: '/capped', pagination: { count: { capped: 3 } } },
      },
      database: { url, schema: compiledReads ? ('none' as const) : ('update' as const) },
    },
    models,
    controllers: [ShownController],
    compiledReads,
  } as Any;
}

const labels = ['Äpfel_1', 'äpfel', 'b%', 'Birne ΣΑ', '', 'c\\d', 'x,y', 'É é'];

function fill(em: EntityManager, { columns, rows }: Shelf): Promise<void> {
  const fieldsOf = (picks: readonly number[]) => ({
    ...Object.fromEntries(
      columns.map(({ nullable, values }, i) => {
        const pick = picks[i] as number;
        return [`field${i}`, pick === 3 ? (nullable ? null : values[0]) : values[pick]];
      }),
    ),
    label: labels[picks.reduce((sum, pick) => sum * 3 + pick, 0) % labels.length],
  });
  const create = (name: string, data: object) => em.create(name as Any, data as Any);
  const picksOf = (id: number, shift: number) => Array.from({ length: 3 }, (_, i) => (i * shift + id) % 4);
  const racks = [0, 1].map((id) => create('Rack', { id: id + 1, ...fieldsOf(picksOf(id, 1)) }));
  const boxes = [0, 1, 2].map((id) => create('Box', { id: id + 1, ...fieldsOf(picksOf(id, 2)), shelf: racks[id] ?? null }));
  const tags = [0, 1, 2].map((id) => create('Tag', { id: id + 1, ...fieldsOf(picksOf(id, 3)), box: boxes[id - 1] ?? null }));
  for (const [i, { box, picks, shown, tags: own }] of rows.entries()) {
    const values = { ...fieldsOf(picks.slice(0, 3)), lid: fieldsOf(picks.slice(3, 6)), shown, box: boxes[box] ?? null };
    create('Thing', { id: ((i * 7) % 13) + 1, ...values, tags: own.map((tag) => tags[tag]) });
  }
  return em.flush();
}

/** The straightforward model: everything is compared as JSON shows it. */
class InMemory {
  readonly #columns: readonly Column[];
  readonly #database: DatabaseKind;

  constructor(columns: readonly Column[], database: DatabaseKind) {
    this.#columns = columns;
    this.#database = database;
  }

  kindOf(column: number): Kind {
    return this.#columns[column]?.kind ?? 'string';
  }

  /** All values at a path: one in a row without a to-many on it, null where the way ends. */
  valuesAt(row: Any, [name, ...rest]: readonly string[]): unknown[] {
    const value = row === null ? null : row[name as string];
    if (Array.isArray(value)) return value.flatMap((item) => this.valuesAt(item, rest));
    return rest.length === 0 ? [value] : this.valuesAt(value ?? null, rest);
  }

  compare(a: unknown, b: unknown, kind: Kind): number {
    const of = (value: unknown) =>
      kind === 'bigint' || kind === 'bigintText' ? BigInt(value as string) : kind === 'decimal' ? Number(value) : value;
    const [x, y] = [of(a) as Any, of(b) as Any];
    if (typeof x === 'string') return Buffer.compare(Buffer.from(x), Buffer.from(y));
    return x < y ? -1 : x > y ? 1 : 0;
  }

  holds(row: Any, path: string, operator: string, values: readonly unknown[], kind: Kind): boolean {
    const found = this.valuesAt(row, path.split('.'));
    if (operator === 'exists') return found.some((value) => value !== null) === values[0];
    const [given] = values;
    const lower = (text: unknown) => String(text).replaceAll('Σ', 'σ').toLowerCase();
    return found.some((value) => {
      if (operator === 'ne') return value === null || this.compare(value, given, kind) !== 0;
      if (value === null) return false;
      switch (operator) {
        case 'eq':
          return this.compare(value, given, kind) === 0;
        case 'lt':
          return this.compare(value, given, kind) < 0;
        case 'lte':
          return this.compare(value, given, kind) <= 0;
        case 'gt':
          return this.compare(value, given, kind) > 0;
        case 'gte':
          return this.compare(value, given, kind) >= 0;
        case 'in':
          return values.some((item) => this.compare(value, item, kind) === 0);
        case 'contains':
          return lower(value).includes(lower(given));
        case 'starts':
          return lower(value).startsWith(lower(given));
        default:
          return lower(value).endsWith(lower(given));
      }
    });
  }

  finds(row: Any, q: string): boolean {
    const lower = (text: string) => text.replaceAll('Σ', 'σ').toLowerCase();
    const texts = ['name', 'box.name', 'tags.name'].flatMap((path) => this.valuesAt(row, path.split('.')));
    const wanted = q.split(/\s+/).filter((word) => word !== '');
    return wanted.every((word) => texts.some((text) => text !== null && lower(text as string).includes(lower(word))));
  }

  sorted(rows: readonly Any[], keys: readonly { path: string; down: boolean; kind: Kind }[]): Any[] {
    return rows.toSorted((a, b) => {
      for (const { down, kind, path } of keys) {
        const [x, y] = [this.valuesAt(a, path.split('.'))[0], this.valuesAt(b, path.split('.'))[0]];
        if (x === y) continue;
        const nulls = this.#database === 'sqlite' ? -1 : 1;
        const difference = x === null ? nulls : y === null ? -nulls : this.compare(x, y, kind);
        if (difference !== 0) return down ? -difference : difference;
      }
      return a.id - b.id;
    });
  }
}

/** A condition as a request has it, and as the model does; null where the column is not there. */
function writtenOf(
  { column, flag, needle, operator: pick, picks, place }: Condition,
  model: InMemory,
  values: readonly (readonly Any[])[],
) {
  const isName = column > 2 || needle.length % 3 === 0;
  const kind = isName ? 'string' : model.kindOf(column);
  const path = `${places[place]}${isName ? 'name' : `field${column}`}`;
  const operator = operators[kind][pick % operators[kind].length] as string;
  const known = isName ? labels : (values[column] as readonly unknown[]);
  if (operator === 'exists') return { path, operator, values: [flag], text: String(flag), kind };
  if (['contains', 'starts', 'ends'].includes(operator)) return { path, operator, values: [needle], text: needle, kind };
  const chosen = picks.map((index) => known[index % known.length]).filter((value) => value !== null && value !== undefined);
  if (chosen.length === 0) return null;
  const escaped = (value: unknown) => String(value).replace(/[\\,]/g, '\\$&');
  const text = operator === 'in' ? chosen.map(escaped).join(',') : String(chosen[0]);
  return { path, operator, values: chosen, text, kind };
}

async function answer(application: TestApplication, path: string): Promise<string> {
  const { body, statusCode } = await application.app.inject(path);
  expect([path, statusCode, statusCode === 200 ? '' : body]).toEqual([path, 200, '']);
  return body;
}

describe.each(databases)('random list queries on %s', (database) => {
  test('match an in-memory model, compiled and through entities', { timeout: 300_000 + runs * 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(shelf, async (made) => {
        const fresh = await freshDatabase(database);
        const plain = await startApplication(applicationOf(made, fresh.url, false));
        const compiled = await startApplication(applicationOf(made, fresh.url, true));
        try {
          await fill(plain.application.mapper.em.fork() as Any, made);
          const model = new InMemory(made.columns, database);
          const rowsOf: Record<string, Any[]> = {};
          for (const list of ['all', 'shown', 'capped'])
            rowsOf[list] = JSON.parse(await answer(compiled, `/${list}.json?items_per_page=200`)).results;
          // values as JSON shows them, of whatever row has them
          const seen = made.columns.map((_, i) => {
            const found = places.flatMap((place) =>
              (rowsOf.all as Any[]).flatMap((row) => model.valuesAt(row, `${place}field${i}`.split('.'))),
            );
            return [...new Set(found.filter((value) => value !== null))];
          });
          for (const asked of made.requests) {
            const own = asked.conditions.flatMap((item) => writtenOf(item, model, seen) ?? []);
            const groups = asked.groups
              .map((group) => group.flatMap((item) => writtenOf(item, model, seen) ?? []))
              .filter((group) => group.length > 0);
            const keys = asked.sort.map(({ column, down, place }) => ({
              path: `${places[place]}field${column}`,
              down,
              kind: model.kindOf(column),
            }));
            const sort = keys.filter(({ path }, i) => keys.findIndex((other) => other.path === path) === i);
            const parameters = new Map<string, string>();
            const unique = own.filter(
              ({ operator, path }, i) => own.findIndex((other) => other.path === path && other.operator === operator) === i,
            );
            for (const { operator, path, text } of unique) parameters.set(`${path}[${operator}]`, text);
            const kept = groups.map((group) =>
              group.filter(
                ({ operator, path }, i) => group.findIndex((other) => other.path === path && other.operator === operator) === i,
              ),
            );
            for (const [i, group] of kept.entries()) {
              for (const { operator, path, text } of group) parameters.set(`or[${i}][${path}][${operator}]`, text);
            }
            if (sort.length > 0) parameters.set('sort', sort.map(({ down, path }) => (down ? '-' : '') + path).join());
            if (asked.q !== null) parameters.set('q', asked.q);
            const holds = (row: Any, item: (typeof unique)[number]) =>
              model.holds(row, item.path, item.operator, item.values, item.kind);
            for (const list of ['all', 'shown', 'capped']) {
              const query = [...parameters, ['items_per_page', String(asked.size)]]
                .map(([name, text]) => `${encodeURIComponent(name as string)}=${encodeURIComponent(text as string)}`)
                .join('&');
              const expected = model.sorted(
                (rowsOf[list] as Any[]).filter(
                  (row) =>
                    unique.every((item) => holds(row, item)) &&
                    (kept.length === 0 || kept.some((group) => group.every((item) => holds(row, item)))) &&
                    (asked.q === null || model.finds(row, asked.q)),
                ),
                sort,
              );
              const counted = list === 'capped' && expected.length > 3 ? 3 : expected.length;
              const found: Any[] = [];
              for (let at: string | null = `/${list}.json?${query}`; at !== null; ) {
                const text = await answer(compiled, at);
                expect(text).toBe(await answer(plain, at));
                const page = JSON.parse(text);
                // a capped count is known exactly where the page tells it
                if (list !== 'capped' || expected.length <= 3) expect([at, page.count]).toEqual([at, counted]);
                found.push(...page.results);
                at = page.pagination.next;
                expect(found.length).toBeLessThanOrEqual(expected.length);
              }
              expect([query, found]).toEqual([query, expected]);
              const byNumber = JSON.parse(await answer(compiled, `/${list}.json?${query}&page=2`)).results;
              expect(byNumber).toEqual(expected.slice(asked.size, asked.size * 2));
              const some = await answer(compiled, `/${list}.json?${query}&fields=id,box.name,tags.box.id`);
              expect(some).toBe(await answer(plain, `/${list}.json?${query}&fields=id,box.name,tags.box.id`));
              expect(JSON.parse(some).results).toEqual(
                expected.slice(0, asked.size).map(({ box, id, tags }) => ({
                  id,
                  box: box && { name: box.name },
                  tags: tags.map((tag: Any) => ({ box: tag.box && { id: tag.box.id } })),
                })),
              );
            }
          }
        } finally {
          await Promise.all([plain.close(), compiled.close()]);
          await fresh.drop();
        }
      }),
      { numRuns: runs, endOnFailure: true, ...casesOn(database) },
    );
  });
});
