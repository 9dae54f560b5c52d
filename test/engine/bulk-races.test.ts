import { defineEntity, p } from '@mikro-orm/core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Voter } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { seed } from '../support/random.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Item = defineEntity({
  name: 'Item',
  properties: {
    id: p.integer().primary().groups('read'),
    writer: p.string().groups('read', 'write'),
    version: p.integer().version().groups('read'),
  },
});
const Plain = defineEntity({
  name: 'Plain',
  properties: {
    id: p.integer().primary().groups('read'),
    code: p.string().unique().groups('read', 'write'),
    writer: p.string().groups('read', 'write'),
  },
});

class ItemVoter extends Voter {
  static override roles = ['ITEM'];
  async vote(_: string, subject: unknown) {
    await Promise.resolve();
    return subject === null || typeof (subject as { writer: unknown }).writer === 'string'
      ? ('grant' as const)
      : ('deny' as const);
  }
}

const methods = { GET: true, POST: true };
const bulk = { POST: true, PATCH: true, DELETE: true };
const single = { GET: true, PATCH: true, DELETE: true };
const rows = 16;
const requests = 100;

/** Numbers from 0 to 1, the same for the same seed. */
function randomFrom(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

interface Sent {
  readonly name: string;
  readonly method: 'PATCH' | 'DELETE';
  readonly ids: readonly number[];
}

interface Outcome extends Sent {
  readonly status: number;
  readonly code: string | undefined;
  readonly index: number | undefined;
  /** The version of each row after the change. */
  readonly versions: ReadonlyMap<number, number>;
}

/** The order of requests that the outcomes prove: a pair of names for each "happened before". */
function* before(outcomes: readonly Outcome[]): Generator<[string, string]> {
  const changed = outcomes.filter(({ method, status }) => method === 'PATCH' && status === 200);
  const removed = outcomes.filter(({ method, status }) => method === 'DELETE' && status === 204);
  for (const one of changed)
    for (const other of changed)
      for (const [id, version] of one.versions) if (version < (other.versions.get(id) ?? 0)) yield [one.name, other.name];
  for (const gone of removed) {
    for (const one of changed) if (one.ids.some((id) => gone.ids.includes(id))) yield [one.name, gone.name];
    for (const missed of outcomes.filter(({ status }) => status === 404)) {
      // rows before the missing one were found
      const found = missed.ids.slice(0, missed.index);
      if (gone.ids.includes(missed.ids[missed.index as number] as number)) yield [gone.name, missed.name];
      if (found.some((id) => gone.ids.includes(id))) yield [missed.name, gone.name];
    }
  }
}

/** A serial order that fits all pairs; null if there is none. */
function serialOrder(names: readonly string[], pairs: readonly [string, string][]): string[] | null {
  const order: string[] = [];
  const rest = new Set(names);
  while (rest.size > 0) {
    const free = [...rest].filter((name) => !pairs.some(([first, then]) => then === name && rest.has(first)));
    if (free.length === 0) return null;
    for (const name of free) rest.delete(name);
    order.push(...free);
  }
  return order;
}

describe.each(databases)(`concurrent lists on %s (TEST_SEED=${seed})`, (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  beforeEach(async () => {
    database = await freshDatabase(kind);
    const roles = { PATCH: 'ITEM', DELETE: 'ITEM' };
    app = await startApplication({
      app_main: {
        // on a busy machine, the requests wait longer for one another than applications should
        database: { url: database.url, schema: 'update', connect_timeout: 60_000 },
        apis: {
          item: {
            class: 'Item',
            base_path: '/api/item',
            actions: { _index: { methods, bulk }, _entity: { methods: single, roles } },
          },
          plain: {
            class: 'Plain',
            base_path: '/api/plain',
            actions: { _index: { methods, bulk }, _entity: { methods: single } },
          },
        },
      } as never,
      models: [Item, Plain],
      voters: [ItemVoter],
    });
  });
  afterEach(async () => {
    await app.close();
    await database.drop();
  });

  test('overlapping changes and removals match a serial order, and no deadlock reaches a caller', async () => {
    const random = randomFrom(seed);
    await app.request('POST', '/api/item.json', { json: Array.from({ length: rows }, () => ({ writer: 'nobody' })) });
    const sent = Array.from({ length: requests }, (_, i): Sent => {
      const shuffled = Array.from({ length: rows }, (__, id) => ({ id: id + 1, at: random() })).sort((a, b) => a.at - b.at);
      const isRemoval = random() < 0.03;
      const ids = shuffled.slice(0, isRemoval ? 2 : 2 + Math.floor(random() * 5)).map(({ id }) => id);
      return { name: `r${i}`, method: isRemoval ? 'DELETE' : 'PATCH', ids };
    });
    const outcomes = await Promise.all(
      sent.map(async ({ ids, method, name }): Promise<Outcome> => {
        const json = ids.map((id) => (method === 'PATCH' ? { id, writer: name } : { id }));
        const { json: body, status } = await app.request(method, '/api/item.json', { json, as: { id: name } });
        const changed = status === 200 ? (body.results as { id: number; version: number; writer: string }[]) : [];
        expect(changed.every(({ writer }) => writer === name)).toBe(true);
        const versions = new Map(changed.map((row) => [row.id, row.version]));
        return { name, method, ids, status, code: body?.code, index: body?.index, versions };
      }),
    );
    expect(new Set(outcomes.map(({ status }) => status))).not.toContain(500);
    expect(outcomes.filter(({ status }) => ![200, 204, 404].includes(status))).toEqual([]);
    expect(outcomes.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
    const order = serialOrder(
      sent.map(({ name }) => name),
      [...before(outcomes)],
    );
    expect(order).not.toBeNull();
    const expected = new Map(Array.from({ length: rows }, (_, i) => [i + 1, 'nobody']));
    for (const name of order as string[]) {
      const { ids, method, status } = outcomes.find((each) => each.name === name) as Outcome;
      if (status === 404) continue;
      for (const id of ids) if (method === 'PATCH') expected.set(id, name);
      for (const id of ids) if (method === 'DELETE') expected.delete(id);
    }
    const { results } = (await app.request('GET', '/api/item.json?items_per_page=100')).json;
    expect(new Map(results.map(({ id, writer }: { id: number; writer: string }) => [id, writer]))).toEqual(expected);
  });

  test('overlapping creations with a unique value succeed or conflict as a whole', async () => {
    const random = randomFrom(seed + 1);
    const codes = Array.from({ length: 30 }, (_, i) => `c${i}`);
    const lists = Array.from({ length: 60 }, (_, i) => {
      const some = codes.map((code) => ({ code, at: random() })).sort((a, b) => a.at - b.at);
      return some.slice(0, 4).map(({ code }) => ({ code, writer: `w${i}` }));
    });
    const outcomes = await Promise.all(
      lists.map(async (json) => ({ json, ...((await app.request('POST', '/api/plain.json', { json })) as { status: number }) })),
    );
    expect(outcomes.filter(({ status }) => status !== 201 && status !== 409)).toEqual([]);
    const created = lists.filter((_, i) => outcomes[i]?.status === 201).flat();
    const { results } = (await app.request('GET', '/api/plain.json?items_per_page=200')).json;
    const text = ({ code, writer }: { code: string; writer: string }) => `${code} ${writer}`;
    expect(results.map(text).sort()).toEqual(created.map(text).sort());
    expect(new Set(created.map(({ code }) => code)).size).toBe(created.length);
    // a list that conflicts with none of the others is created
    expect(created.length).toBeGreaterThan(0);
  });
});
