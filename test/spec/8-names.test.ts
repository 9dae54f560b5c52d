import { defineEntity, type EntityManager, p } from '@mikro-orm/core';
import { describe, expect } from 'vitest';
import { databases } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { everything, useApplication } from './fixtures/use-application.ts';

type Any = any;

const Account = defineEntity({
  name: 'Account',
  discriminatorColumn: 'kind',
  abstract: true,
  properties: {
    id: p.integer().primary().groups('read'),
    kind: p.string(),
    email: p.string().unique().groups('write'),
    ledger: p.string().default('main').unique(),
    notes: () => (p.oneToMany(Note as Any) as Any).mappedBy('account'),
  },
} as Any);
const Gold = defineEntity({ name: 'Gold', extends: Account, discriminatorValue: 'goldvault', properties: {} } as Any);
const Iron = defineEntity({ name: 'Iron', extends: Account, discriminatorValue: 'ironvault', properties: {} } as Any);
const Note: Any = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary().groups('read'),
    text: p.string().groups('read', 'write'),
    account: () => (p.manyToOne(Account as Any) as Any).deleteRule('restrict'),
  },
});
const Form = defineEntity({
  name: 'Form',
  properties: {
    id: p.integer().primary().groups('read'),
    text: p.string().groups('read', 'write'),
    auditor: p.string(),
  },
});
const Sorted = defineEntity({
  name: 'Sorted',
  properties: {
    id: p.integer().primary().groups('read'),
    rank: p.string(),
    masked: p
      .string()
      .groups('read')
      .serializer(() => '***'),
  },
});

const reading = { _index: { methods: { GET: true } } };

describe.each(databases)('error responses do not reveal names that no caller can read or write, on %s', (database) => {
  const { request } = useApplication(database, {
    models: [Account, Gold, Iron, Note, Form, Sorted] as Any[],
    app_main: {
      apis: {
        account: { class: Account, base_path: '/account', actions: everything },
        note: { class: Note, base_path: '/note', actions: everything },
        form: { class: Form, base_path: '/form', actions: everything },
        ranked: { class: Sorted, base_path: '/ranked', default_sort: ['rank'], actions: reading },
        masked: { class: Sorted, base_path: '/masked', default_sort: ['masked'], actions: reading },
      } as Any,
    },
    seed: async (em: EntityManager) => {
      const one = em.create(Gold as Any, { email: 'a@b.c' } as Any);
      em.persist([one, em.create(Note as Any, { text: 'x', account: one } as Any)]);
      for (const rank of ['secret-a', 'secret-b', 'secret-c'])
        em.persist(em.create(Sorted as Any, { rank, masked: rank } as Any));
      await em.flush();
    },
  });

  test('of a unique property', async () => {
    const hidden = await request('POST', '/account.json', { json: { kind: 'ironvault', email: 'new@b.c' } });
    expect(hidden.status, hidden.text).toBe(409);
    expect(hidden.text).not.toContain('ledger');
    const written = await request('POST', '/account.json', { json: { kind: 'ironvault', email: 'a@b.c' } });
    expect(written.status).toBe(409);
  });

  test('of an association that still refers to a row', async () => {
    const { status, json, text } = await request('DELETE', '/account/1.json');
    expect(status, text).toBe(409);
    expect(json.detail).toBe('the account is still referenced by another entity');
  });

  test('of the class of a row', async () => {
    for (const type of ['type', 'kind']) {
      const { status, text } = await request('PATCH', '/account/1.json', { json: { [type]: 'ironvault' } });
      expect(status, text).toBe(400);
      expect(text).not.toContain('goldvault');
    }
  });

  test('of a property with a model rule', async () => {
    const { status, json, text } = await request('POST', '/form.json', { json: { text: 'x' } });
    expect(status, text).toBe(422);
    expect(text).not.toContain('auditor');
    expect(json.violations.map(({ propertyPath }: Any) => propertyPath)).toEqual(['']);
    const seen = await request('POST', '/form.json', { json: {} });
    expect(seen.json.violations.map(({ propertyPath }: Any) => propertyPath)).toContain('text');
  });

  test.each(['ranked', 'masked'])('of the sort order of the list %s', async (list) => {
    const { json, text } = await request('GET', `/${list}.json?items_per_page=2`);
    expect(json.results).toHaveLength(2);
    expect(json.pagination.next).toBe(`/${list}.json?items_per_page=2&page=2`);
    expect(text).not.toContain('secret');
    const token = Buffer.from(JSON.stringify(['AAAAAA', 'secret-b', 2])).toString('base64url');
    expect((await request('GET', `/${list}.json?after=${token}`)).status).toBe(400);
  });
});
