import type { EntityMetadata } from '@mikro-orm/core';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { CompiledRead } from '../../src/query/rows/compiled-read.ts';
import { rootFilterOf } from '../../src/query/rows/root-filter.ts';
import { createSerializer } from '../../src/serialization/serializer.ts';
import { parseCsv, withoutMark } from '../support/csv.ts';
import { type DatabaseKind, databases, freshDatabase } from '../support/databases.ts';
import { casesOn } from '../support/random.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';
import { jsonNameOf, parseXml } from '../support/xml.ts';
import { fill } from './fill.ts';
import { className, filteredUniverse, looksAtOthers, modelsOf, rowsOf, sortOf, type Universe, universe } from './random-model.ts';

const runs = Number(process.env.FC_RUNS ?? 1);

/** How often a read was compiled, and why not. */
const tally = () => ({
  models: 0,
  unwritable: 0,
  unreadable: 0,
  compiled: 0,
  heeding: 0,
  refused: new Map<string, number>(),
  answers: 0,
  sought: 0,
});
const taken = { plain: tally(), filtered: tally() };
type Tally = ReturnType<typeof tally>;

function options(made: Universe, url: string, compiledReads: boolean) {
  const models = modelsOf(made);
  const methods = { GET: true, HEAD: true };
  const apis = Object.fromEntries(
    made.models.map((_, index) => [
      className(index),
      {
        class: models[index],
        base_path: `/m${index}`,
        actions: { _index: { methods }, _entity: { methods } },
        default_sort: sortOf(made, index),
        pagination: { items_per_page: 3 },
      },
    ]),
  );
  return {
    app_main: {
      apis,
      formats: ['json', 'ndjson', 'csv', 'xml'] as const,
      database: { url, schema: compiledReads ? ('none' as const) : ('update' as const) },
    },
    models,
    compiledReads,
  };
}

/** What PostgreSQL keeps and JavaScript does not: digits beyond the millisecond. */
async function addMicroseconds(application: TestApplication): Promise<void> {
  for (const meta of application.application.mapper.getMetadata().getAll().values()) {
    for (const property of Object.values(meta.properties)) {
      if (property.columnTypes?.[0] !== 'timestamptz(6)' || property.embedded || meta.embeddable || meta.root !== meta) continue;
      const quote = (name: string) => application.application.mapper.driver.getPlatform().quoteIdentifier(name);
      const column = quote(property.fieldNames[0] as string);
      await application.application.mapper.em
        .fork()
        .execute(
          `update ${quote(meta.tableName)} set ${column} = ${column} + interval '0.000789 seconds' where ${column} < '9999-01-01'`,
        );
    }
  }
}

async function planOf({ application: { mapper } }: TestApplication, index: number, sort: string[]) {
  const meta = [...mapper.getMetadata().getAll().values()].find(
    (candidate) => candidate.className === className(index),
  ) as EntityMetadata;
  const keys = sort.map((key) => ({
    property: key.replace(/^-/, ''),
    direction: key.startsWith('-') ? ('desc' as const) : ('asc' as const),
  }));
  const filter = await rootFilterOf(mapper, meta);
  const executor = { format: 'native' as const, rows: async () => [], underWay: () => 0, close: async () => {} };
  return CompiledRead.compile(mapper, meta, createSerializer(mapper, ['read']).planFor(meta), keys, executor, { filter });
}

async function answer(application: TestApplication, method: 'GET' | 'HEAD', path: string) {
  application.statements.length = 0;
  const response = await application.app.inject({ method, url: path });
  const { date: _, 'x-request-id': __, ...headers } = response.headers;
  return { answer: { path, status: response.statusCode, text: response.body, headers }, statements: [...application.statements] };
}

async function compare(database: DatabaseKind, made: Universe, counts: Tally): Promise<void> {
  const fresh = await freshDatabase(database);
  let plain: TestApplication | undefined;
  let compiled: TestApplication | undefined;
  try {
    plain = await startApplication(options(made, fresh.url, false));
    compiled = await startApplication(options(made, fresh.url, true));
    counts.models++;
    try {
      await fill(plain.application.mapper.em.fork(), plain, made);
    } catch (error) {
      // some sets of models are beyond the mapper itself, and there is nothing to read
      if (!(error instanceof TypeError)) throw error;
      counts.unwritable++;
      return;
    }
    if (database === 'postgresql') await addMicroseconds(plain);
    for (const index of made.models.keys()) await compareApi(plain, compiled, made, index, counts);
  } finally {
    await compiled?.close();
    await plain?.close();
    await fresh.drop();
  }
}

async function compareApi(
  plain: TestApplication,
  compiled: TestApplication,
  made: Universe,
  index: number,
  counts: Tally,
): Promise<void> {
  const plan = await planOf(compiled, index, sortOf(made, index));
  const isCompiled = plan instanceof CompiledRead;
  if (isCompiled && made.models[index]?.filter) counts.heeding++;
  if (isCompiled) counts.compiled++;
  else counts.refused.set(plan.needsEntity, (counts.refused.get(plan.needsEntity) ?? 0) + 1);
  const isRoot = made.models[index]?.family.endsWith('root') === true;
  const isShown = (model: number) => model === index || (isRoot && made.models[model]?.family === 'leaf');
  const ids = rowsOf(made).rows.flatMap(({ id, model }) => (isShown(model) ? [id] : []));
  const lists = ['', '?page=2', '?items_per_page=200', '?page=9'].map((query) => `/m${index}.json${query}`);
  const entities = [...ids, 999, '00000000-0000-4000-8000-000000000000'].map(
    (id) => `/m${index}/${encodeURIComponent(String(id))}.json`,
  );
  const asked = [
    ...[...lists, ...entities].map((path) => ['GET', path] as const),
    ...[lists[0], entities[0]].map((path) => ['HEAD', path as string] as const),
  ];
  const isFiltered = made.models.some(
    ({ family, filter }, other) =>
      filter && (other === index || (made.models[index]?.family === 'leaf' && family.endsWith('root'))),
  );
  const isOurs = isCompiled && !isFiltered;
  // a page is ordered and filtered by what filters leave of other models, and the query of an export by all that is there
  const isFixed =
    !made.models.some(({ filter }) => filter) ||
    (sortOf(made, index).every((key) => !key.includes('.')) && !made.models.some((_, other) => looksAtOthers(made, other)));
  const read = (path: string) => compareAnswer(plain, compiled, 'GET', path, isOurs, counts);
  await compareFormats(index, entities[0] as string, read, isFixed);
  const links: string[] = [];
  for (const [method, path] of asked) links.push(...linksIn(await compareAnswer(plain, compiled, method, path, isOurs, counts)));
  for (const link of new Set(links)) {
    await compareAnswer(plain, compiled, 'GET', link, isOurs, counts);
    if (/&(after|before)=/.test(link)) counts.sought++;
  }
}

/** Exports are the whole list, and every format says what JSON says. */
async function compareFormats(
  index: number,
  entity: string,
  read: (path: string) => Promise<string>,
  isFixed: boolean,
): Promise<void> {
  const list = await read(`/m${index}.json?items_per_page=200`);
  // some models are beyond the mapper itself
  if (!list.startsWith('{"count"')) return;
  const { results } = JSON.parse(list) as { results: unknown[] };
  const lines = await read(`/m${index}.ndjson`);
  if (isFixed) {
    expect(list).toContain(`"results":[${lines.trimEnd().split('\n').join()}],"pagination"`);
    compareCells(await read(`/m${index}.csv`), results);
  }
  const listInXml = await read(`/m${index}.xml`);
  // or their count is, which a page that holds every row does without
  if (!isInternalError(listInXml)) parseXml(listInXml);
  const text = await read(entity);
  for (const format of ['ndjson', 'csv', 'xml']) {
    const given = await read(entity.replace(/json$/, format));
    if (text.startsWith('{"type":"urn:')) continue;
    if (format === 'ndjson') expect(given).toBe(`${text}\n`);
    if (format === 'csv') compareCells(given, [JSON.parse(text)]);
    if (format === 'xml')
      expect(parseXml(given).children.map(({ name }) => jsonNameOf(name))).toEqual(Object.keys(JSON.parse(text)));
  }
}

function isInternalError(xml: string): boolean {
  return xml.includes('<code>internal_error</code>');
}

function compareCells(csv: string, objects: readonly unknown[]): void {
  // a model that shows nothing has no columns
  if (csv === '' || csv.startsWith('\r\n')) return;
  const { header, rows } = parseCsv(csv);
  const isShown = (name: string, item: unknown) =>
    header.some((column) => column === name || column.startsWith(`${name}.`)) || !holdsValues(item);
  for (const object of objects) {
    for (const [name, item] of Object.entries(object as object)) expect(isShown(name, item)).toBe(true);
  }
  const cells = objects.map((object) => header.map((column) => cellOf(column.split('.').reduce(memberOf, object))));
  // the only cell of a row is never bare
  const expected = header.length === 1 ? cells.map(([cell]) => [cell ?? '']) : cells;
  expect(rows.map((row) => row.map(withoutMark))).toEqual(expected);
}

/** Objects without fields have no columns. */
function holdsValues(value: unknown): boolean {
  if (typeof value !== 'object' || Array.isArray(value)) return true;
  return value !== null && Object.values(value).some(holdsValues);
}

function memberOf(value: unknown, name: string): unknown {
  return (value as Record<string, unknown> | null | undefined)?.[name] ?? null;
}

function cellOf(value: unknown): string | null {
  if (value === null) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

async function compareAnswer(
  plain: TestApplication,
  compiled: TestApplication,
  method: 'GET' | 'HEAD',
  path: string,
  isOurs: boolean,
  counts: Tally,
): Promise<string> {
  const expected = await answer(plain, method, path);
  const given = await answer(compiled, method, path);
  // some models are beyond the mapper itself
  if (expected.answer.status === 500) {
    counts.unreadable++;
    return expected.answer.text;
  }
  expect(given.answer).toEqual(expected.answer);
  counts.answers++;
  // the mapper's own reads quote the names that they give to tables
  if (isOurs) expect(given.statements.filter((sql) => /as [`"]/.test(sql))).toEqual([]);
  return given.answer.text;
}

function linksIn(text: string): string[] {
  const { pagination } = text.startsWith('{"count"') ? JSON.parse(text) : {};
  return [pagination?.next, pagination?.previous].filter((link) => typeof link === 'string');
}

describe.each(databases)('compiled reads on %s', (database) => {
  test('return the same bytes as entities for any models and data', { timeout: 300_000 + runs * 30_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(universe, (made) => compare(database, made, taken.plain)),
      { numRuns: runs, ...casesOn(database), endOnFailure: process.env.FC_SHRINK === undefined },
    );
  });

  test('apply filters that are on by default like entities do', { timeout: 300_000 + runs * 30_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(filteredUniverse, (made) => compare(database, made, taken.filtered)),
      { numRuns: runs, ...casesOn(database), endOnFailure: process.env.FC_SHRINK === undefined },
    );
  });
});

afterAll(() => {
  const refused = ({ refused: reasons }: Tally) => [...reasons.values()].reduce((sum, count) => sum + count, 0);
  if (process.env.FC_RUNS) console.log(taken);
  expect(taken.plain.compiled).toBeGreaterThan(0);
  // what few models have is a matter of chance
  if (taken.plain.models < 60) return;
  expect(taken.plain.sought).toBeGreaterThan(0);
  expect(taken.filtered.sought).toBeGreaterThan(0);
  expect(taken.plain.compiled).toBeGreaterThan(refused(taken.plain) * 9);
  expect(taken.filtered.heeding).toBeGreaterThan(taken.filtered.models / 4);
  for (const { answers, models, unreadable, unwritable } of Object.values(taken)) {
    expect(unwritable).toBeLessThan(models / 10);
    expect(unreadable).toBeLessThan(answers / 4);
  }
});
