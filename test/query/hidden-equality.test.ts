import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest } from '../../src/index.ts';
import { type DatabaseKind, databases, freshDatabase } from '../support/databases.ts';
import { casesOn } from '../support/random.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';
import { fill } from './fill.ts';
import { className, modelsOf, type RowData, rowsOf, sortOf, type Universe, universe } from './random-model.ts';

type Any = any;

const runs = Number(process.env.FC_RUNS ?? 1);
/** In so many answers chance evens out. */
const many = 500;

/** How the API of a model hides rows: those at these places, by a condition of one form or another. */
interface Hiding {
  readonly places: readonly boolean[];
  readonly form: 'condition' | 'not' | 'ordered' | 'limited' | 'returned';
}

const hiding: fc.Arbitrary<Hiding | null> = fc.option(
  fc.record({
    places: fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
    form: fc.constantFrom('condition', 'not', 'ordered', 'limited', 'returned'),
  }),
  { freq: 3 },
);

interface Hidden extends Universe {
  /** By model; null where its API shows everything. */
  readonly hidings: readonly (Hiding | null)[];
}

const hiddenUniverse: fc.Arbitrary<Hidden> = fc
  .record({ made: universe, hidings: fc.array(hiding, { minLength: 10, maxLength: 10 }) })
  .map(({ made, hidings }) => ({ ...made, hidings }));

/** Always tried, since it has rows that are hidden and reads that are compiled, as not every few of the random ones have. */
const known = fc.sample(hiddenUniverse, { seed: 4, numRuns: 1 });

const rootOf = ({ models }: Universe) => models.findIndex(({ family }) => family.endsWith('root'));

/** Whether the row's key is one that the API of a model hides. */
function hides(made: Hidden, model: number, row: RowData): boolean {
  const { rows } = rowsOf(made);
  const place = rows.findIndex(({ id, model: other }) => other === row.model && String(id) === String(row.id));
  return made.hidings[model]?.places[place % 12] === true;
}

/** Whether no API of the row's class shows it. */
function isHidden(made: Hidden, row: RowData): boolean {
  const doors = made.models[row.model]?.family === 'leaf' ? [row.model, rootOf(made)] : [row.model];
  return doors.every((model) => hides(made, model, row));
}

function restrict(made: Hidden, model: number, query: Any): unknown {
  const family = (other: number) => other === model || (made.models[other]?.family === 'leaf' && rootOf(made) === model);
  const rows = rowsOf(made).rows.filter((row) => family(row.model));
  const shown = rows.filter((row) => !hides(made, model, row)).map(({ id }) => id);
  const hidden = rows.filter((row) => hides(made, model, row)).map(({ id }) => id);
  switch (made.hidings[model]?.form) {
    case 'not':
      return void query.andWhere({ id: { $nin: hidden } });
    case 'ordered':
      return void query.andWhere({ id: { $in: shown } }).orderBy({ id: 'desc' });
    case 'limited':
      return void query.andWhere({ id: { $in: shown } }).limit(1000);
    case 'returned':
      return query.clone().andWhere({ id: { $in: shown } });
    default:
      return void query.andWhere({ id: { $in: shown } });
  }
}

function options(made: Hidden, url: string, { compiledReads, hiding: isHiding }: { compiledReads: boolean; hiding: boolean }) {
  const models = modelsOf(made);
  const methods = { GET: true, HEAD: true };
  const controllers = made.models.map((_, index) => {
    const name = `Controller${index}`;
    return {
      [name]: class extends ApiController {
        override customizeQuery(_action: string, _request: ApiRequest, query: Any) {
          return restrict(made, index, query);
        }
      },
    }[name] as new () => ApiController;
  });
  const apis = Object.fromEntries(
    made.models.map((_, index) => [
      className(index),
      {
        class: models[index],
        base_path: `/m${index}`,
        actions: { _index: { methods }, _entity: { methods } },
        default_sort: sortOf(made, index),
        pagination: { items_per_page: 3 },
        ...(isHiding && made.hidings[index] && { controller: controllers[index] }),
      },
    ]),
  ) as Any;
  return { app_main: { apis, database: { url, schema: 'update' as const } }, models, controllers, compiledReads };
}

async function answer(application: TestApplication, path: string) {
  const { statusCode: status, body: text } = await application.app.inject({ method: 'GET', url: path });
  return { path, status, text };
}

const tally = { answers: 0, hidden: 0, compiled: 0 };

async function compare(database: DatabaseKind, made: Hidden): Promise<void> {
  const [fresh, pruned] = [await freshDatabase(database), await freshDatabase(database)];
  const open: TestApplication[] = [];
  const start = async (url: string, how: { compiledReads: boolean; hiding: boolean }) => {
    const started = await startApplication(options(made, url, how));
    open.push(started);
    return started;
  };
  try {
    const general = await start(fresh.url, { compiledReads: false, hiding: true });
    const compiled = await start(fresh.url, { compiledReads: true, hiding: true });
    // where nothing is hidden, and nobody has a link to what is hidden elsewhere
    const expected = await start(pruned.url, { compiledReads: false, hiding: false });
    try {
      await fill(general.application.mapper.em.fork(), general, made);
      await fill(expected.application.mapper.em.fork(), expected, made, (row) => !isHidden(made, row));
    } catch (error) {
      // some sets of models are beyond the mapper itself, and there is nothing to read
      if (!(error instanceof TypeError)) throw error;
      return;
    }
    const { rows } = rowsOf(made);
    tally.hidden += rows.filter((row) => isHidden(made, row)).length;
    for (const row of rows) {
      const path = `/m${row.model}/${encodeURIComponent(String(row.id))}.json`;
      const seen = await answer(general, path);
      compiled.statements.length = 0;
      expect(await answer(compiled, path)).toEqual(seen);
      if (compiled.statements.some((sql) => / e\.[`"]/.test(sql))) tally.compiled++;
      if (hides(made, row.model, row)) expect(seen.status).toBe(404);
      else expect(seen).toEqual(await answer(expected, path));
      tally.answers++;
    }
    for (const index of made.models.keys()) {
      for (const query of ['', '?page=2', '?items_per_page=200']) {
        const path = `/m${index}.json${query}`;
        expect(await answer(compiled, path)).toEqual(await answer(general, path));
      }
    }
  } finally {
    for (const application of open) await application.close();
    await fresh.drop();
    await pruned.drop();
  }
}

describe.each(databases)('rows hidden by their API on %s', (database) => {
  test('are never embedded, compiled or through entities, as if no row referred to them', {
    timeout: 300_000 + runs * 30_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(hiddenUniverse, (made) => compare(database, made)),
      {
        numRuns: runs,
        examples: known.map((made) => [made]),
        ...casesOn(database),
        endOnFailure: process.env.FC_SHRINK === undefined,
      },
    );
  });
});

afterAll(() => {
  if (process.env.FC_RUNS) console.log(tally);
  expect(tally.hidden).toBeGreaterThan(0);
  expect(tally.compiled).toBeGreaterThan(tally.answers > many ? tally.answers / 4 : 0);
});
