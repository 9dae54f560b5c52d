// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { Random, seed } from '../support/random.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

/** The requests of each client. */
const requests = Number(process.env.FC_RUNS ?? 1) * 50;

const Region: Any = defineEntity({ name: 'Region', properties: { id: p.integer().primary().groups('read') } });
const Center: Any = defineEntity({
  name: 'Center',
  properties: {
    id: p.integer().primary().groups('read'),
    region: () => p.manyToOne(Region).nullable().deleteRule('cascade').groups('write'),
  },
} as never);
const Tag: Any = defineEntity({ name: 'Tag', properties: { id: p.integer().primary().groups('read') } });

const columns = () => ({
  title: p.string().default('').groups('read', 'write'),
  note: p.string().nullable().groups('read', 'write'),
  data: p.json().nullable().groups('read', 'write'),
  center: () => p.manyToOne(Center).nullable().groups('read', 'write'),
  tags: () => p.manyToMany(Tag).groups('read', 'write'),
  revision: p.integer().version().groups('read'),
});

/** Written by statements. */
const Plain: Any = defineEntity({
  name: 'Plain',
  properties: { id: p.integer().primary().groups('read'), ...columns() },
} as never);
/** Rules run on objects made of rows. */
const RuledSchema: Any = defineEntity({
  name: 'Ruled',
  properties: { id: p.integer().primary().groups('read'), count: p.integer().default(0).groups('read'), ...columns() },
} as never);
class Ruled extends RuledSchema.class {
  addTag(tag: object) {
    this.tags.add(tag);
    this.count = this.tags.count();
  }
  removeTag(tag: object) {
    this.tags.remove(tag);
    this.count = this.tags.count();
  }
  validate() {
    return this.title === 'bad' ? [{ propertyPath: 'title', title: 'is bad' }] : [];
  }
}
RuledSchema.setClass(Ruled);
/** Written by statements, except for links: it shares its table. */
const Base: Any = defineEntity({
  name: 'Base',
  discriminatorColumn: 'type',
  abstract: true,
  properties: { id: p.integer().primary().groups('read'), type: p.string().groups('read'), ...columns() },
} as never);
const Derived: Any = defineEntity({
  name: 'Derived',
  extends: Base,
  discriminatorValue: 'derived',
  properties: { extra: p.string().nullable().groups('read', 'write') },
} as never);
const Pair: Any = defineEntity({
  name: 'Pair',
  properties: { one: p.integer().primary().groups('read'), two: p.integer().primary().groups('read'), ...columns() },
} as never);

/** Has MikroORM write rows, between requests that write the same ones by statements. */
class HookedController extends ApiController<Any> {
  override afterValidation() {}
}

const actions = {
  _index: { methods: { GET: true, POST: true }, bulk: { PATCH: true, DELETE: true } },
  _entity: { methods: { GET: true, PATCH: true, PUT: true, DELETE: true } },
  tags: { methods: { POST: true, DELETE: true }, association: { property: 'tags', types: [Tag] } },
} as const;
const kinds = { plain: Plain, ruled: Ruled, derived: Derived, pair: Pair } as const;
type Kind = keyof typeof kinds;

const apis = Object.fromEntries([
  ...Object.entries(kinds).flatMap(([name, type]) => [
    [name, { class: type, base_path: `/${name}`, actions }],
    [`hooked_${name}`, { class: type, base_path: `/hooked_${name}`, controller: HookedController, actions }],
  ]),
  ['center', { class: Center, base_path: '/center', actions: { _index: { methods: { POST: true } }, _entity: actions._entity } }],
  ['region', { class: Region, base_path: '/region', actions: { _index: { methods: { POST: true } }, _entity: actions._entity } }],
  ['tag', { class: Tag, base_path: '/tag', actions: { _index: { methods: { POST: true } } } }],
]);

interface Seen {
  readonly tag: string;
  readonly revision: number;
}

describe.each(databases)('versions of rows on %s', (kind) => {
  let database: FreshDatabase;
  const apps: TestApplication[] = [];
  beforeAll(async () => {
    database = await freshDatabase(kind);
    for (const schema of ['update', 'none'] as const)
      apps.push(
        await startApplication({
          models: [Region, Center, Tag, Plain, Ruled, Base, Derived, Pair],
          controllers: [HookedController],
          app_main: { database: { url: database.url, schema }, apis } as Any,
        }),
      );
  });
  afterAll(async () => {
    for (const app of apps) await app.close();
    await database?.drop();
  });

  /** The contents that were seen, by row and version. */
  const bodies = new Map<string, string>();
  const faults: string[] = [];
  const rowsOf = { plain: [1, 2], ruled: [1, 2], derived: [1, 2], pair: ['1,1', '1,2'] } as const;
  /** The requests that changed a row on condition of a tag, by row and tag. */
  const used = new Map<string, string>();

  const keyOf = (name: Kind, body: Any) => `${name} ${name === 'pair' ? `${body.one},${body.two}` : body.id}`;

  function note(name: Kind, body: Any, by: string): void {
    const key = `${keyOf(name, body)} revision ${body.revision}`;
    // another statement reads the tags, which can be newer than the row
    const { revision: _, tags: __, ...state } = body;
    state.center = state.center?.id ?? null;
    const text = JSON.stringify(state);
    const known = bodies.get(key);
    if (known !== undefined && known !== text) faults.push(`${key} was ${known}, and after ${by} it is ${text}`);
    bodies.set(key, text);
  }

  async function client(number: number): Promise<void> {
    const random = new Random(seed + number);
    const seen = new Map<string, Seen>();
    const send = async (method: string, path: string, options: object = {}) =>
      (apps[random.below(apps.length)] as TestApplication).request(method, path, options as never);
    const made = { center: 0, region: 0 };
    const fields = (): Record<string, unknown> => {
      const all: Record<string, () => unknown> = {
        title: () => random.of(['a', 'b', 'c', 'bad']),
        note: () => random.of([null, 'x', 'X', 'x ']),
        data: () => random.of<unknown>([null, { a: 1 }, { a: random.below(3) }, [1], 'text']),
        center: () => (made.center && random.chance(0.8) ? { id: made.center } : null),
        tags: () => random.some([1, 2, 3]).map((id) => ({ id })),
      };
      return Object.fromEntries(Object.keys(all).flatMap((name) => (random.chance(0.35) ? [[name, all[name]?.()]] : [])));
    };
    for (let i = 0; i < requests; i++) {
      const name = random.of(Object.keys(kinds) as Kind[]);
      const id = random.of<string | number>(rowsOf[name]);
      const path = `/${random.of(['', 'hooked_'])}${name}`;
      const own = `${name} ${id}`;
      const before = seen.get(own);
      const headers = before && random.chance(0.5) ? { 'if-match': before.tag } : {};
      const what = random.of(['get', 'patch', 'patch', 'patch', 'put', 'link', 'unlink', 'bulk', 'removal', 'region', 'center']);
      const by = `${what} ${path}/${id}`;
      if (what === 'region' || what === 'center') {
        if (made.region === 0 || random.chance(0.3)) made.region = (await send('POST', '/region.json', { json: {} })).json.id;
        const json = random.chance(0.5) ? { region: { id: made.region } } : {};
        made.center = (await send('POST', '/center.json', { json })).json?.id ?? 0;
        continue;
      }
      if (what === 'removal') {
        const which = random.of(['center', 'region'] as const);
        if (made[which]) {
          const { status } = await send('DELETE', `/${which}/${made[which]}.json`);
          if (![204, 404].includes(status)) faults.push(`${by}: ${status}`);
        }
        made[which] = 0;
        if (which === 'region') made.center = 0;
        continue;
      }
      if (what === 'bulk') {
        const items = random.some([...rowsOf[name]] as (string | number)[]).map((key) => ({
          ...(name === 'pair' ? { one: Number(String(key).split(',')[0]), two: Number(String(key).split(',')[1]) } : { id: key }),
          ...(name === 'derived' && { type: 'derived' }),
          ...(seen.get(`${name} ${key}`) && random.chance(0.3) && { _if_match: (seen.get(`${name} ${key}`) as Seen).tag }),
          ...fields(),
        }));
        if (items.length === 0) continue;
        const { json, status } = await send('PATCH', `${path}.json`, { json: items });
        if (status >= 500) faults.push(`${by}: ${status} ${JSON.stringify(json)}`);
        if (status !== 200) continue;
        for (const each of json.results) {
          const sent = items.find((item: Any) => keyOf(name, item) === keyOf(name, each)) as Any;
          note(name, each, by);
          if (sent?._if_match)
            check(own, { tag: sent._if_match, revision: seen.get(keyOf(name, each))?.revision ?? 0 }, each.revision, by);
        }
        continue;
      }
      if (what === 'link' || what === 'unlink') {
        const method = what === 'link' ? 'POST' : 'DELETE';
        const { json, status } = await send(method, `${path}/${id}/tags.json`, { json: { id: 1 + random.below(3) }, headers });
        if (![200, 412].includes(status)) faults.push(`${by}: ${status} ${JSON.stringify(json)}`);
        continue;
      }
      const json = what === 'put' ? { title: 'put', note: null, data: null, center: null, tags: [], ...fields() } : fields();
      const {
        json: body,
        status,
        headers: returned,
      } = what === 'get'
        ? await send('GET', `${path}/${id}.json`)
        : await send(what === 'put' ? 'PUT' : 'PATCH', `${path}/${id}.json`, { json, headers });
      if (![200, 412, 422, 400].includes(status)) faults.push(`${by}: ${status} ${JSON.stringify(body)} ${JSON.stringify(json)}`);
      if (status === 400 && body.code !== 'invalid_reference') faults.push(`${by}: ${JSON.stringify(body)}`);
      if (status === 412) seen.delete(own);
      if (status !== 200) continue;
      note(name, body, by);
      if (what !== 'get' && before && 'if-match' in headers) check(own, before, body.revision, by);
      seen.set(own, { tag: returned.get('etag') as string, revision: body.revision });
    }
  }

  /** A change on condition of a tag starts from the version that had the tag, and makes the next one or none. */
  function check(own: string, { revision, tag }: Seen, after: number, by: string): void {
    if (after !== revision && after !== revision + 1) faults.push(`${by}: from revision ${revision} to ${after}`);
    if (after === revision) return;
    const other = used.get(`${own} ${tag}`);
    if (other) faults.push(`${own} ${tag} let both ${other} and ${by} change the row`);
    used.set(`${own} ${tag}`, by);
  }

  test('each have one content, and let one conditional request change it, with concurrent requests to two servers', {
    timeout: 600_000,
  }, async () => {
    const [app] = apps as [TestApplication];
    for (let i = 0; i < 3; i++) await app.request('POST', '/tag.json', { json: {} });
    for (const name of Object.keys(kinds) as Kind[])
      for (const id of rowsOf[name]) {
        const [one, two] = String(id).split(',');
        const em = app.application.mapper.em.fork() as Any;
        em.create(kinds[name], name === 'pair' ? { one: Number(one), two: Number(two) } : { id });
        await em.flush();
      }
    await Promise.all(Array.from({ length: 6 }, (_, number) => client(number)));
    for (const name of Object.keys(kinds) as Kind[])
      for (const id of rowsOf[name]) note(name, (await app.request('GET', `/${name}/${id}.json`)).json, 'end');
    if (process.env.FC_RUNS) console.log({ contents: bodies.size, conditional: used.size });
    expect({ seed, faults: faults.slice(0, 5) }).toEqual({ seed, faults: [] });
    expect(used.size).toBeGreaterThan(0);
    expect(bodies.size).toBeGreaterThan(50);
  });
});
