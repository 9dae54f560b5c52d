import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect } from 'vitest';
import { ApiController } from '../../src/index.ts';
import { databases } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { everything, useApplication } from './fixtures/use-application.ts';

const Tenant: any = defineEntity({
  name: 'Tenant',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
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

/** Hides the persons that are not open. */
class PersonController extends ApiController<any> {
  override customizeQuery(_action: string, _request: any, query: any) {
    query.andWhere({ open: true });
  }
}

const apis = {
  person: {
    class: Person,
    base_path: '/person',
    controller: PersonController,
    actions: {
      ...everything,
      tickets: { methods: { POST: true, DELETE: true }, association: { property: 'tickets', types: [Ticket] } },
    },
  },
  ticket: { class: Ticket, base_path: '/ticket', actions: everything },
  note: { class: Note, base_path: '/note', actions: everything },
} as const;

describe.each(databases)('references that share a column with another property on %s', (kind) => {
  describe.each([true, false])('compiled: %s', (compiledReads) => {
    const app = useApplication(kind, {
      app_main: { apis },
      models: [Tenant, Person, Ticket, Note],
      controllers: [PersonController],
      compiledReads,
    });
    // person 6 of tenant 1 is hidden; the one of tenant 2 is not
    const filled = async () => {
      const em = app.app.application.mapper.em.fork();
      for (const model of [Note, Ticket, Person, Tenant]) await em.nativeDelete(model, {});
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
      const tries: [string, string, object][] = [
        ['POST', '/ticket.json', { tenant: { id: 1 }, id: 2, person: others }],
        ['PATCH', '/ticket/1,1.json', { person: others }],
        ['PUT', '/ticket/1,1.json', { tenant: { id: 1 }, id: 1, title: '', person: others }],
        ['POST', '/person/2,6/tickets.json', { id: '1,1' }],
        ['POST', '/note.json', { id: 2, tenant: 1, person: others }],
        ['PATCH', '/note/1.json', { person: others }],
        ['PATCH', '/note/1.json', { tenant: 2 }],
      ];
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
