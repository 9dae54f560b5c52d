// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { beforeEach, describe, expect, test } from 'vitest';
import { type User, type Vote, Voter } from '../../src/index.ts';
import { databases, freshDatabase } from '../support/databases.ts';
import { startApplication } from '../support/testing.ts';
import { useApplication } from './fixtures/use-application.ts';

type Any = any;

/** The calls of the voter: the role, and the name of the person or null. */
const votes: string[] = [];
let constructed = 0;

const Center: Any = defineEntity({
  name: 'Center',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    alarm: p.string().default('0000').groups('read:medical', 'write:medical'),
  },
} as Any);
const Visit: Any = defineEntity({
  name: 'Visit',
  properties: {
    id: p.integer().primary().groups('read'),
    reason: p.string().groups('read', 'write'),
    finding: p.string().nullable().groups('read:medical', 'write:medical'),
    person: () => p.manyToOne(Person).groups('write'),
  },
} as Any);
const personSchema: Any = defineEntity({
  name: 'Person',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    owner: p.string().nullable().groups('read', 'write'),
    insurance: (p.string() as Any).nullable().unique().groups('read:medical', 'write:medical'),
    diagnosis: p.string().nullable().groups('read:medical', 'write:medical'),
    salary: p.integer().nullable().groups('read:pay', 'write:pay'),
    code: p.string().groups('read'),
    center: () => (p.manyToOne(Center) as Any).nullable().groups('read', 'write'),
    visits: () => (p.oneToMany(Visit) as Any).mappedBy('person').groups('read'),
  },
} as Any);
class Person extends personSchema.class {
  constructor() {
    super();
    constructed++;
    (this as Any).code = `c${constructed}`;
  }
}
personSchema.setClass(Person);

/** The rules of the model run on each new row, after its constructor. */
const ticketSchema: Any = defineEntity({
  name: 'Ticket',
  properties: {
    id: p.integer().primary().groups('read'),
    text: p.string().groups('read', 'write'),
    note: p.string().nullable().groups('read:pay', 'write:pay'),
    number: p.integer().groups('read'),
  },
} as Any);
class Ticket extends ticketSchema.class {
  constructor() {
    super();
    constructed++;
    (this as Any).number = constructed;
  }
  validate() {
    const { note, number, text } = this as Any;
    if (!Number.isInteger(number)) return [{ propertyPath: 'number', title: 'must be set' }];
    return note === 'bad' || text === 'bad' ? [{ propertyPath: text === 'bad' ? 'text' : 'note', title: 'must be good' }] : [];
  }
}
ticketSchema.setClass(Ticket);

/** Doctors see everything medical, and everybody sees what is medical about themselves. */
class MedicalVoter extends Voter<Any> {
  static override roles = ['PERSON_MEDICAL'];
  vote(role: string, person: Any, user: User | null): Vote {
    votes.push(`${role} ${person?.name ?? null}`);
    if (user?.roles.includes('ROLE_DOCTOR')) return 'grant';
    return person !== null && person.owner === user?.id ? 'grant' : 'deny';
  }
}

const groups = { read: ['read', 'read:medical', 'read:pay'], write: ['write', 'write:medical', 'write:pay'] };
const bulk = { POST: true, PATCH: true, DELETE: true };
const all = { GET: true, POST: true };
const one = { GET: true, PATCH: true, DELETE: true };

const options = {
  app_main: {
    formats: ['json', 'csv'],
    groups: {
      'read:medical': { role: 'PERSON_MEDICAL' },
      'write:medical': { role: 'PERSON_MEDICAL' },
      'read:pay': { role: 'ROLE_PAY' },
      'write:pay': { role: 'ROLE_PAY' },
    },
    apis: {
      person: {
        class: Person,
        base_path: '/person',
        groups,
        nested: { visits: { max_items: 5 } },
        actions: { _index: { methods: all, bulk }, _entity: { methods: one } },
      },
      ticket: {
        class: Ticket,
        base_path: '/ticket',
        groups,
        actions: { _index: { methods: all, bulk }, _entity: { methods: one } },
      },
      center: { class: Center, base_path: '/center', actions: { _index: { methods: all }, _entity: { methods: one } } },
    },
  },
  models: [Center, Visit, personSchema, ticketSchema],
  voters: [MedicalVoter],
} as Any;

const ada = { id: 'ada', roles: [] };
const doctor = { id: 'doc', roles: ['ROLE_DOCTOR'] };
const payroll = { id: 'pay', roles: ['ROLE_PAY'] };

describe.each(databases)('lists and groups by role on %s', (kind) => {
  describe.each([true, false])('compiled: %s', (compiledReads) => {
    const running = useApplication(kind, { ...options, compiledReads });
    const send = (method: string, path: string, json: unknown, as: object | null, headers = {}) =>
      running.request(method, path, { json, headers, ...(as && { as }) } as Any);
    const names = (row: object) => Object.keys(row).sort().join();
    const open = 'center,code,id,name,owner,visits';
    const medical = 'center,code,diagnosis,id,insurance,name,owner,visits';
    const paid = 'center,code,id,name,owner,salary,visits';

    beforeEach(async () => {
      for (const table of ['visit', 'person', 'center', 'ticket']) await running.rows(`delete from ${table}`);
      await send('POST', '/center.json', { name: 'North' }, doctor);
      votes.length = 0;
      running.app.statements.length = 0;
    });

    const create = async (list: object[]) => {
      const { json, status } = await send('POST', '/person.json', list, doctor);
      expect(status).toBe(201);
      votes.length = 0;
      running.app.statements.length = 0;
      return json.results.map(({ id }: Any) => id) as number[];
    };
    const stored = async () => (await send('GET', '/person.json', undefined, doctor)).json.results;

    test('POST reads and shows the groups that are granted without a row', async () => {
      const list = Array.from({ length: 30 }, (_, i) => ({ name: `n${i}`, diagnosis: `d${i}` }));
      const made = await send('POST', '/person.json', list, doctor);
      expect([made.status, made.json.count]).toEqual([201, 30]);
      expect(made.json.results.map(names)).toEqual(list.map(() => medical));
      expect(made.json.results[7]).toMatchObject({ name: 'n7', diagnosis: 'd7' });
      expect(votes).toEqual(['PERSON_MEDICAL null']);
      const inserts = running.app.statements.filter((sql) => /insert into [`"]person/i.test(sql));
      expect(inserts.length).toBe(1);
      if (compiledReads) expect(inserts[0]).toMatch(/_rows/);
      const plain = await send('POST', '/person.json', [{ name: 'a' }, { name: 'b', owner: 'ada' }], null);
      expect(plain.json.results.map(names)).toEqual([open, open]);
      const pay = await send('POST', '/person.json', [{ name: 'a', salary: 1 }], payroll);
      expect([names(pay.json.results[0]), pay.json.results[0].salary]).toEqual([paid, 1]);
    });

    test('POST runs the constructor once for each item', async () => {
      const before = constructed;
      const list = Array.from({ length: 10 }, (_, i) => ({ name: `n${i}` }));
      const made = await send('POST', '/person.json', list, null);
      const codes = made.json.results.map(({ code }: Any) => code);
      expect(new Set(codes).size).toBe(10);
      expect(constructed - before).toBe(10);
    });

    test('POST runs the constructor and the rules of a model once for each item', async () => {
      const before = constructed;
      const list = Array.from({ length: 10 }, (_, i) => ({ text: `t${i}`, note: 'n' }));
      running.app.statements.length = 0;
      const made = await send('POST', '/ticket.json', list, payroll);
      expect(made.status).toBe(201);
      expect(made.json.results.map(({ number }: Any) => number - before)).toEqual(list.map((_, i) => i + 1));
      expect(constructed - before).toBe(10);
      if (compiledReads) expect(running.app.statements.some((sql) => /_rows/.test(sql))).toBe(true);
      const refused = await send('POST', '/ticket.json', [{ text: 'a' }, { text: 'bad' }, { text: 'b', note: 'bad' }], payroll);
      expect(refused.json.violations.map(({ propertyPath }: Any) => propertyPath)).toEqual(['[1].text', '[2].note']);
      expect((await send('GET', '/ticket.json', undefined, null)).json.count).toBe(10);
    });

    test('POST refuses a field of a group that is not granted like an unknown field', async () => {
      for (const [as, field] of [
        [ada, 'diagnosis'],
        [doctor, 'salary'],
        [null, 'insurance'],
      ] as const) {
        const refused = await send('POST', '/person.json', [{ name: 'a' }, { name: 'b', [field]: 'x' }], as);
        const unknown = await send('POST', '/person.json', [{ name: 'a' }, { name: 'b', nothing: 'x' }], as);
        expect([refused.status, refused.json.code, refused.json.index]).toEqual([400, 'unknown_field', 1]);
        expect(refused.json.detail).toBe(unknown.json.detail.replace('nothing', field));
      }
      expect(await stored()).toEqual([]);
    });

    test('PATCH decides about the groups of each row once, and reads and shows it in them', async () => {
      const [a, b] = await create([
        { name: 'A', owner: 'ada', diagnosis: 'flu' },
        { name: 'B', owner: 'bob', diagnosis: 'cold' },
      ]);
      const changed = await send(
        'PATCH',
        '/person.json',
        [
          { id: b, name: 'B2' },
          { id: a, name: 'A2', diagnosis: 'none' },
        ],
        ada,
      );
      expect(changed.status).toBe(200);
      expect(changed.json.results.map(names)).toEqual([open, medical]);
      expect(changed.json.results[1]).toMatchObject({ id: a, name: 'A2', diagnosis: 'none' });
      expect(votes.filter((vote) => !vote.endsWith(' null'))).toEqual(['PERSON_MEDICAL B', 'PERSON_MEDICAL A']);
      expect(votes.filter((vote) => vote.endsWith(' null')).length).toBeLessThanOrEqual(1);
      const refused = await send(
        'PATCH',
        '/person.json',
        [
          { id: a, name: 'A3' },
          { id: b, diagnosis: 'x' },
        ],
        ada,
      );
      const unknown = await send('PATCH', '/person.json', [{ id: a }, { id: b, nothing: 'x' }], ada);
      expect([refused.status, refused.json.code, refused.json.index]).toEqual([400, 'unknown_field', 1]);
      expect(refused.json.detail).toBe(unknown.json.detail.replace('nothing', 'diagnosis'));
      expect(refused.json.detail).not.toMatch(/insurance/);
      expect((await stored()).map(({ diagnosis, name }: Any) => `${name} ${diagnosis}`)).toEqual(['A2 none', 'B2 cold']);
    });

    test('rows embedded in an item have the groups that are granted without a row', async () => {
      const center = (await send('GET', '/center.json', undefined, null)).json.results[0].id;
      const [a] = await create([{ name: 'A', owner: 'ada', center: { id: center } }]);
      const changed = await send('PATCH', '/person.json', [{ id: a, name: 'A2' }], ada);
      expect(names(changed.json.results[0])).toBe(medical);
      expect(names(changed.json.results[0].center)).toBe('id,name');
      const seen = await send('PATCH', '/person.json', [{ id: a, name: 'A2' }], doctor);
      expect(names(seen.json.results[0].center)).toBe('alarm,id,name');
    });

    test('a conflict names only fields of the row that the caller knows', async () => {
      const [a, b] = await create([
        { name: 'A', owner: 'ada', insurance: 'x' },
        { name: 'B', owner: 'bob', insurance: 'y' },
      ]);
      const own = await send('PATCH', '/person.json', [{ id: a, insurance: 'y' }], ada);
      expect([own.status, own.json.code, own.json.index]).toEqual([409, 'conflict_unique', 0]);
      expect(own.json.detail).toMatch(/insurance/);
      expect(b).toBeGreaterThan(0);
      const made = await send('POST', '/person.json', [{ name: 'C' }, { name: 'D', insurance: 'x' }], doctor);
      expect([made.status, made.json.code, made.json.index]).toEqual([409, 'conflict_unique', 1]);
      expect(made.json.detail).toMatch(/insurance/);
    });

    test('CSV has the columns of all rows, and the cells of the granted ones', async () => {
      const [a, b] = await create([
        { name: 'A', owner: 'ada', diagnosis: 'flu' },
        { name: 'B', owner: 'bob', diagnosis: 'cold' },
      ]);
      const changed = await send(
        'PATCH',
        '/person.csv',
        [
          { id: a, name: 'A2' },
          { id: b, name: 'B2' },
        ],
        ada,
      );
      expect(changed.status).toBe(200);
      expect(changed.text).toMatch(/diagnosis/);
      expect(changed.text).toMatch(/flu/);
      expect(changed.text).not.toMatch(/cold|salary/);
      const none = await send('PATCH', '/person.csv', [{ id: b, name: 'B2' }], ada);
      expect(none.text).not.toMatch(/diagnosis|cold/);
    });

    test('a repeated list does not show fields of groups that are not granted any more', async () => {
      const [a] = await create([{ name: 'A', owner: 'ada', diagnosis: 'flu' }]);
      const headers = { 'idempotency-key': `k${compiledReads}` };
      const first = await send('PATCH', '/person.json', [{ id: a, name: 'A2' }], ada, headers);
      expect(names(first.json.results[0])).toBe(medical);
      await send('PATCH', '/person.json', [{ id: a, owner: 'bob' }], doctor);
      const again = await send('PATCH', '/person.json', [{ id: a, name: 'A2' }], ada, headers);
      expect(again.text).not.toMatch(/flu/);
      const key = { 'idempotency-key': `p${compiledReads}` };
      const pay = await send('POST', '/person.json', [{ name: 'P', salary: 5 }], payroll, key);
      expect((await send('POST', '/person.json', [{ name: 'P', salary: 5 }], payroll, key)).json).toEqual(pay.json);
      const lost = await send('POST', '/person.json', [{ name: 'P', salary: 5 }], { ...payroll, roles: [] }, key);
      expect(lost.text).not.toMatch(/salary/);
    });

    test('DELETE asks about no group, because nothing is read or shown', async () => {
      const ids = await create([{ name: 'A', owner: 'ada' }, { name: 'B' }]);
      const removed = await send(
        'DELETE',
        '/person.json',
        ids.map((id) => ({ id })),
        ada,
      );
      expect(removed.status).toBe(204);
      expect(votes).toEqual([]);
    });

    test('nested rows are read and shown in the groups that are granted without a row', async () => {
      const body = { name: 'A', owner: 'ada', visits: [{ reason: 'cough', finding: 'flu' }] };
      const made = await send('POST', '/person.json', body, doctor);
      expect(made.status).toBe(201);
      expect(made.json.visits).toMatchObject([{ reason: 'cough', finding: 'flu' }]);
      expect(votes).toEqual(['PERSON_MEDICAL null']);
      const refused = await send('POST', '/person.json', body, ada);
      const unknown = await send('POST', '/person.json', { ...body, visits: [{ reason: 'cough', nothing: 1 }] }, ada);
      expect([refused.status, refused.json.code]).toEqual([400, 'unknown_field']);
      expect(refused.json.detail).toBe(unknown.json.detail.replace('nothing', 'finding'));
      const listed = await send('POST', '/person.json', [{ name: 'B' }, body], ada);
      expect([listed.status, listed.json.code, listed.json.index]).toEqual([400, 'unknown_field', 1]);
      const plain = await send('POST', '/person.json', [{ name: 'B', visits: [{ reason: 'cough' }] }], ada);
      expect(plain.status).toBe(201);
      expect(names(plain.json.results[0].visits[0])).toBe('id,reason');
      expect((await stored()).length).toBe(2);
    });
  });
});

describe.each(databases)('a discriminator with a role on %s', (kind) => {
  const Beast = defineEntity({
    name: 'Beast',
    abstract: true,
    discriminatorColumn: 'type',
    properties: {
      id: p.integer().primary().groups('read'),
      type: p.enum(['cat', 'dog']).groups('read:type'),
      name: p.string().groups('read', 'write'),
    },
  } as never);
  const classes = ['cat', 'dog'].map((type) =>
    defineEntity({ name: type === 'cat' ? 'Cat' : 'Dog', extends: Beast, discriminatorValue: type, properties: {} } as never),
  );

  test('does not exist in bodies that change or remove rows, so nobody can guess it', async () => {
    const database = await freshDatabase(kind);
    const methods = { GET: true, POST: true, PATCH: true, PUT: true, DELETE: true };
    const beast = {
      class: 'Beast',
      base_path: '/beast',
      groups: { read: ['read', 'read:type'] },
      actions: { _index: { methods: { GET: true, POST: true }, bulk: { PATCH: true, DELETE: true } }, _entity: { methods } },
    };
    const app = await startApplication({
      app_main: {
        database: { url: database.url, schema: 'update' },
        groups: { 'read:type': { role: 'ROLE_KEEPER' } },
        apis: { beast },
      } as never,
      models: [Beast, ...classes],
    });
    try {
      const send = async (method: string, path: string, json: unknown, roles: string[] = []) => {
        const { status, text } = await app.request(method, path, { json, as: { id: 1, roles } });
        return [status, text];
      };
      expect((await send('POST', '/beast.json', { type: 'cat', name: 'Tom' }))[0]).toBe(201);
      for (const [method, path, isList] of [
        ['PATCH', '/beast/1.json', false],
        ['PUT', '/beast/1.json', false],
        ['PATCH', '/beast.json', true],
        ['DELETE', '/beast.json', true],
      ] as const) {
        const bodyOf = (item: object) => (isList ? [{ id: 1, ...item }] : item);
        const [status, unknown] = await send(method, path, bodyOf({ tipe: 'cat', name: 'x' }));
        expect(status).toBe(400);
        for (const type of ['cat', 'dog']) {
          expect(await send(method, path, bodyOf({ type, name: 'x' }))).toEqual([
            400,
            String(unknown).replaceAll('tipe', 'type'),
          ]);
        }
      }
      expect((await send('PATCH', '/beast/1.json', { type: 'cat', name: 'Tim' }, ['ROLE_KEEPER']))[0]).toBe(200);
    } finally {
      await app.close();
      await database.drop();
    }
  });
});

test('the schemas of lists are named by the groups of the action', async () => {
  const { startApplication } = await import('../support/testing.ts');
  const short = { read: ['read'], write: ['write'] };
  const apis = {
    ...options.app_main.apis,
    brief: {
      class: Person,
      base_path: '/brief',
      groups,
      actions: { _index: { groups: short, methods: all, bulk }, _entity: { methods: one } },
    },
  };
  const app = await startApplication({ ...options, app_main: { ...options.app_main, apis }, databaseUrl: 'sqlite::memory:' });
  try {
    const document = (await app.request('GET', '/openapi.json')).json;
    const itemOf = (path: string, method: string) =>
      document.paths[path][method].requestBody.content['application/json'].schema.items.$ref.split('/').at(-1);
    const usual = itemOf('/person.json', 'patch');
    const other = itemOf('/brief.json', 'patch');
    expect([usual, other]).toEqual(['PersonPatchItem', 'PersonWritePatchItem']);
    const { schemas } = document.components;
    expect(schemas[usual].properties.diagnosis['x-role']).toBe('PERSON_MEDICAL');
    expect(Object.keys(schemas[other].properties).sort()).toEqual(['_if_match', 'center', 'id', 'name', 'owner']);
    const rowsOf = (path: string) => document.paths[path].patch.responses['200'].content['application/json'].schema.$ref;
    expect(rowsOf('/person.json')).not.toBe(rowsOf('/brief.json'));
  } finally {
    await app.close();
  }
});
