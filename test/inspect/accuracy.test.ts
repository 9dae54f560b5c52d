import { join } from 'node:path';
import { type EntityManager, type EntityMetadata, helper } from '@mikro-orm/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { accessMatrix } from '../../src/inspect/compare/matrix.ts';
import type { FieldAccess } from '../../src/inspect/route-fields.ts';
import { className, modelsOf, rowsOf, type Universe, universe } from '../query/random-model.ts';
import { databases, freshDatabase } from '../support/databases.ts';
import { casesOn } from '../support/random.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const runs = Number(process.env.FC_RUNS ?? 2);

/** Always tried: its lists have rows, as those of a few random ones need not. */
const known = fc.sample(universe, { seed: 4, numRuns: 1 });

/** The fields of the rows that can stand at a label, by key, for each class of them. */
function variantsAt(fields: readonly FieldAccess[], label: string): ReadonlyMap<string, FieldAccess>[] {
  const inside = fields.filter((field) => field.label.slice(0, Math.max(field.label.lastIndexOf('.'), 0)) === label);
  const classOf = (field: FieldAccess) => /^(?<name>[^:]+):/.exec(lastStep(field.label))?.groups?.name ?? '';
  const byClass = Map.groupBy(inside, classOf);
  // where rows of several classes can stand, one of them may have no field at all, and so no line
  const variants = byClass.has('') ? [...byClass.values()] : [...byClass.values(), []];
  return variants.map((those) => new Map(those.map((field) => [lastStep(field.path).replace(/\[\]$/, ''), field])));
}

function lastStep(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}

/** Whether objects have exactly the keys that the matrix says of one of the classes that can stand there, and so on within. */
function agrees(fields: readonly FieldAccess[], value: unknown, label = ''): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every((item) => agrees(fields, item, label));
  return variantsAt(fields, label).some((variant) => {
    const entries = Object.entries(value);
    return (
      entries.length === variant.size &&
      entries.every(([key, item]) => {
        const field = variant.get(key);
        // what a value holds is its own affair
        return field !== undefined && (field.kind === 'value' || agrees(fields, item, field.label));
      })
    );
  });
}

function differences(fields: readonly FieldAccess[], rows: readonly unknown[]): string[] {
  const labels = fields.map(({ label }) => label).join(' ');
  return rows.filter((row) => !agrees(fields, row)).map((row) => `${JSON.stringify(row)} is not as the matrix says: ${labels}`);
}

/** Compares what every list and every row of it answers with what the matrix says of the route. */
async function judge(running: TestApplication, ask: (path: string) => ReturnType<TestApplication['request']>) {
  const { routes } = accessMatrix(running.application);
  const found: string[] = [];
  let rows = 0;
  for (const route of routes.filter(({ action, method }) => action === 'list' && method === 'GET')) {
    const list = await ask(route.path.replace('{_format}', 'json'));
    expect(list.status, `${route.path}: ${list.text}`).toBe(200);
    found.push(...differences(route.read.fields, list.json.results).map((text) => `${route.path}: ${text}`));
    rows += list.json.results.length;
    const single = routes.find(({ action, api, method }) => action === 'fetch' && method === 'GET' && api === route.api);
    for (const { id } of single ? list.json.results.slice(0, 5) : []) {
      if (single === undefined || id === undefined) continue;
      const entity = await ask(single.path.replace('{id}', encodeURIComponent(String(id))).replace('{_format}', 'json'));
      expect(entity.status).toBe(200);
      found.push(...differences(single.read.fields, [entity.json]).map((text) => `${single.path}: ${text}`));
    }
  }
  return { found: [...new Set(found)], rows };
}

describe.each(databases)('the fields in the access matrix on %s', (database) => {
  test('are exactly the fields in the responses of the example', async () => {
    const fresh = await freshDatabase(database);
    const directory = join(import.meta.dirname, '..', '..', 'examples', 'courses');
    const running = await startApplication({ directory, env: {}, databaseUrl: fresh.url });
    try {
      const as = { id: 1, roles: ['ROLE_ADMIN'], centers: [1, 2, 3] };
      const { found, rows } = await judge(running, (path) => running.request('GET', path, { as }));
      expect(found).toEqual([]);
      expect(rows).toBeGreaterThan(50);
    } finally {
      await running.close();
      await fresh.drop();
    }
  });

  test('are exactly the fields in the responses of random models', async () => {
    let rows = 0;
    await fc.assert(
      fc.asyncProperty(universe, async (made) => {
        const fresh = await freshDatabase(database);
        const running = await startApplication(options(made, fresh.url));
        try {
          const filled = await fill(running.application.mapper.em.fork() as EntityManager, running, made).then(
            () => true,
            // rows that their own constraints refuse say nothing about fields
            () => false,
          );
          if (!filled) return;
          const judged = await judge(running, (path) => running.request('GET', path));
          expect(judged.found).toEqual([]);
          rows += judged.rows;
        } finally {
          await running.close();
          await fresh.drop();
        }
      }),
      { numRuns: runs, examples: known.map((made) => [made]), ...casesOn(database) },
    );
    expect(rows).toBeGreaterThan(0);
  });
});

function options(made: Universe, url: string) {
  const models = modelsOf(made);
  const apis = Object.fromEntries(
    made.models.map((_, index) => [
      className(index),
      { class: models[index], base_path: `/m${index}`, actions: { _index: null, _entity: { requirements: { id: '[^/]+' } } } },
    ]),
  );
  return { app_main: { apis, database: { url, schema: 'update' as const } }, models };
}

async function fill(em: EntityManager, { application }: TestApplication, made: Universe): Promise<void> {
  const { rows, links } = rowsOf(made);
  const metas = [...application.mapper.getMetadata().getAll().values()] as EntityMetadata[];
  const metaOf = (index: number) => metas.find((meta) => meta.className === className(index)) as EntityMetadata;
  const entities = new Map(
    rows.map((row) => [
      row,
      em.create(metaOf(row.model).class as never, { id: row.id, ...row.values } as never) as Record<string, never>,
    ]),
  );
  for (const entity of entities.values()) em.persist(entity as object);
  await em.flush();
  for (const { many, name, row, targets } of links) {
    const entity = entities.get(row) as Record<string, unknown>;
    const found = targets.map((target) => entities.get(target) as object);
    if (many) (entity[name] as { add(items: object[]): void }).add(found);
    else if (found[0]) helper(entity).assign({ [name]: found[0] } as never, { em });
  }
  await em.flush();
}
