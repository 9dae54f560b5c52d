import { defineEntity, p } from '@mikro-orm/core';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { ApiController, type ApiRequest, type ModelQuery } from '../../src/index.ts';
import { type DatabaseKind, databases, freshDatabase } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { numbersOn, seed } from '../support/random.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';
import { answerOf, inspect } from './support/target.ts';

/** Stands in every value that must not leave: of fields outside the group `read`, and of rows that a restriction hides. */
const mark = 'MARK';
const runs = Number(process.env.ATTACK_RUNS ?? 2);
const requestsPerRun = 120;
const rowsPerModel = 6;

interface ColumnSpec {
  readonly kind: 'string' | 'text' | 'json';
  readonly read: boolean;
  readonly write: boolean;
  readonly unique: boolean;
}

interface ModelSpec {
  readonly columns: readonly ColumnSpec[];
  readonly restricted: boolean;
  readonly baseRole: 'ROLE_A' | 'ROLE_B' | null;
  readonly writeRole: 'ROLE_B' | null;
  readonly sort: number;
  readonly link: { readonly to: number; readonly many: boolean; readonly read: boolean; readonly write: boolean };
  readonly peeks: boolean;
  readonly changesByAction: boolean;
  readonly second: boolean;
  /** What a list can be asked: of each text that it shows, a choice of operators, sorting and searching. */
  readonly asks: readonly { readonly operators: readonly string[]; readonly sort: boolean; readonly search: boolean }[];
  readonly formats: readonly string[];
}

const textOperators = ['eq', 'ne', 'in', 'lt', 'gte', 'contains', 'starts', 'ends', 'exists'];

const model: fc.Arbitrary<ModelSpec> = fc.record({
  columns: fc.array(
    fc.record({
      kind: fc.constantFrom('string', 'text', 'json'),
      read: fc.boolean(),
      write: fc.boolean(),
      unique: fc.boolean(),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  restricted: fc.constantFrom(true, true, false),
  baseRole: fc.constantFrom('ROLE_A', 'ROLE_B', null),
  writeRole: fc.constantFrom('ROLE_B', null),
  sort: fc.nat(5),
  link: fc.record({ to: fc.nat(2), many: fc.boolean(), read: fc.constantFrom(true, true, false), write: fc.boolean() }),
  peeks: fc.boolean(),
  changesByAction: fc.boolean(),
  second: fc.boolean(),
  asks: fc.array(
    fc.record({ operators: fc.subarray(textOperators, { minLength: 1 }), sort: fc.boolean(), search: fc.boolean() }),
    { minLength: 9, maxLength: 9 },
  ),
  formats: fc.subarray(['csv', 'ndjson', 'xml']),
}) as never;

const universe = fc.tuple(model, model, model);
type Universe = readonly [ModelSpec, ModelSpec, ModelSpec];

interface AskedSpec {
  readonly filters: Readonly<Record<string, readonly string[]>>;
  readonly sort: readonly string[];
  readonly search?: readonly string[];
  readonly formats: readonly string[];
}

/** The declarations of what a model's lists can be asked, through its association too. */
function askedOf(models: Universe, index: number): AskedSpec {
  const spec = models[index] as ModelSpec;
  const target = models[spec.link.to] as ModelSpec;
  // a model in itself is cut to a reference, and shows its id alone
  const isEmbedded = spec.link.read && spec.link.to !== index;
  const texts = ({ columns }: ModelSpec, prefix = '') =>
    columns.flatMap(({ kind, read }, i) => (read && kind !== 'json' ? [`${prefix}field${i}`] : []));
  const own = texts(spec);
  const linked = isEmbedded ? texts(target, 'link.') : [];
  const chosen = [...own, ...linked].map((name, i) => ({ name, ...(spec.asks[i] as ModelSpec['asks'][number]) }));
  const isSortable = (name: string) => !name.startsWith('link.') || (!spec.link.many && !target.restricted && !target.peeks);
  const search = chosen.filter((each) => each.search).map(({ name }) => name);
  return {
    filters: {
      id: ['eq', 'in', 'lt'],
      ...Object.fromEntries(chosen.map(({ name, operators }) => [name, operators])),
      ...(spec.link.read && { link: ['exists'], 'link.id': ['eq', 'ne', 'in'] }),
    },
    sort: ['id', ...chosen.filter(({ name, sort }) => sort && isSortable(name)).map(({ name }) => name)],
    ...(search.length > 0 && { search }),
    formats: ['json', ...spec.formats],
  };
}

function applicationOf(models: Universe) {
  const classes: any[] = [];
  for (const [index, spec] of models.entries()) {
    const properties: Record<string, unknown> = {
      id: p.integer().primary().groups('read'),
      // says whether a restriction shows the row
      shown: p.boolean().default(true),
      own: p.string().nullable(),
    };
    for (const [i, { kind, read, unique, write }] of spec.columns.entries()) {
      let property: any = kind === 'json' ? p.json() : kind === 'text' ? p.text() : p.string().length(60);
      if (unique && kind === 'string') property = property.unique();
      properties[`field${i}`] = property.nullable().groups(...(read ? ['read'] : []), ...(write ? ['write'] : []), 'other');
    }
    properties.link = () => {
      const target = classes[spec.link.to];
      const property: any = spec.link.many ? p.manyToMany(target) : p.manyToOne(target).nullable();
      return property.groups(...(spec.link.read ? ['read'] : []), ...(spec.link.write ? ['write'] : []), 'other');
    };
    classes.push(defineEntity({ name: `Model${index}`, properties } as never));
  }
  const apis: Record<string, unknown> = {};
  const controllers: unknown[] = [];
  for (const [index, spec] of models.entries()) {
    class Controller extends ApiController {
      override customizeQuery(_action: string, _request: ApiRequest, query: ModelQuery<any>) {
        if (spec.restricted) query.andWhere({ shown: true });
      }
      peekApi(id: number, request: ApiRequest) {
        return this.getEntity('peek', id, request);
      }
    }
    Object.defineProperty(Controller, 'name', { value: `Controller${index}` });
    if (spec.restricted || spec.peeks) controllers.push(Controller);
    const roles = spec.writeRole
      ? { POST: spec.writeRole, PATCH: spec.writeRole, PUT: spec.writeRole, DELETE: spec.writeRole }
      : {};
    const api = (base_path: string) => ({
      class: classes[index],
      controller: spec.restricted || spec.peeks ? Controller : null,
      base_path,
      base_role: spec.baseRole,
      ...askedOf(models, index),
      default_sort: spec.sort < spec.columns.length && spec.columns[spec.sort]?.kind === 'string' ? [`field${spec.sort}`] : [],
      actions: {
        _index: { methods: { GET: true, HEAD: true, POST: true }, roles },
        _entity: { methods: { GET: true, HEAD: true, PATCH: true, PUT: true, DELETE: true }, roles },
        ...(spec.peeks && { peek: { methods: { GET: true, HEAD: true, POST: true } } }),
        ...(spec.changesByAction && spec.link.many && { link: { association: { property: 'link' } } }),
      },
    });
    apis[`model${index}`] = api(`/m${index}`);
    if (spec.second) apis[`second${index}`] = api(`/s${index}`);
  }
  return {
    app_main: { security: { jwt: { secret: 'a secret of chance that is long enough' } }, apis } as never,
    models: classes,
    controllers,
    seed: (em: any) => fill(em, models, classes),
  };
}

async function fill(em: any, models: Universe, classes: any[]): Promise<void> {
  let number = 0;
  const rows = models.map(() => [] as any[]);
  for (const [index, spec] of models.entries()) {
    for (let i = 0; i < rowsPerModel; i++) {
      const isHidden = spec.restricted && i % 2 === 1;
      const values: Record<string, unknown> = { shown: !isHidden, own: `${mark}-${++number}` };
      for (const [j, { kind, read }] of spec.columns.entries()) {
        const text = `${isHidden || !read ? mark : 'plain'}-${++number}`;
        values[`field${j}`] = kind === 'json' ? { [text]: [text] } : text;
      }
      rows[index]?.push(em.create(classes[index], values));
      await em.flush();
    }
  }
  for (const [index, { link }] of models.entries()) {
    for (const [i, row] of (rows[index] ?? []).entries()) {
      const target = rows[link.to]?.[(i * 5 + 1) % rowsPerModel];
      if (link.many) row.link.add(target);
      else row.link = target;
    }
  }
  await em.flush();
}

const id = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: rowsPerModel + 2 }).map(String) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '0',
      '01',
      '-1',
      '1e0',
      '99999999999999999999',
      '%31',
      '1%00',
      '__proto__',
      "1'",
      '1;',
      '2147483648',
    ),
  },
);
const field = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('field0', 'field1', 'field2', 'field3', 'link') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('id', 'type', 'shown', 'own', 'Field0', 'field0.x', 'link.own', 'constructor', 'toString', ''),
  },
);
const reference = fc.oneof(
  fc.record({
    id: fc.oneof(fc.integer({ min: -1, max: rowsPerModel + 2 }), fc.constantFrom('1', null, [1], { id: 1 }, 1.5, 2 ** 40)),
  }),
  fc.record({
    id: fc.integer({ min: 1, max: rowsPerModel }),
    type: fc.constantFrom('model0', 'model1', 'model2', 'Model0', null),
  }),
);
const value = fc.oneof(
  fc.string({ maxLength: 70, unit: 'binary' }),
  fc.constantFrom('plain', 'plain-1', '', null, true, 0, -1, 1e300),
  reference,
  fc.array(reference, { maxLength: 3 }),
  fc.jsonValue({ maxDepth: 2 }),
);
const body = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.array(fc.tuple(field, value), { maxLength: 4 }).map((entries) => JSON.stringify(Object.fromEntries(entries))),
  },
  { weight: 2, arbitrary: reference.map((given) => JSON.stringify(given)) },
  { weight: 1, arbitrary: fc.constantFrom('', '[]', 'null', '{', '{"__proto__":{"id":1}}', '{"id":1,"id":2}', '\ufeff{}') },
);
const askable = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('id', 'id', 'field0', 'field1', 'link.field0', 'link.id', 'link') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('field2', 'field3', 'link.field2', 'own', 'shown', 'link.own', 'link.link.id', '__proto__'),
  },
);
const operand = fc.oneof(
  fc.constantFrom('mark', 'mark-1', 'plain', 'plain-2', '%', '_', "'", '\\', '1', '2', '1,2', 'true', 'false', '', '=1', '\0'),
  fc.string({ maxLength: 6 }),
);
/** A name that the list declares, with one of its operators, which is put in once it is known which list is asked. */
const declared = fc.tuple(fc.nat(9), fc.nat(9)).map(([name, operator]) => `~f${name}${operator}`);
const condition = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(declared, operand).map(([name, text]) => `${name}=${encodeURIComponent(text)}`) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(askable, fc.constantFrom('', ...textOperators.map((operator) => `[${operator}]`), '[like]'), operand)
      .map(([name, operator, text]) => `${name}${operator}=${encodeURIComponent(text)}`),
  },
);
const grouped = fc
  .array(condition, { minLength: 1, maxLength: 3 })
  .map((all) => all.map((each, i) => `or[${i}]~(${each}`).join('&'));
const sortable = fc.oneof({ weight: 4, arbitrary: fc.nat(9).map((name) => `~s${name}`) }, { weight: 1, arbitrary: askable });
const asking = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: condition },
      { weight: 1, arbitrary: grouped },
      { weight: 2, arbitrary: operand.map((text) => `q=${encodeURIComponent(text)}`) },
      { weight: 2, arbitrary: fc.tuple(fc.constantFrom('', '-'), sortable).map((parts) => `sort=${parts.join('')}`) },
      { weight: 2, arbitrary: fc.array(askable, { minLength: 1, maxLength: 3 }).map((names) => `fields=${names.join()}`) },
    ),
    { minLength: 1, maxLength: 2 },
  )
  .map((parts) => `?${parts.join('&')}`);
const query = fc.oneof(
  { weight: 3, arbitrary: fc.constant('') },
  { weight: 8, arbitrary: asking },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 3 }))
      .map(([page, size]) => `?page=${page}&items_per_page=${size}`),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '?page=0',
      '?sort=own',
      '?fields=own',
      '?own=x',
      '?filter[own]=M',
      '?page=1&page=2',
      '?after=x&page=2',
      '?groups=other',
      '?%',
    ),
  },
);
const request = fc.record({
  isAstray: fc.constantFrom(true, false, false, false, false),
  method: fc.constantFrom('GET', 'GET', 'GET', 'GET', 'GET', 'GET', 'GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS'),
  api: fc.tuple(fc.constantFrom('m', 'm', 'm', 's'), fc.nat(2)).map((parts) => parts.join('')),
  place: fc.oneof(
    { weight: 5, arbitrary: fc.constant('') },
    { weight: 3, arbitrary: id.map((given) => `/${given}`) },
    { weight: 1, arbitrary: id.map((given) => `/${given}/peek`) },
    { weight: 1, arbitrary: id.map((given) => `/${given}/link`) },
  ),
  format: fc.constantFrom('.json', '.json', '.json', '.json', '.json', '.json', '.csv', '.ndjson', '.xml', '', '.json/'),
  query,
  body,
  type: fc.constantFrom(
    'application/json',
    'application/json',
    'application/json',
    'application/json',
    'text/plain',
    'application/merge-patch+json',
  ),
  user: fc.constantFrom(
    null,
    { id: 'a', roles: ['ROLE_A'] },
    { id: 'b', roles: ['ROLE_B'] },
    { id: 'ab', roles: ['ROLE_A', 'ROLE_B'] },
  ),
});

/** Puts the names in that the list has declared. */
function withNames(models: Universe, api: string, parameters: string): string {
  const { filters, sort } = askedOf(models, Number(api.slice(1)));
  const entries = Object.entries(filters);
  const at = <T>(list: readonly T[], index: string) => list[Number(index) % list.length] as T;
  return parameters
    .replaceAll(/~f(\d)(\d)/g, (_, name, operator) => {
      const [field, operators] = at(entries, name);
      return `${field}[${at(operators, operator)}]`;
    })
    .replaceAll(/~s(\d)/g, (_, name) => at(sort, name))
    .replaceAll(/~\(([^[=]*)/g, '[$1]');
}

/** Most requests are led to what is declared; the others go astray. */
function aimed(models: Universe, asked: ReturnType<typeof pick>): ReturnType<typeof pick> {
  const query = withNames(models, asked.api, asked.query);
  if (asked.isAstray) return { ...asked, query };
  const index = Number(asked.api.slice(1));
  const { changesByAction, formats, link, peeks, second } = models[index] as ModelSpec;
  const isThere = { peek: peeks, link: changesByAction && link.many } as Readonly<Record<string, boolean>>;
  const [, number, action = ''] = asked.place.split('/');
  const place = isThere[action] ? asked.place : number === undefined ? '' : `/${number}`;
  const enabled = action !== '' && place === asked.place ? actionMethods[action] : place === '' ? listMethods : rowMethods;
  return {
    ...asked,
    api: asked.api.startsWith('s') && !second ? `m${index}` : asked.api,
    place,
    method: enabled?.includes(asked.method) ? asked.method : enabled?.[0],
    format: formats.includes(asked.format.slice(1)) ? asked.format : '.json',
    query: place === '' ? query : '',
  };
}

const listMethods = ['GET', 'HEAD', 'POST'];
const rowMethods = ['PATCH', 'GET', 'HEAD', 'PUT', 'DELETE'];
const actionMethods: Readonly<Record<string, readonly string[]>> = { peek: ['GET', 'HEAD', 'POST'], link: ['POST', 'DELETE'] };

/** Everything that an answer tells, tokens of its links read. */
function toldBy(text: string, headers: Headers): string {
  const tokens = [...text.matchAll(/(?:after|before)=([\w-]+)/g)].map(([, token]) =>
    Buffer.from(String(token), 'base64url').toString(),
  );
  return [text, JSON.stringify([...headers]), ...tokens].join('\n');
}

async function attack(
  app: TestApplication,
  asked: ReturnType<typeof pick>,
  after: string | null,
): Promise<{ seen: boolean; next: string | null }> {
  const { api, body: sent, format, method, place, query: parameters, type, user } = asked;
  const path = after ?? `/${api}${place}${format}${parameters}`;
  const writes = ['POST', 'PATCH', 'PUT', 'DELETE'].includes(method) && after === null;
  const answer = await app.request(after === null ? method : 'GET', path, {
    ...(user && { as: user }),
    ...(writes && { body: sent, headers: { 'content-type': type } }),
  });
  const about = `${method} ${path} ${writes ? sent : ''} as ${user?.id}: ${answer.status} ${answer.text} (TEST_SEED=${seed})`;
  expect(answer.status, about).toBeLessThan(500);
  inspect(answerOf(answer), { repeats: writes ? sent : path });
  expect(toldBy(answer.text, answer.headers), about).not.toContain(mark);
  // no value that can be read has the mark in it, so whoever looks for it finds no row
  const seen = answer.status < 300;
  if (seen && method === 'GET' && place === '' && looksForMark(parameters)) expect(rowsIn(answer.text, format), about).toBe(0);
  return { seen, next: answer.json?.pagination?.next ?? null };
}

/** Whether a list is asked for nothing but rows that have a mark, which is written in small letters in requests. */
function looksForMark(parameters: string): boolean {
  return /[?&](?:q|(?:link\.)?field\d\[(?:contains|starts)\])=mark/.test(parameters);
}

function rowsIn(text: string, format: string): number {
  if (format === '.csv') return text.split('\r\n').length - 2;
  if (format === '.ndjson') return text.split('\n').length - 1;
  if (format === '.xml') return Number(/<count>(\d+)<\/count>/.exec(text)?.[1]);
  const { count, results } = JSON.parse(text);
  return count + results.length;
}

function pick(from: number) {
  return fc.sample(request, { seed: from, numRuns: 1 })[0] as NonNullable<ReturnType<typeof fc.sample<any>>[0]>;
}

async function run(kind: DatabaseKind, number: number): Promise<number> {
  const models = fc.sample(universe, { seed: seed + number * 104_729, numRuns: 1 })[0] as Universe;
  const database = await freshDatabase(kind);
  const app = await startApplication({ ...applicationOf(models), databaseUrl: database.url } as never);
  let succeeded = 0;
  try {
    const requests = fc.sample(request, { seed: seed + number * 104_729, numRuns: requestsPerRun });
    for (const each of requests) {
      const asked = aimed(models, each);
      const { next, seen } = await attack(app, asked, null);
      if (seen) succeeded++;
      // links are followed, as the same caller and as another one
      if (next !== null) {
        await attack(app, asked, next);
        await attack(app, { ...asked, user: { id: 'ab', roles: ['ROLE_A', 'ROLE_B'] } }, next);
      }
    }
    // every text that a list can be asked for is asked for the mark
    const user = { id: 'ab', roles: ['ROLE_A', 'ROLE_B'] };
    for (const index of models.keys()) {
      for (const [name, operators] of Object.entries(askedOf(models, index).filters)) {
        const operator = operators.find((each) => each === 'contains' || each === 'starts');
        if (!operator) continue;
        const asked = { method: 'GET', api: `m${index}`, place: '', format: '.json', query: `?${name}[${operator}]=mark`, user };
        expect((await attack(app, asked, null)).seen).toBe(true);
      }
    }
  } finally {
    await app.close();
    await database.drop();
  }
  return succeeded;
}

describe.each(databases)(`random declarations and requests on %s (TEST_SEED=${seed})`, (kind) => {
  test.each(numbersOn(kind, runs))('never return a marked value and never cause a server error, run %i', async (number) => {
    const succeeded = await run(kind, number);
    // attacks that all fail at the first check would prove little
    expect(succeeded).toBeGreaterThan(requestsPerRun / 40);
  });
});
