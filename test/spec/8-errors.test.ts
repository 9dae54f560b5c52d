// @module-tag divided
import { once } from 'node:events';
import { connect } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { defineEntity, p } from '@mikro-orm/core';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { catalogue, type ErrorCode } from '../../src/errors.ts';
import {
  ApiController,
  type ApiRequest,
  type CodeOptions,
  createServer,
  problem,
  type User,
  type Vote,
  Voter,
} from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication, type TestRequest, type TestResponse } from '../support/testing.ts';
import { closeGate, thingOptions, until, withThings, gate as workGate } from '../traffic/things.ts';

// Tables and columns have names that no property has, so that one that leaks into an answer is seen.

const Keeper = defineEntity({
  name: 'Keeper',
  tableName: 'tbl_keeper',
  properties: {
    id: p.integer().primary().groups('read'),
    email: p.string().fieldName('col_email').unique().groups('read', 'write'),
    genus: p.string().fieldName('col_genus').nullable().groups('read', 'write'),
    epithet: p.string().fieldName('col_epithet').nullable().groups('read', 'write'),
    motto: p.string().fieldName('col_motto').unique().nullable().serializedName('slogan').groups('read', 'write'),
  },
  uniques: [{ name: 'uq_species', properties: ['genus', 'epithet'] }],
});

const Chip = defineEntity({
  name: 'Chip',
  embeddable: true,
  properties: { code: p.string().fieldName('col_code').unique().nullable().groups('read', 'write') },
});

const Toy = defineEntity({
  name: 'Toy',
  tableName: 'tbl_toy',
  properties: { id: p.integer().primary().groups('read') },
});

const Animal = defineEntity({
  name: 'Animal',
  tableName: 'tbl_animal',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().fieldName('col_name').length(20).groups('read', 'write'),
    serial: p.string().fieldName('col_serial').nullable().groups('read'),
    age: p.integer().fieldName('col_age').default(1).check('col_age >= 0').groups('read', 'write'),
    weight: p.integer().fieldName('col_weight').nullable().groups('read', 'write'),
    limit: p.integer().fieldName('col_limit').nullable().groups('read', 'write'),
    chip: () => p.embedded(Chip).nullable().groups('read', 'write'),
    keeper: () => p.manyToOne(Keeper).fieldName('col_keeper').nullable().deleteRule('restrict').groups('read', 'write'),
    oldKeeper: () => p.manyToOne(Keeper).fieldName('old_col_keeper').nullable().deleteRule('no action').groups('read', 'write'),
    toys: () => p.manyToMany(Toy).pivotTable('tbl_animal_toys').deleteRule('restrict').groups('read', 'write'),
    version: p.integer().fieldName('col_version').version().groups('read'),
  },
  checks: [{ name: 'ck_weight', expression: 'col_weight <= col_limit' }],
});

const Ticket = defineEntity({
  name: 'Ticket',
  tableName: 'tbl_ticket',
  properties: {
    id: p.integer().primary().groups('read'),
    // The model leaves it to the database, and the database has nothing to fill it with.
    stamp: p.string().fieldName('col_stamp').defaultRaw('null').groups('read'),
  },
});

const Enclosure = defineEntity({
  name: 'Enclosure',
  tableName: 'tbl_enclosure',
  abstract: true,
  discriminatorColumn: 'type',
  properties: { id: p.integer().primary().groups('read'), type: p.string().groups('read') },
});
const Cage = defineEntity({
  name: 'Cage',
  extends: Enclosure,
  discriminatorValue: 'cage',
  properties: {
    lock: p.string().fieldName('col_lock').nullable().unique().groups('read', 'write'),
    guard: () => p.manyToOne(Keeper).fieldName('col_guard').nullable().deleteRule('restrict').groups('read', 'write'),
  },
});
const Pond = defineEntity({ name: 'Pond', extends: Enclosure, discriminatorValue: 'pond', properties: {} });

class DoorVoter extends Voter {
  static override roles = ['ENTER', 'STUCK'];
  override vote(role: string, _subject: unknown, user: User | null): Vote {
    if (role === 'STUCK') throw new Error('the voter is stuck: tbl_keeper');
    return user?.id === 'keeper' ? 'grant' : 'deny';
  }
}

/** Requests that are held until as many have come as are waited for. */
const gate = { waiting: [] as (() => void)[], of: 2 };

class AnimalController extends ApiController {
  async agingApi(id: number, request: ApiRequest): Promise<unknown> {
    const animal = await this.getEntity('aging', id, request);
    animal.age = (request.body as { age: number }).age;
    await new Promise<void>((resolve) => {
      gate.waiting.push(resolve);
      if (gate.waiting.length === gate.of) for (const release of gate.waiting.splice(0)) release();
    });
    await this.em.flush();
    return animal;
  }

  async breakApi(request: ApiRequest): Promise<unknown> {
    const { how, sql, status } = request.body as { how: string; sql?: string; status?: number };
    switch (how) {
      case 'null':
        throw null;
      case 'text':
        throw 'select * from tbl_animal';
      case 'error':
        throw new TypeError('cannot read col_name of tbl_animal');
      case 'teapot':
        throw Object.assign(new Error('no coffee here'), { statusCode: 418 });
      case 'gateway':
        throw Object.assign(new Error('tbl_animal is behind a gateway'), { statusCode: 502 });
      case 'odd status':
        throw Object.assign(new Error('tbl_animal'), { statusCode: 42 });
      case 'status':
        throw Object.assign(new Error('not today'), { statusCode: status });
      case 'stranger':
        throw Object.assign(new Error('who are you?'), { statusCode: 401 });
      case 'busy':
        throw problem('overloaded');
      case 'own':
        throw problem('bad_request', { reason: 'the animals are asleep' });
      default:
        return this.em.execute(sql as string);
    }
  }
}

const everyMethod = { GET: true, HEAD: true, POST: true, PUT: true, PATCH: true, DELETE: true };
const options: CodeOptions = {
  app_main: {
    apis: {
      animal: {
        class: Animal,
        base_path: '/animal',
        controller: AnimalController,
        actions: {
          _index: { methods: { ...everyMethod } },
          _entity: { methods: { ...everyMethod } },
          toys: { association: { property: 'toys' }, methods: { POST: true, DELETE: true, PUT: true } },
          aging: { methods: { POST: true } },
          break: { methods: { POST: true }, 'single-collection': 'collection' },
        },
      },
      keeper: {
        class: Keeper,
        base_path: '/keeper',
        actions: {
          _index: {
            methods: { GET: true, POST: true },
            bulk: { POST: true, PATCH: true, max_items: 2 },
            aggregate: { by: ['genus'], max_groups: 1 },
          },
          _entity: { methods: { GET: true, PATCH: true, DELETE: true } },
        },
      },
      toy: {
        class: Toy,
        base_path: '/toy',
        actions: { _index: { methods: { POST: true } }, _entity: { methods: { DELETE: true } } },
      },
      ticket: { class: Ticket, base_path: '/ticket', actions: { _index: { methods: { POST: true } } } },
      enclosure: { class: Enclosure, base_path: '/enclosure', actions: { _index: { methods: { POST: true } } } },
      bound: {
        class: Animal,
        base_path: '/bound',
        require_if_match: true,
        actions: { _entity: { methods: { PATCH: true } } },
      },
      guarded: { class: Toy, base_path: '/guarded', base_role: 'ENTER', actions: { _index: null } },
      stuck: { class: Toy, base_path: '/stuck', base_role: 'STUCK', actions: { _index: null } },
    },
    security: { jwt: { secret: 'a-secret-of-more-than-thirty-two-characters' } },
    server: { body_limit: 2000 },
    formats: ['json', 'csv'],
  },
  models: [Animal, Keeper, Chip, Toy, Ticket, Enclosure, Cage, Pond],
  controllers: [AnimalController],
  voters: [DoorVoter],
};

const seen: { readonly where: string; readonly response: TestResponse }[] = [];

/** Sends a request and keeps a refusal for the tests at the end of the file, which look at all of them. */
async function sendTo(app: TestApplication, method: string, path: string, request?: TestRequest): Promise<TestResponse> {
  const response = await app.request(method, path, request);
  if (response.status >= 400 && method !== 'HEAD') seen.push({ where: `${method} ${path}`, response });
  return response;
}

describe.each(databases)('errors on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  const send = (method: string, path: string, request?: TestRequest) => sendTo(app, method, path, request);
  /** `[status, code, detail]` of a refusal. */
  const told = async (method: string, path: string, request?: TestRequest) => {
    const { status, json } = await send(method, path, request);
    return [status, json?.code, json?.detail];
  };
  const make = async (path: string, json: unknown): Promise<number> => {
    const { status, json: made, text } = await send('POST', path, { json });
    expect([status, text]).toEqual([201, text]);
    return made.id;
  };
  const execute = (sql: string) => app.application.mapper.em.fork().execute(sql);
  const count = async (table: string) => Number((await execute(`select count(*) as n from ${table}`))[0]?.n);
  let serial = 0;
  const email = () => `k${++serial}@zoo.test`;

  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication({ ...options, databaseUrl: database.url });
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  describe('an error response', () => {
    test('has the members of RFC 9457, a code of the catalogue, and the content type', async () => {
      const { status, headers, json } = await send('GET', '/animal/99.json');
      expect(status).toBe(404);
      expect(headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
      expect(json).toEqual({
        type: 'urn:declarest:problem:entity_not_found',
        title: 'Not found',
        status: 404,
        detail: 'no animal has this id',
        instance: '/animal/99.json',
        code: 'entity_not_found',
      });
    });

    test('contains the request path without the query', async () => {
      expect((await send('GET', '/animal.json?page=0&token=x')).json.instance).toBe('/animal.json');
    });

    test('to HEAD has the status and no body', async () => {
      const { status, text, headers } = await send('HEAD', '/animal/99.json');
      expect([status, text]).toEqual([404, '']);
      expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
    });
  });

  describe('an invalid request', () => {
    test('for an unknown path returns 404, and for a disabled method 405 with Allow', async () => {
      expect(await told('GET', '/nowhere')).toEqual([404, 'not_found', 'no route matches /nowhere']);
      expect((await told('GET', '/animal/x.json')).slice(0, 2)).toEqual([404, 'not_found']);
      expect((await told('GET', `/animal/${'9'.repeat(300)}.json`)).slice(0, 1)).toEqual([404]);
      expect((await told('GET', '/animal/99999999999999999999.json')).slice(0, 2)).toEqual([404, 'entity_not_found']);
      expect(await told('GET', '/animal.xml')).toEqual([
        404,
        'unknown_format',
        'the path has an unknown format "xml"; end it in one of: .json, .csv',
      ]);
      const refused = await send('PUT', '/keeper.json', { json: {} });
      expect([refused.status, refused.json.code, refused.headers.get('allow')]).toEqual([
        405,
        'method_not_allowed',
        'GET, POST, PATCH',
      ]);
    });

    test.each(['/animal/%zz.json', '/%', '/animal/1.json/%E0%A4%A'])(
      'to %s, which cannot be decoded, returns a problem document',
      async (path) => {
        const { status, headers, json } = await send('GET', path);
        expect([400, 404]).toContain(status);
        expect(headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
        expect(json).toMatchObject({ status, code: expect.any(String) });
      },
    );

    test('that is malformed HTTP returns a problem document', async () => {
      const { port } = new URL(app.url);
      const socket = connect(Number(port), '127.0.0.1');
      socket.write('GET /animal.json HTTP/1.1\r\nno colon here\r\n\r\n');
      let text = '';
      socket.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      await once(socket, 'close');
      expect(text).toMatch(/^HTTP\/1\.1 400 /);
      expect(text).toMatch(/content-type: application\/problem\+json/i);
      expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4))).toMatchObject({ status: 400, code: 'bad_request' });
    });

    test('with headers that are too large returns 431 as a problem document', async () => {
      const { status, headers } = await app.request('GET', '/animal.json', { headers: { 'x-long': 'x'.repeat(20_000) } });
      expect([status, headers.get('content-type')]).toEqual([431, 'application/problem+json; charset=utf-8']);
    });
  });

  test('a list as the body is rejected as a whole, with the reason', async () => {
    const post = (json: unknown) => told('POST', '/keeper.json', { json });
    const one = await send('POST', '/keeper.json', { json: [{ email: email() }, 1] });
    expect(one.json).toMatchObject({ status: 400, code: 'invalid_list', index: 1 });
    const three = [{ email: email() }, { email: email() }, { email: email() }];
    expect(await post(three)).toEqual([413, 'too_many_items', 'the list must not have more than 2 items']);
    const id = await make('/keeper.json', { email: email() });
    const twice = [
      { id, genus: 'Felis' },
      { id, genus: 'Canis' },
    ];
    const { json } = await send('PATCH', '/keeper.json', { json: twice });
    expect(json).toMatchObject({ status: 400, code: 'duplicate_item', index: 1 });
  });

  test('an aggregate that is not declared, or has too many groups for its format, returns 400', async () => {
    for (const genus of ['Ursus', 'Lutra']) await make('/keeper.json', { email: email(), genus });
    expect(await told('GET', '/keeper/aggregate.json?by=email')).toEqual([
      400,
      'aggregate_not_allowed',
      'the query parameter "by" cannot be "email"; allowed: genus',
    ]);
    expect((await told('GET', '/keeper/aggregate.csv?by=genus')).slice(0, 2)).toEqual([400, 'aggregate_too_large']);
  });

  test('a method that an action does not handle returns 400 with the message of the specification', async () => {
    for (const [method, path] of [
      ['PUT', '/animal.json'],
      ['DELETE', '/animal.json'],
    ] as const) {
      expect(await told(method, path, { json: {} })).toEqual([400, 'method_not_supported', 'this method is not supported']);
    }
    const id = await make('/animal.json', { name: 'Handled' });
    expect(await told('POST', `/animal/${id}.json`, { json: {} })).toEqual([
      400,
      'method_not_supported',
      'this method is not supported',
    ]);
    expect(await told('PUT', `/animal/${id}/toys.json`, { json: { id: 1 } })).toEqual([
      400,
      'method_not_supported',
      'this method is not supported',
    ]);
  });

  test('an unresolved body of add or remove returns 400 with the message of the specification', async () => {
    const id = await make('/animal.json', { name: 'Toyless' });
    for (const method of ['POST', 'DELETE']) {
      for (const json of [{ id: 99 }, { id: 'x' }, {}, { type: 'keeper', id: 1 }]) {
        expect(await told(method, `/animal/${id}/toys.json`, { json })).toEqual([400, 'reference_not_found', 'toy id not found']);
      }
    }
  });

  test('unknown or invalid query parameters return 400', async () => {
    expect((await told('GET', '/animal.json?size=3')).slice(0, 2)).toEqual([400, 'unknown_parameter']);
    expect((await told('GET', '/animal.json?page=0')).slice(0, 2)).toEqual([400, 'invalid_parameter']);
  });

  describe('a body', () => {
    const typed = (type: string, body: string | Uint8Array) => ({ body, headers: { 'content-type': type } });

    test.each([
      ['is no JSON', '{"name": "x"'],
      ['is a list', '[{"name": "x"}]'],
      ['is a string', '"name"'],
      ['is a number', '1'],
      ['is null', 'null'],
      ['is true', 'true'],
      ['is empty', ''],
      ['is only space', '  '],
      ['has __proto__', '{"name": "x", "__proto__": {"admin": true}}'],
      ['has __proto__ further in', '{"name": "x", "chip": {"__proto__": {"code": "1"}}}'],
      ['has constructor.prototype', '{"name": "x", "constructor": {"prototype": {"admin": true}}}'],
      ['is no UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d])],
    ])('that %s returns 400, and nothing is written', async (_, body) => {
      const before = await count('tbl_animal');
      const [status, code] = await told('POST', '/animal.json', typed('application/json', body));
      expect(status).toBe(400);
      expect(['invalid_body', 'unknown_field']).toContain(code);
      expect(await count('tbl_animal')).toBe(before);
      expect(({} as { admin?: unknown }).admin).toBeUndefined();
    });

    test('that is missing returns 400 on each method that requires one', async () => {
      const id = await make('/animal.json', { name: 'Bodiless' });
      for (const [method, path] of [
        ['POST', '/animal.json'],
        ['PATCH', `/animal/${id}.json`],
        ['PUT', `/animal/${id}.json`],
        ['POST', `/animal/${id}/toys.json`],
        ['DELETE', `/animal/${id}/toys.json`],
      ] as const) {
        expect([method, ...(await told(method, path)).slice(0, 2)]).toEqual([method, 400, 'invalid_body']);
      }
    });

    test.each([
      ['text/plain', '{"name": "x"}'],
      ['application/x-www-form-urlencoded', 'name=x'],
      ['multipart/form-data; boundary=x', '--x--'],
      ['application/xml', '<animal/>'],
      ['application/jsonp', '{"name": "x"}'],
      ['nonsense', '{"name": "x"}'],
    ])('of the type %s returns 415, and nothing is written', async (type, body) => {
      const before = await count('tbl_animal');
      expect((await told('POST', '/animal.json', typed(type, body))).slice(0, 2)).toEqual([415, 'unsupported_media_type']);
      expect(await count('tbl_animal')).toBe(before);
    });

    test('without a content type returns 415', async () => {
      const body = new TextEncoder().encode('{"name": "x"}');
      expect((await told('POST', '/animal.json', { body })).slice(0, 2)).toEqual([415, 'unsupported_media_type']);
    });

    test('can declare its charset, or the merge patch type for PATCH', async () => {
      const id = await make('/animal.json', { name: 'Merged' });
      const patch = (type: string) => send('PATCH', `/animal/${id}.json`, typed(type, '{"age": 2}'));
      expect((await patch('application/json; charset=utf-8')).status).toBe(200);
      expect((await patch('application/merge-patch+json')).status).toBe(200);
      expect((await send('POST', '/animal.json', typed('application/merge-patch+json', '{"name": "x"}'))).status).toBe(415);
    });

    test('that is larger than the limit returns 413', async () => {
      const large = JSON.stringify({ name: 'x'.repeat(3000) });
      const expected = [413, 'body_too_large', 'the body must not be larger than 2000 bytes'];
      expect(await told('POST', '/animal.json', typed('application/json', large))).toEqual(expected);
    });

    test('with unknown, unwritable or mismatching fields returns 400 and names them', async () => {
      const id = await make('/animal.json', { name: 'Named' });
      const patch = (json: unknown) => told('PATCH', `/animal/${id}.json`, { json });
      expect(await patch({ colour: 'red' })).toEqual([400, 'unknown_field', expect.stringContaining('"colour"')]);
      expect(await patch({ serial: '1' })).toEqual([400, 'field_not_writable', expect.stringContaining('"serial"')]);
      expect(await patch({ id: id + 1 })).toEqual([400, 'identity_mismatch', expect.stringContaining('"id"')]);
      expect(await told('POST', '/enclosure.json', { json: { type: 'tent' } })).toEqual([
        400,
        'unknown_type',
        expect.stringMatching(/"type".*cage.*pond/),
      ]);
      expect(await patch({ keeper: { id: 99 } })).toEqual([400, expect.any(String), expect.stringContaining('keeper')]);
      expect(await patch({ keeper: { id: 1, email: 'x' } })).toEqual([
        400,
        'invalid_reference',
        expect.stringContaining('"keeper'),
      ]);
    });

    test('that violates rules returns 422 with every violation, and nothing is written', async () => {
      const before = await count('tbl_animal');
      const { status, json } = await send('POST', '/animal.json', { json: { name: 'x'.repeat(21), age: 'old', weight: 1.5 } });
      expect([status, json.code]).toEqual([422, 'validation_failed']);
      expect(Object.keys(json).sort()).toEqual(['code', 'detail', 'instance', 'status', 'title', 'type', 'violations']);
      expect(json.violations.map(({ propertyPath }: { propertyPath: string }) => propertyPath).sort()).toEqual([
        'age',
        'name',
        'weight',
      ]);
      for (const violation of json.violations) {
        expect(violation).toEqual({
          propertyPath: expect.any(String),
          title: expect.any(String),
          code: expect.any(String),
          parameters: expect.any(Object),
        });
      }
      expect(await count('tbl_animal')).toBe(before);
    });
  });

  describe('a unique conflict returns 409 and names', () => {
    test('the property', async () => {
      const json = { email: email() };
      const id = await make('/keeper.json', json);
      const before = await count('tbl_keeper');
      const expected = [409, 'conflict_unique', 'another keeper has the same value for: email'];
      expect(await told('POST', '/keeper.json', { json })).toEqual(expected);
      const other = await make('/keeper.json', { email: email() });
      expect(await told('PATCH', `/keeper/${other}.json`, { json })).toEqual(expected);
      expect((await send('GET', `/keeper/${id}.json`)).json.email).toBe(json.email);
      expect(await count('tbl_keeper')).toBe(before + 1);
    });

    test('every property of a composite key', async () => {
      const species = { genus: 'panthera', epithet: 'leo' };
      await make('/keeper.json', { email: email(), ...species });
      expect(await told('POST', '/keeper.json', { json: { email: email(), ...species } })).toEqual([
        409,
        'conflict_unique',
        'another keeper has the same value for: genus, epithet',
      ]);
    });

    test('a property by its JSON name', async () => {
      await make('/keeper.json', { email: email(), slogan: 'feed' });
      expect(await told('POST', '/keeper.json', { json: { email: email(), slogan: 'feed' } })).toEqual([
        409,
        'conflict_unique',
        'another keeper has the same value for: slogan',
      ]);
    });

    test('a property of an embedded object by its path', async () => {
      await make('/animal.json', { name: 'Chipped', chip: { code: 'C-1' } });
      expect(await told('POST', '/animal.json', { json: { name: 'Twin', chip: { code: 'C-1' } } })).toEqual([
        409,
        'conflict_unique',
        'another animal has the same value for: chip.code',
      ]);
    });

    test('a property that only a subclass has', async () => {
      await make('/enclosure.json', { type: 'cage', lock: 'L-1' });
      const [status, code, detail] = await told('POST', '/enclosure.json', { json: { type: 'cage', lock: 'L-1' } });
      expect([status, code]).toEqual([409, 'conflict_unique']);
      expect(detail).toMatch(/^another (enclosure|cage) has the same value for: lock$/);
    });
  });

  describe('a foreign key conflict returns 409 and names', () => {
    test.each(['keeper', 'oldKeeper'])('the property %s that still refers to the row', async (property) => {
      const id = await make('/keeper.json', { email: email() });
      const animal = await make('/animal.json', { name: 'Kept', [property]: { id } });
      expect(await told('DELETE', `/keeper/${id}.json`)).toEqual([
        409,
        'conflict_reference',
        `the keeper is still referenced by: animal.${property}`,
      ]);
      expect((await send('GET', `/keeper/${id}.json`)).status).toBe(200);
      expect((await send('PATCH', `/animal/${animal}.json`, { json: { [property]: null } })).status).toBe(200);
      expect((await send('DELETE', `/keeper/${id}.json`)).status).toBe(204);
    });

    test('the property of a subclass that still refers to the row', async () => {
      const id = await make('/keeper.json', { email: email() });
      await make('/enclosure.json', { type: 'cage', guard: { id } });
      const [status, code, detail] = await told('DELETE', `/keeper/${id}.json`);
      expect([status, code]).toEqual([409, 'conflict_reference']);
      expect(detail).toMatch(/^the keeper is still referenced by: (enclosure|cage)\.guard$/);
    });

    test('the many-to-many property that still contains the row, and the row stays', async () => {
      const toy = await make('/toy.json', {});
      const animal = await make('/animal.json', { name: 'Player', toys: [{ id: toy }] });
      expect(await told('DELETE', `/toy/${toy}.json`)).toEqual([
        409,
        'conflict_reference',
        'the toy is still referenced by: animal.toys',
      ]);
      await send('DELETE', `/animal/${animal}/toys.json`, { json: { id: toy } });
      expect((await send('DELETE', `/toy/${toy}.json`)).status).toBe(204);
    });

    test('the many-to-many property of the row itself, if its rule restricts deletion', async () => {
      const toy = await make('/toy.json', {});
      const animal = await make('/animal.json', { name: 'Owner', toys: [{ id: toy }] });
      const { status, json } = await send('DELETE', `/animal/${animal}.json`);
      if (status !== 204)
        expect([status, json.code, json.detail]).toEqual([409, 'conflict_reference', expect.stringContaining('toys')]);
    });

    test('the property with a missing target, if a handler writes without checks', async () => {
      const sql = "insert into tbl_animal (col_name, col_keeper) values ('Orphan', 4711)";
      const [status, code, detail] = await told('POST', '/animal/break.json', { json: { how: 'sql', sql } });
      expect([status, code]).toEqual([409, 'conflict_reference']);
      // SQLite does not tell which of the references it was.
      expect(detail).toMatch(kind === 'sqlite' ? /does not exist/ : /keeper.*no longer exists/);
    });
  });

  describe('a constraint that only the database checks', () => {
    test('for a required value returns 422 and names the property', async () => {
      const before = await count('tbl_keeper');
      const sql = 'insert into tbl_keeper (col_genus) values (null)';
      const { status, json } = await send('POST', '/animal/break.json', { json: { how: 'sql', sql } });
      expect([status, json.code]).toEqual([422, 'validation_failed']);
      expect(json.violations).toEqual([{ propertyPath: 'email', title: 'is required', code: 'required', parameters: {} }]);
      expect(await count('tbl_keeper')).toBe(before);
    });

    test('for a required column whose database default is null returns 422', async () => {
      const { status, json } = await send('POST', '/ticket.json', { json: {} });
      expect([status, json.code]).toEqual([422, 'validation_failed']);
      expect(json.violations[0].propertyPath).toBe('stamp');
    });

    test('on one property returns 422 and names it', async () => {
      const { status, json } = await send('POST', '/animal.json', { json: { name: 'Unborn', age: -1 } });
      expect([status, json.code]).toEqual([422, 'validation_failed']);
      expect(json.violations).toEqual([
        { propertyPath: 'age', title: 'breaks a rule of the model', code: 'check', parameters: {} },
      ]);
    });

    test('across properties returns 422', async () => {
      const { status, json } = await send('POST', '/animal.json', { json: { name: 'Heavy', weight: 5, limit: 4 } });
      expect([status, json.code]).toEqual([422, 'validation_failed']);
      expect(json.violations).toEqual([{ propertyPath: '', title: 'breaks a rule of the model', code: 'check', parameters: {} }]);
    });
  });

  test('a handler that writes an outdated version returns 409 and changes nothing', async () => {
    const id = await make('/animal.json', { name: 'Versioned' });
    const gated = (json: unknown) => send('POST', `/animal/${id}/aging.json`, { json });
    const answers = await Promise.all([gated({ age: 5 }), gated({ age: 6 })]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const won = answers.find(({ status }) => status === 200);
    const lost = answers.find(({ status }) => status === 409);
    expect(lost?.json).toMatchObject({
      code: 'conflict_version',
      detail: expect.stringMatching(/^another request has changed the animal/),
    });
    expect((await send('GET', `/animal/${id}.json`)).json).toEqual(won?.json);
  });

  test('a change without the required If-Match version is rejected', async () => {
    const id = await make('/animal.json', { name: 'Bound' });
    const bound = (headers: Record<string, string>) => told('PATCH', `/bound/${id}.json`, { json: { age: 5 }, headers });
    expect(await bound({})).toEqual([428, 'precondition_required', expect.stringContaining('the ETag of the animal')]);
    expect(await bound({ 'if-match': '"x"' })).toEqual([
      412,
      'precondition_failed',
      expect.stringContaining('the animal has changed since'),
    ]);
    expect(await bound({ 'if-match': 'x' })).toEqual([400, 'invalid_precondition', expect.stringContaining('If-Match')]);
    expect((await bound({ 'if-match': '*' }))[0]).toBe(200);
  });

  test('a denied caller gets 401 or 403 with the matching code', async () => {
    expect((await told('GET', '/guarded.json')).slice(0, 2)).toEqual([401, 'authentication_required']);
    expect((await told('GET', '/guarded.json', { as: { id: 'guest' } })).slice(0, 2)).toEqual([403, 'access_denied']);
    expect((await told('GET', '/guarded.json', { headers: { authorization: 'Bearer x' } })).slice(0, 2)).toEqual([
      401,
      'invalid_credentials',
    ]);
  });

  describe("a handler's own", () => {
    const broken = (how: string) => told('POST', '/animal/break.json', { json: { how } });

    test('problem is sent unchanged', async () => {
      expect(await broken('own')).toEqual([400, 'bad_request', 'the animals are asleep']);
    });

    test('error with a 4xx status keeps its status and message', async () => {
      expect(await broken('teapot')).toEqual([418, 'bad_request', 'no coffee here']);
    });

    test.each([
      [401, 'unauthorized'],
      [403, 'access_denied'],
      [409, 'conflict'],
      [422, 'unprocessable'],
      [429, 'too_many_requests'],
    ])('error with the status %i has the code %s', async (status, code) => {
      const request = { json: { how: 'status', status } };
      expect(await told('POST', '/animal/break.json', request)).toEqual([status, code, 'not today']);
    });

    test('error with the status 503 keeps it, without its message', async () => {
      const request = { json: { how: 'status', status: 503 } };
      const expected = [503, 'service_unavailable', 'the service is not available; retry shortly'];
      expect(await told('POST', '/animal/break.json', request)).toEqual(expected);
    });

    test('401 and 503 errors get WWW-Authenticate and Retry-After headers', async () => {
      const headersOf = async (how: string) => (await send('POST', '/animal/break.json', { json: { how } })).headers;
      expect((await headersOf('stranger')).get('www-authenticate')).toBe('Bearer realm="api"');
      expect((await headersOf('busy')).get('retry-after')).toBe('1');
    });

    test.each(['null', 'text', 'error', 'gateway', 'odd status'])('failure (%s) returns 500 without details', async (how) => {
      expect(await broken(how)).toEqual([500, 'internal_error', 'an internal error occurred; it has been logged']);
    });

    test('wrong SQL returns 500 without details', async () => {
      const request = { json: { how: 'sql', sql: 'select col_x from tbl_nowhere' } };
      expect((await told('POST', '/animal/break.json', request)).slice(0, 2)).toEqual([500, 'internal_error']);
      expect((await told('GET', '/stuck.json')).slice(0, 2)).toEqual([500, 'internal_error']);
    });
  });

  test('server errors are logged with their cause', async () => {
    const lines: string[] = [];
    const server = await createServer({
      ...options,
      databaseUrl: database.url,
      fastify: { logger: { level: 'error', stream: { write: (line: string) => void lines.push(line) } } },
    });
    try {
      const inject = (url: string, payload?: object) =>
        server.inject({ method: payload ? 'POST' : 'GET', url, ...(payload && { payload }) });
      expect((await inject('/animal/break.json', { how: 'error' })).statusCode).toBe(500);
      expect((await inject('/stuck.json')).statusCode).toBe(500);
      expect((await inject('/animal/99.json')).statusCode).toBe(404);
    } finally {
      await server.close();
    }
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain('cannot read col_name of tbl_animal');
    expect(lines[0]).toContain('8-errors.test.ts');
    expect(lines[1]).toContain('the voter is stuck: tbl_keeper');
  });
});

describe('503 responses', () => {
  test('have Retry-After on every route while the database is unavailable, and end without a restart', async () => {
    const database = await freshDatabase('postgresql');
    const name = new URL(database.url).pathname.slice(1);
    const server = new URL(database.url);
    server.pathname = '/postgres';
    const administrator = new Client({ connectionString: server.href });
    await administrator.connect();
    const app = await startApplication({ ...options, databaseUrl: database.url });
    try {
      expect((await sendTo(app, 'POST', '/toy.json', { json: {} })).status).toBe(201);
      await administrator.query(`alter database ${name} allow_connections false`);
      await administrator.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
      for (const [method, path, json] of [
        ['GET', '/keeper.json', undefined],
        ['GET', '/keeper/1.json', undefined],
        ['POST', '/toy.json', {}],
        ['DELETE', '/toy/1.json', undefined],
        ['POST', '/animal/1/toys.json', { id: 1 }],
      ] as const) {
        const { status, headers, json: body } = await sendTo(app, method, path, json && { json });
        expect([method, path, status, body.code]).toEqual([method, path, 503, 'database_unavailable']);
        expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
      }
      await administrator.query(`alter database ${name} allow_connections true`);
      expect((await sendTo(app, 'GET', '/keeper.json')).status).toBe(200);
      expect((await sendTo(app, 'DELETE', '/toy/1.json')).status).toBe(204);
    } finally {
      await app.close();
      await administrator.end();
      await database.drop();
    }
  });

  test('are returned after the database was dropped', async () => {
    const database = await freshDatabase('postgresql');
    const app = await startApplication({ ...options, databaseUrl: database.url });
    try {
      await database.destroy();
      const { status, json } = await sendTo(app, 'GET', '/keeper.json');
      expect([status, json.code]).toEqual([503, 'database_unavailable']);
    } finally {
      await app.close();
    }
  });

  test('are returned for a statement timeout, an exhausted pool or a deadlock, and end right after', async () => {
    const database = await freshDatabase('postgresql');
    const limits = { schema: 'update', pool: 1, connect_timeout: 1000, statement_timeout: 2500 } as const;
    const app = await startApplication({
      ...options,
      app_main: { ...options.app_main, database: { url: database.url, ...limits } },
    });
    const execute = (sql: string) => sendTo(app, 'POST', '/animal/break.json', { json: { how: 'sql', sql } });
    try {
      const slow = execute('select pg_sleep(5)');
      await new Promise((resolve) => setTimeout(resolve, 100));
      const shut = await execute('select 1');
      expect([shut.status, shut.json.code, shut.headers.get('retry-after')]).toEqual([503, 'database_unavailable', '1']);
      const late = await slow;
      expect([late.status, late.json.code, late.headers.get('retry-after')]).toEqual([503, 'database_unavailable', '1']);
      for (const code of ['40P01', '40001', '55P03', '53300']) {
        const raised = await execute(`do $$ begin raise exception 'on tbl_animal' using errcode = '${code}'; end $$`);
        expect([code, raised.status, raised.headers.get('retry-after')]).toEqual([code, 503, '1']);
      }
      expect((await sendTo(app, 'GET', '/keeper.json')).status).toBe(200);
    } finally {
      await app.close();
      await database.drop();
    }
  });

  test('are returned only for writes if another process locks SQLite beyond the busy timeout', async () => {
    const database = await freshDatabase('sqlite');
    const app = await startApplication({ ...options, databaseUrl: database.url });
    const other = new DatabaseSync(database.url.slice('sqlite:'.length));
    try {
      other.exec('begin immediate');
      expect((await sendTo(app, 'GET', '/keeper.json')).status).toBe(200);
      const { status, json, headers } = await sendTo(app, 'POST', '/toy.json', { json: {} });
      expect([status, json.code, headers.get('retry-after')]).toEqual([503, 'database_unavailable', '1']);
      other.exec('rollback');
      expect((await sendTo(app, 'POST', '/toy.json', { json: {} })).status).toBe(201);
    } finally {
      other.close();
      await app.close();
      await database.drop();
    }
  });

  test('are returned if the token keys are unavailable', async () => {
    const app = await startApplication({
      ...options,
      app_main: {
        ...options.app_main,
        database: { url: 'sqlite::memory:' },
        security: { jwt: { algorithm: 'RS256', jwks: 'http://127.0.0.1:9/keys.json' } },
      },
    });
    try {
      const header = Buffer.from('{"alg":"RS256","kid":"1"}').toString('base64url');
      const authorization = `Bearer ${header}.${Buffer.from('{"sub":"a"}').toString('base64url')}.eA`;
      const { status, json } = await sendTo(app, 'GET', '/guarded.json', { headers: { authorization } });
      expect([status, json.code]).toEqual([503, 'authentication_unavailable']);
    } finally {
      await app.close();
    }
  });
});

describe.each(databases)('a limit on %s', (database) => {
  test('has its own error code', async () => {
    const server = {
      ...{ json_depth: 3, url_limit: 200, max_parameters: 2, parameter_limit: 50, handler_timeout: 1200, max_concurrent: 2 },
      rate_limit: { limit: 2, by: 'address' as const },
    };
    const limits = thingOptions(server, { pagination: { max_offset: 10 } });
    for (const api of Object.values(limits.app_main.apis as Record<string, any>)) api.rate_limit = null;
    (limits.app_main.apis as Record<string, any>).counted = { class: 'Thing', base_path: '/counted', actions: { _index: null } };
    await withThings(database, limits, async (app) => {
      const asked = async (method: string, path: string, request?: TestRequest) => {
        const { status, json } = await sendTo(app, method, path, request);
        return [status, json?.code];
      };
      expect(await asked('POST', '/thing.json', { json: { data: [[[]]] } })).toEqual([400, 'body_too_deep']);
      expect(await asked('GET', `/thing.json?a=${'b'.repeat(100)}`)).toEqual([400, 'parameter_too_long']);
      expect(await asked('GET', '/thing.json?a&b&c')).toEqual([400, 'too_many_parameters']);
      expect(await asked('GET', `/thing.json?a=${'b'.repeat(200)}`)).toEqual([414, 'url_too_long']);
      expect(await asked('GET', '/thing.json?page=2')).toEqual([400, 'offset_too_large']);
      const open = closeGate();
      const slow = [asked('GET', '/slow/work.json'), asked('GET', '/slow/work.json')];
      await until(() => workGate.asked === 2);
      expect(await asked('GET', '/thing.json')).toEqual([503, 'overloaded']);
      expect(await Promise.all(slow)).toEqual(Array(2).fill([503, 'handler_timeout']));
      open();
      for (const outcome of [200, 200, 429]) expect((await asked('GET', '/counted.json'))[0]).toBe(outcome);
      expect(await asked('GET', '/counted.json')).toEqual([429, 'rate_limited']);
      const wrong = { headers: { authorization: 'Bearer wrong' } };
      for (let n = 0; n < 2; n++) expect((await asked('GET', '/thing.json', wrong))[0]).toBe(401);
      expect(await asked('GET', '/thing.json', wrong)).toEqual([429, 'too_many_wrong_credentials']);
    });
  });
});

describe.each(databases)('a request with an idempotency key on %s', (database) => {
  test('has its own error codes', async () => {
    const fresh = await freshDatabase(database);
    const start = (schema: 'update' | 'none') => {
      const given = thingOptions({ idempotency: { answer_limit: 10 } });
      const settings = { url: fresh.url, schema, statement_timeout: 1000 };
      return startApplication({ ...given, app_main: { ...given.app_main, database: settings } });
    };
    const send = async (app: TestApplication, path: string, key: string, name: string) => {
      const request = { json: { name }, headers: { 'idempotency-key': key } };
      const { status, json } = await sendTo(app, 'POST', path, request);
      return [status, json?.code];
    };
    const making = await start('update');
    try {
      expect(await send(making, '/thing.json', '', 'a')).toEqual([400, 'invalid_idempotency_key']);
      expect(await send(making, '/thing.json', 'one', 'a')).toEqual([201, undefined]);
      expect(await send(making, '/thing.json', 'one', 'b')).toEqual([422, 'idempotency_key_reused']);
      expect(await send(making, '/thing.json', 'one', 'a')).toEqual([201, undefined]);
      const open = closeGate();
      const first = send(making, '/slow/work.json', 'two', 'a');
      await until(() => workGate.asked === 1);
      expect(await send(making, '/slow/work.json', 'two', 'a')).toEqual([409, 'idempotency_in_progress']);
      if (database === 'postgresql') {
        const other = await start('update');
        expect(await send(other, '/slow/work.json', 'two', 'a')).toEqual([409, 'idempotency_in_progress']);
        await other.close();
      }
      open();
      expect((await first)[0]).toBe(200);
      expect(await send(making, '/slow/work.json', 'two', 'a')).toEqual([409, 'idempotency_answer_too_large']);
      await making.application.mapper.em.fork().execute('drop table declarest_idempotency');
    } finally {
      await making.close();
    }
    const alone = await start('none');
    try {
      expect(await send(alone, '/thing.json', 'one', 'a')).toEqual([501, 'idempotency_unavailable']);
    } finally {
      await alone.close();
      await fresh.drop();
    }
  });
});

describe.each(databases)('a dropped table on %s', (database) => {
  test('makes requests that need it return 503', async () => {
    await withThings(database, thingOptions(), async (app) => {
      await app.application.mapper.em.fork().execute('drop table thing');
      const { status, json, headers } = await sendTo(app, 'GET', '/thing.json');
      expect([status, json.code, headers.get('retry-after')]).toEqual([503, 'schema_mismatch', '1']);
    });
  });
});

describe('a full disk', () => {
  test('makes writes on SQLite return 507 until there is space again', async () => {
    await withThings('sqlite', thingOptions(), async (app) => {
      const dialect = app.application.mapper.config.get('driverOptions') as any;
      const room = (pages: number) =>
        dialect.read(() => dialect.write((db: DatabaseSync) => db.exec(`pragma max_page_count = ${pages}`)));
      await room(1);
      for (const [method, path] of [
        ['POST', '/thing.json'],
        ['PATCH', '/thing/1.json'],
      ] as const) {
        const { status, json, headers } = await sendTo(app, method, path, { json: { name: 'x', data: 'x'.repeat(20_000) } });
        expect([status, json.code, headers.get('retry-after')]).toEqual([507, 'database_full', '1']);
      }
      expect((await sendTo(app, 'GET', '/thing/1.json')).json.name).toBe('thing 1');
      await room(1_000_000);
      expect((await sendTo(app, 'POST', '/thing.json', { json: { name: 'x', data: 'x'.repeat(20_000) } })).status).toBe(201);
    });
  });

  test('makes writes on PostgreSQL return 507; out of memory or read-only returns 503', async () => {
    await withThings('postgresql', thingOptions(), async (app) => {
      const { mapper } = app.application;
      const refuseWith = (code: string) =>
        mapper.em.execute(`create or replace function refuse() returns trigger language plpgsql as $$ begin raise exception 'no' using errcode = '${code}'; end $$;
          create or replace trigger refuse before insert on thing for each row execute function refuse()`);
      for (const [code, status, told] of [
        ['53100', 507, 'database_full'],
        ['53200', 503, 'database_unavailable'],
        ['25006', 503, 'database_read_only'],
      ] as const) {
        await refuseWith(code);
        const answer = await sendTo(app, 'POST', '/thing.json', { json: { name: 'x' } });
        expect([answer.status, answer.json.code]).toEqual([status, told]);
      }
    });
  });
});

const Box = defineEntity({
  name: 'Box',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    notes: () => p.oneToMany(Note).mappedBy('box').groups('read'),
  },
});
const Note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary(), text: p.text().groups('read'), box: () => p.manyToOne(Box) },
});

/** A list whose export is not over before it is let go. */
class HeldController extends ApiController {
  override async afterFetch(): Promise<void> {
    workGate.asked++;
    await workGate.opened;
  }
}

describe.each(databases)('a rejected list request on %s', (database) => {
  test('has its own error code', async () => {
    const asking = thingOptions(
      { response_limit: 2048 },
      {
        formats: ['json', 'csv'],
        exports: { at_once: 1 },
        database: { connect_timeout: 1000 },
        pagination: { max_or_groups: 1 },
      },
    );
    const list = { class: 'Thing', base_path: '/asked', filters: { name: ['eq'] }, sort: ['name'], actions: { _index: null } };
    Object.assign(asking.app_main.apis as object, {
      asked: list,
      box: { class: 'Box', base_path: '/box', actions: { _entity: { methods: { PATCH: true } } } },
      held: { class: 'Thing', base_path: '/held', controller: HeldController, actions: { _index: null } },
    });
    const models = [...(asking.models ?? []), Box, Note];
    const options = { ...asking, models, controllers: [...(asking.controllers ?? []), HeldController] };
    await withThings(database, options, async (app) => {
      const asked = async (path: string) => {
        const { status, json } = await sendTo(app, 'GET', path);
        return [status, json?.code];
      };
      expect(await asked('/asked.json?name[contains]=a')).toEqual([400, 'operator_not_allowed']);
      expect(await asked('/asked.json?sort=data')).toEqual([400, 'sort_not_allowed']);
      expect(await asked('/asked.json?fields=secret')).toEqual([400, 'field_not_readable']);
      expect(await asked('/asked.json?or[0][name]=a&or[1][name]=b')).toEqual([400, 'too_many_groups']);
      await sendTo(app, 'POST', '/thing.json', { json: { name: 'large', data: 'x'.repeat(2048) } });
      expect(await asked('/asked.json')).toEqual([413, 'response_too_large']);
      const em = app.application.mapper.em.fork();
      await em.execute("insert into box (id, name) values (1, 'a')");
      // SQLite reads them in a thread, where their size is limited
      const numbers = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 6000)';
      await em.execute(`insert into note (id, text, box_id) ${numbers} select i, '${'x'.repeat(4096)}', 1 from n`);
      const boxed = await sendTo(app, 'PATCH', '/box/1.json', { json: { name: 'b' } });
      expect([boxed.status, boxed.json.code]).toEqual([413, 'written_response_too_large']);
      expect(await em.execute('select name from box')).toEqual([{ name: 'b' }]);
      const open = closeGate();
      const held = app.request('GET', '/held.csv');
      await until(() => workGate.asked === 1);
      expect(await asked('/asked.csv')).toEqual([503, 'too_many_exports']);
      open();
      expect((await held).status).toBe(200);
    });
  });
});

// These run last: they look at every refusal that the tests above were given.
describe('all error responses', () => {
  test('are problem documents with only the documented members', () => {
    expect(seen.length).toBeGreaterThan(100);
    for (const { where, response } of seen) {
      expect([where, response.headers.get('content-type')]).toEqual([where, 'application/problem+json; charset=utf-8']);
      const { index, violations, ...members } = response.json;
      expect([where, Object.keys(members).sort()]).toEqual([where, ['code', 'detail', 'instance', 'status', 'title', 'type']]);
      expect([where, members.status]).toEqual([where, response.status]);
      expect(catalogue).toHaveProperty(members.code);
      expect(members.detail).not.toMatch(/\{\w+\}|undefined|\[object/);
      expect(violations === undefined).toBe(members.code !== 'validation_failed');
    }
  });

  test('do not reveal SQL, tables, columns, constraints, files or the stack', () => {
    const internals =
      /tbl_|col_|uq_|ck_|_foreign|(?<!conflict)_unique|_check\b|\b(select|insert|update|delete) .*\b(from|into|set|where)\b|constraint|violates|sqlite|postgres|\bpg\b|mikro|kysely|exception|\.[cm]?[jt]s\b|node_modules|node:|\bat \S+ \(|ECONN/i;
    expect(
      seen.filter(({ response }) => internals.test(response.text)).map(({ where, response }) => [where, response.text]),
    ).toEqual([]);
  });

  test('cover every code of the catalogue', () => {
    const codes = new Set(seen.map(({ response }) => response.json.code as ErrorCode));
    expect((Object.keys(catalogue) as ErrorCode[]).filter((code) => !codes.has(code))).toEqual([]);
  });
});
