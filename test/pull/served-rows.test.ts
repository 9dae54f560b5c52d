// @module-tag divided
import { describe, expect, onTestFinished, test } from 'vitest';
import { databases, freshDatabase } from '../support/databases.ts';
import { startApplication } from '../support/testing.ts';
import { openModels, pullInto, runSql, schemaSql } from './databases.ts';

describe.each(databases)('an application that was pulled on %s', (kind) => {
  const started = (name: string, methods: string[] = ['GET']) => startedWith(schemaSql(name, kind), methods);
  const startedWith = async (sql: string, methods: string[]) => {
    const database = await freshDatabase(kind);
    onTestFinished(() => database.drop());
    await runSql(kind, database, sql);
    const { directory, out } = await pullInto(database.url);
    expect(out).not.toContain('the foreign key');
    openModels(directory, methods);
    const app = await startApplication({ directory, env: { DATABASE_URL: database.url } });
    onTestFinished(() => app.close());
    const as = { id: 1, roles: ['ROLE_USER'] };
    return (method: string, path: string, json?: unknown) =>
      app.request(method, path, { as, ...(json !== undefined && { json }) });
  };

  test('serves every table of the sample schemas', async () => {
    for (const name of ['tickets', 'rental']) {
      const request = await started(name);
      const { paths } = (await request('GET', '/openapi.json')).json as { paths: Record<string, object> };
      const lists = Object.keys(paths).filter((path) => !path.includes('{id}') && path.startsWith('/api/'));
      expect(lists.length).toBeGreaterThan(6);
      for (const path of lists) {
        const { json, status } = await request('GET', path.replace('{_format}', 'json'));
        expect([path, status, status === 200 ? '' : json]).toEqual([path, 200, '']);
      }
    }
  });

  test('writes rows with the defaults and generated values of the database', async () => {
    const request = await started('shop', ['GET', 'POST', 'PATCH']);
    const body = { email: 'grace@example.com', firstName: 'Grace', lastName: 'Hopper' };
    const created = await request('POST', '/api/customer.json', body);
    expect([created.status, created.json]).toMatchObject([
      201,
      { id: 3, fullName: 'Grace Hopper', newsletter: false, preferences: {} },
    ]);
    const order = await request('POST', '/api/order.json', { customer: { id: 3 } });
    expect([order.status, order.json]).toMatchObject([201, { id: 2, customer: { id: 3, firstName: 'Grace' }, state: 'draft' }]);
    const changed = await request('PATCH', '/api/order/2.json', { state: 'placed' });
    expect([changed.status, changed.json.state]).toEqual([200, 'placed']);
    const { json: products } = await request('GET', '/api/product.json');
    expect((await request('GET', '/api/product/A-1.json')).json).toEqual(products.results[0]);
    expect(products.results[0]).toMatchObject({ sku: 'A-1', price: '19.90', size: 'M', relateds: [{ sku: 'A-2' }] });
  });

  test('refers to rows with a composite key by associations of several columns', async () => {
    const sql = `
      create table seat (hall integer not null, number varchar(5) not null, price integer, primary key (hall, number));
      create table ticket (id integer primary key, holder text not null, seat_number varchar(5), seat_hall integer,
        previous_hall integer, previous_number varchar(5),
        unique (seat_hall, seat_number),
        foreign key (seat_number, seat_hall) references seat (number, hall) on delete set null,
        foreign key (previous_hall, previous_number) references seat);
      create table stub (seat_hall integer not null, seat_number varchar(5) not null, part integer not null,
        primary key (seat_hall, seat_number, part), foreign key (seat_hall, seat_number) references seat);
      insert into seat values (1, 'a1', 10), (1, 'a2', 20);
      insert into stub values (1, 'a2', 7)`;
    const request = await startedWith(sql, ['GET', 'POST', 'PATCH', 'DELETE']);
    const seat = { hall: 1, number: 'a1' };
    const created = await request('POST', '/api/ticket.json', { id: 1, holder: 'Ada', seat, previous: { id: '1,a2' } });
    expect([created.status, created.json]).toMatchObject([201, { seat: { ...seat, price: 10 }, previous: { number: 'a2' } }]);
    expect((await request('POST', '/api/ticket.json', { id: 2, holder: 'Ida', seat })).status).toBe(409);
    expect((await request('PATCH', '/api/ticket/1.json', { previous: null })).json.previous).toBeNull();
    expect((await request('DELETE', '/api/seat/1,a1.json')).status).toBe(204);
    expect((await request('GET', '/api/ticket/1.json')).json.seat).toBeNull();
    expect((await request('GET', '/api/stub/1,a2,7.json')).json).toMatchObject({ part: 7, seat: { hall: 1, number: 'a2' } });
  });

  test('shares the column of a tenant between associations', async () => {
    const sql = `
      create table tenant (id integer primary key, name text not null);
      create table person (tenant_id integer not null references tenant, id integer not null, name text not null, primary key (tenant_id, id));
      create table room (tenant_id integer not null references tenant, id integer not null, primary key (tenant_id, id));
      create table ticket (tenant_id integer not null references tenant, id integer not null, person_id integer, room_id integer,
        primary key (tenant_id, id),
        foreign key (tenant_id, person_id) references person, foreign key (tenant_id, room_id) references room);
      create index on_person on ticket (tenant_id, person_id);
      create table note (id integer primary key, tenant_id integer, person_id integer, room_id integer,
        foreign key (tenant_id, person_id) references person, foreign key (tenant_id, room_id) references room);
      insert into tenant values (1, 'one'), (2, 'two');
      insert into person values (1, 5, 'Ada'), (1, 6, 'Bo'), (2, 6, 'Cy');
      insert into room values (1, 7)`;
    const request = await startedWith(sql, ['GET', 'POST', 'PATCH']);
    const person = { tenant: 1, id: 5 };
    const room = { tenant: 1, id: 7 };
    const ticket = await request('POST', '/api/ticket.json', { tenant: { id: 1 }, id: 1, person, room });
    expect([ticket.status, ticket.json]).toMatchObject([
      201,
      { tenant: { name: 'one' }, person: { name: 'Ada' }, room: { id: 7 } },
    ]);
    const other = await request('PATCH', '/api/ticket/1,1.json', { person: { tenant: 2, id: 6 } });
    expect([other.status, other.json.code]).toEqual([400, 'invalid_reference']);
    const cleared = await request('PATCH', '/api/ticket/1,1.json', { person: null });
    expect(cleared.json).toMatchObject({ tenant: { id: 1 }, person: null, room: { id: 7 } });
    const note = await request('POST', '/api/note.json', { id: 1, tenantId: 1, person, room });
    expect([note.status, note.json]).toMatchObject([201, { tenantId: 1, person: { name: 'Ada' }, room: { id: 7 } }]);
    expect((await request('GET', '/api/note/1.json')).json).toEqual(note.json);
  });
});
