// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { ApiController } from '../../src/index.ts';
import { databases } from '../support/databases.ts';
import { everything, useApplication } from './fixtures/use-application.ts';

const Tenant: any = defineEntity({
  name: 'Tenant',
  properties: {
    id: p.integer().primary().groups('read', 'write'),
    name: p.string().default('').groups('read'),
    tickets: () => p.oneToMany(Ticket).mappedBy('tenant'),
  },
} as never);
const Person: any = defineEntity({
  name: 'Person',
  properties: {
    tenant: () => p.manyToOne(Tenant).primary().groups('read', 'write'),
    id: p.integer().primary().groups('read', 'write'),
    open: p.boolean().default(true),
    tickets: () => p.oneToMany(Ticket).mappedBy('person'),
  },
} as never);
/** The tenant is part of its own key and of the reference. */
const Ticket: any = defineEntity({
  name: 'Ticket',
  properties: {
    tenant: () => p.manyToOne(Tenant).primary().groups('read', 'write'),
    id: p.integer().primary().groups('read', 'write'),
    title: p.string().default('').groups('read', 'write'),
    person: () => p.manyToOne(Person).joinColumns('tenant_id', 'person_id').nullable().groups('read', 'write'),
  },
} as never);
/** The tenant can change, and is a plain number. */
const Note: any = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary().groups('read', 'write'),
    tenant: p.integer().fieldName('tenant_id').groups('read', 'write'),
    person: () => p.manyToOne(Person).joinColumns('tenant_id', 'person_id').nullable().groups('read', 'write'),
  },
} as never);

/** Two references share the tenant, which comes last. */
const Visit: any = defineEntity({
  name: 'Visit',
  properties: {
    id: p.integer().primary().groups('read', 'write'),
    person: () => p.manyToOne(Person).joinColumns('tenant_id', 'person_id').nullable().groups('read', 'write'),
    helper: () => p.manyToOne(Person).joinColumns('tenant_id', 'helper_id').nullable().groups('read', 'write'),
    tenant: () => p.manyToOne(Tenant).joinColumn('tenant_id').groups('read', 'write'),
  },
} as never);
/** The model has the keys of persons instead of the persons, alone and with a column that is shared. */
const Call: any = defineEntity({
  name: 'Call',
  properties: {
    id: p.integer().primary().groups('read', 'write'),
    tenant: p.integer().fieldName('tenant_id').groups('read', 'write'),
    person: () => (p.manyToOne(Person) as any).mapToPk().joinColumns('tenant_id', 'person_id').nullable().groups('read', 'write'),
    other: () => (p.manyToOne(Person) as any).mapToPk().nullable().groups('read', 'write'),
  },
} as never);

/** Hides the persons that are not open. */
class PersonController extends ApiController<any> {
  override customizeQuery(_action: string, _request: any, query: any) {
    query.andWhere({ open: true });
  }
}

const everythingInLists = {
  ...everything,
  _index: { ...everything._index, bulk: { POST: true, PATCH: true } },
} as const;

const apis = {
  tenant: { class: Tenant, base_path: '/tenant', nested: { tickets: { max_items: 9 } }, actions: everything },
  person: {
    class: Person,
    base_path: '/person',
    controller: PersonController,
    nested: { tickets: { max_items: 9 } },
    actions: {
      ...everything,
      tickets: { methods: { POST: true, DELETE: true }, association: { property: 'tickets', types: [Ticket] } },
    },
  },
  ticket: { class: Ticket, base_path: '/ticket', actions: everythingInLists },
  visit: { class: Visit, base_path: '/visit', actions: everythingInLists },
  note: { class: Note, base_path: '/note', actions: everythingInLists },
  call: { class: Call, base_path: '/call', actions: everythingInLists },
} as const;

describe.each(databases)('references that share a column with another property on %s', (kind) => {
  describe.each([true, false])('compiled: %s', (compiledReads) => {
    const app = useApplication(kind, {
      app_main: { apis },
      models: [Tenant, Person, Ticket, Note, Visit, Call],
      controllers: [PersonController],
      compiledReads,
    });
    // person 6 of tenant 1 is hidden; the one of tenant 2 is not
    const filled = async () => {
      const em = app.app.application.mapper.em.fork();
      for (const model of [Call, Visit, Note, Ticket, Person, Tenant]) await em.nativeDelete(model, {});
      await em.insertMany(Tenant, [1, 2].map((id) => ({ id, name: `t${id}` })) as never);
      const persons = [
        { tenant: 1, id: 5, open: true },
        { tenant: 1, id: 6, open: false },
        { tenant: 2, id: 6, open: true },
      ];
      await em.insertMany(Person, persons as never);
      await em.insert(Ticket, { tenant: 1, id: 1, person: [1, 5] } as never);
      await em.insert(Note, { id: 1, tenant: 1, person: [1, 5] } as never);
      return em;
    };
    const own = { tenant: 1, id: 5 };
    const others = { tenant: 2, id: 6 };
    /** The notations of a reference. */
    const notations = [others, { tenant: { id: 2 }, id: 6 }, { id: '2,6' }];

    test('are written in lists and together with their owner, in each notation', async () => {
      for (const person of [own, { tenant: { id: 1 }, id: 5 }, { id: '1,5' }]) {
        await filled();
        const requests: [string, string, object, number][] = [
          ['POST', '/ticket.json', [{ tenant: { id: 1 }, id: 2, person }], 201],
          ['PATCH', '/ticket.json', [{ tenant: 1, id: 1, person }], 200],
          ['POST', '/note.json', [{ id: 2, tenant: 1, person }], 201],
          ['PATCH', '/note.json', [{ id: 1, tenant: 1, person }], 200],
          ['POST', '/person.json', { tenant: { id: 1 }, id: 7, tickets: [{ tenant: { id: 1 }, id: 9, title: 'c' }] }, 201],
        ];
        for (const [method, path, json, expected] of requests) {
          const { json: given, status } = await app.request(method, path, { json });
          expect([method, path, status, given]).toEqual([method, path, expected, given]);
        }
      }
    });

    test('are the key alone, if the model has that instead of the row', async () => {
      const em = await filled();
      for (const notation of [...notations, [2, 6]]) {
        const json = { id: 1, tenant: 1, person: own, other: notation };
        const made = await app.request('POST', '/call.json', { json });
        expect([made.status, made.json]).toEqual([201, { id: 1, tenant: 1, person: [1, 5], other: [2, 6] }]);
        expect((await app.request('GET', '/call.json')).json.results).toEqual([made.json]);
        const again = await app.request('PUT', '/call/1.json', { json: made.json });
        expect([again.status, again.json]).toEqual([200, made.json]);
        const cleared = await app.request('PATCH', '/call/1.json', { json: { person: null, other: own } });
        expect([cleared.status, cleared.json]).toEqual([200, { id: 1, tenant: 1, person: null, other: [1, 5] }]);
        const moved = await app.request('PATCH', '/call.json', { json: [{ id: 1, tenant: 2, person: others }] });
        expect([moved.status, moved.json.results]).toEqual([200, [{ id: 1, tenant: 2, person: [2, 6], other: [1, 5] }]]);
        const foreign = await app.request('PATCH', '/call/1.json', { json: { person: own } });
        expect([foreign.status, foreign.json.code]).toEqual([400, 'invalid_reference']);
        await em.nativeDelete(Call, {});
      }
    });

    test('are null as keys, too, if the caller cannot see the row', async () => {
      const em = await filled();
      await em.insert(Call, { id: 1, tenant: 1, person: [1, 6], other: [1, 6] } as never);
      expect((await app.request('GET', '/call/1.json')).json).toEqual({ id: 1, tenant: 1, person: null, other: null });
      const json = { person: null, other: { tenant: 1, id: 6 } };
      expect((await app.request('PATCH', '/call/1.json', { json })).status).toBe(400);
      expect((await app.request('PATCH', '/call/1.json', { json: { person: null, other: null } })).status).toBe(200);
      // hidden references stay
      expect(await em.fork().execute('select person_id from call')).toEqual([{ person_id: 6 }]);
    });

    test('are in rows whose items in lists have all parts of their key, as one of these is named id', async () => {
      const { json, status } = await app.request('PATCH', '/ticket.json', { json: [{ id: '1,1', title: 'a' }] });
      expect([status, json.detail]).toEqual([400, expect.stringMatching(/an item has no "tenant" and "id"$/)]);
    });

    test('may be several, which agree with the column even if some are null', async () => {
      const em = await filled();
      const tenant = { id: 1 };
      const tries: [string, string, object, number][] = [
        ['POST', '/visit.json', { id: 1, tenant, person: own }, 201],
        ['POST', '/visit.json', { id: 2, tenant, helper: own }, 201],
        ['POST', '/visit.json', { id: 3, tenant, helper: own, person: own }, 201],
        ['POST', '/visit.json', { id: 4, tenant }, 201],
        ['POST', '/visit.json', { id: 5, tenant, helper: others, person: others }, 400],
        ['POST', '/visit.json', { id: 5, tenant, helper: others }, 400],
        ['POST', '/visit.json', { id: 5, tenant, person: others, helper: own }, 400],
        ['PATCH', '/visit/1.json', { person: others, helper: others }, 400],
        ['PATCH', '/visit/2.json', { person: own, helper: null }, 200],
        ['PATCH', '/visit/3.json', { tenant: { id: 2 } }, 400],
        ['PATCH', '/visit/3.json', { tenant: { id: 2 }, person: others, helper: null }, 200],
        ['PATCH', '/visit/4.json', { tenant: { id: 2 } }, 200],
        ['PATCH', '/visit/4.json', { tenant: { id: 1 }, person: others, helper: others }, 400],
      ];
      for (const [method, path, json, expected] of tries) {
        const { json: given, status } = await app.request(method, path, { json });
        expect([method, path, json, status, given]).toEqual([method, path, json, expected, given]);
      }
      const visits = await em.fork().execute('select id, tenant_id, person_id, helper_id from visit order by id');
      expect(visits.map((row: object) => Object.values(row))).toEqual([
        [1, 1, 5, null],
        [2, 1, 5, null],
        [3, 2, 6, null],
        [4, 2, null, null],
      ]);
    });

    test('are written if both agree', async () => {
      await filled();
      const created = await app.request('POST', '/ticket.json', { json: { tenant: { id: 1 }, id: 2, person: own } });
      expect([created.status, created.json.person]).toMatchObject([201, { tenant: { id: 1 }, id: 5 }]);
      const cleared = await app.request('PATCH', '/ticket/1,1.json', { json: { person: null, title: 'a' } });
      expect([cleared.status, cleared.json]).toMatchObject([200, { tenant: { id: 1 }, title: 'a', person: null }]);
      const moved = await app.request('PATCH', '/note/1.json', { json: { tenant: 2, person: others } });
      expect([moved.status, moved.json]).toMatchObject([200, { tenant: 2, person: { id: 6 } }]);
      expect((await app.request('POST', '/person/1,5/tickets.json', { json: { id: '1,1' } })).status).toBe(200);
      expect((await app.request('GET', '/ticket/1,1.json')).json.person.id).toBe(5);
    });

    test('never become references to the row of the same number elsewhere, which may be hidden', async () => {
      const em = await filled();
      const tries: [string, string, object][] = notations.flatMap((person): [string, string, object][] => [
        ['POST', '/ticket.json', { tenant: { id: 1 }, id: 2, person }],
        ['PATCH', '/ticket/1,1.json', { person }],
        ['PUT', '/ticket/1,1.json', { tenant: { id: 1 }, id: 1, title: '', person }],
        ['POST', '/note.json', { id: 2, tenant: 1, person }],
        ['PATCH', '/note/1.json', { person }],
        // lists of rows, after an item without a fault
        ['POST', '/ticket.json', [2, 3].map((id) => ({ tenant: { id: 1 }, id, person: id === 2 ? own : person }))],
        ['PATCH', '/ticket.json', [{ tenant: 1, id: 1, person }]],
        ['POST', '/note.json', [2, 3].map((id) => ({ id, tenant: 1, person: id === 2 ? own : person }))],
        ['PATCH', '/note.json', [{ id: 1, person }]],
        // rows that are created with their owner
        ['POST', '/tenant.json', { id: 3, tickets: [{ id: 1, person }] }],
      ]);
      tries.push(
        ['POST', '/person/2,6/tickets.json', { id: '1,1' }],
        ['PATCH', '/note/1.json', { tenant: 2 }],
        ['PATCH', '/note.json', [{ id: 1, tenant: 2 }]],
        ['POST', '/person.json', { tenant: { id: 1 }, id: 7, tickets: [{ tenant: { id: 2 }, id: 9, title: 'c' }] }],
      );
      for (const [method, path, json] of tries) {
        const { json: given, status } = await app.request(method, path, { json });
        expect([method, path, status, given.code]).toEqual([method, path, 400, 'invalid_reference']);
      }
      const tickets = (await em.fork().find(Ticket, {})) as any[];
      expect(tickets.map(({ person }) => [person.tenant.id, person.id])).toEqual([[1, 5]]);
      const notes = (await em.fork().find(Note, {})) as any[];
      expect(notes.map(({ person, tenant }) => [tenant, person.id])).toEqual([[1, 5]]);
    });
  });
});
