// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from '../support/browser.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { declarations, type OpenExplorer, openExplorer, tokenOf } from '../support/explorer.ts';

const House = defineEntity({
  name: 'House',
  properties: { id: p.integer().primary().groups('read', 'write'), street: p.string().groups('read', 'write') },
});
const Room = defineEntity({
  name: 'Room',
  properties: {
    house: () => p.manyToOne(House).primary().groups('read', 'write'),
    door: p.string().length(20).primary().groups('read', 'write'),
    name: p.string().length(40).groups('read', 'write'),
  },
});
const Lamp = defineEntity({
  name: 'Lamp',
  properties: {
    id: p.integer().primary().groups('read', 'write'),
    room: () => p.manyToOne(Room).nullable().groups('read', 'write'),
    seenIn: () => p.manyToMany(Room).groups('read', 'write'),
  },
});

const open = { GET: true, POST: true };
const application = declarations({
  models: [House, Room, Lamp],
  apis: {
    house: { class: 'House', base_path: '/api/house', base_role: 'ROLE_USER', actions: { _index: { methods: open } } },
    room: {
      class: 'Room',
      base_path: '/api/room',
      base_role: 'ROLE_USER',
      actions: { _index: { methods: open }, _entity: { methods: { GET: true, PATCH: true, DELETE: true } } },
    },
    closet: { class: 'Room', base_path: '/api/closet', base_role: 'ROLE_USER', actions: { _entity: { methods: { GET: true } } } },
    lamp: {
      class: 'Lamp',
      base_path: '/api/lamp',
      base_role: 'ROLE_USER',
      actions: {
        _index: { methods: open },
        _entity: { methods: { GET: true, PATCH: true } },
        seen: { association: { property: 'seenIn' } },
      },
    },
  },
});

const door = 'a,b/1 %';
const address = '1,a%2Cb%2F1%20%25';

describe.each(databases)('composite keys in the explorer on %s', (kind) => {
  let browser: Browser;
  let database: FreshDatabase;
  let explorer: OpenExplorer;
  let headers: Record<string, string>;
  const api = async (method: string, path: string, body?: object): Promise<any> => {
    const response = await fetch(explorer.app.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    return response.status === 204 ? null : response.json();
  };
  const heading = (name: string) => explorer.page.getByRole('heading', { name, exact: true }).waitFor();

  beforeAll(async () => {
    browser = await openBrowser();
    database = await freshDatabase(kind);
    explorer = await openExplorer(browser, application(database.url));
    headers = await tokenOf(explorer, 'Uma');
    await api('POST', '/api/house.json', { id: 1, street: 'Mill lane' });
    await api('POST', '/api/room.json', { house: { id: 1 }, door, name: 'Kitchen' });
    await explorer.open('');
    await explorer.signIn('Uma');
  });
  afterAll(async () => {
    await explorer?.close();
    await browser?.close();
    await database?.drop();
  });

  test('a row is opened from the list, edited, created and deleted', async () => {
    const { page } = explorer;
    await explorer.open('/room');
    await page.getByRole('link', { name: /a,b.1 %.*open/ }).click();
    await heading('Kitchen');
    expect(explorer.sent).toContain(`GET /api/room/${address}.json`);
    await page.getByRole('link', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Name').fill('Parlour');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await heading('Parlour');
    await page.reload();
    await heading('Parlour');
    expect((await api('GET', `/api/room/${address}.json`)).name).toBe('Parlour');

    await explorer.open('/room/~new');
    await page.getByLabel('House').click();
    await page.getByRole('button', { name: /Mill lane/ }).click();
    await page.getByLabel('Door').fill('7');
    await page.getByLabel('Name').fill('Attic');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await heading('Attic');
    expect(new URL(page.url()).pathname).toBe('/explorer/room/1,7');
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    expect((await api('GET', '/api/room/1,7.json')).status).toBe(404);
    expect(explorer.complaints).toEqual([]);
  });

  test('references are picked, linked, added and removed', async () => {
    const { page } = explorer;
    await api('PATCH', `/api/room/${address}.json`, { name: 'Study' });
    await api('POST', '/api/lamp.json', { id: 5 });
    await explorer.open('/lamp/5/~edit');
    await page.getByLabel('Room', { exact: true }).click();
    await page.getByRole('button', { name: /Study/ }).click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('link', { name: 'Study' }).click();
    await heading('Study');
    expect((await api('GET', '/api/lamp/5.json')).room).toMatchObject({ door });
    await explorer.open('/lamp/5');
    await page.getByRole('button', { name: 'Add… to seenIn' }).click();
    await page.getByRole('dialog').getByRole('button', { name: /Study/ }).click();
    await page.getByRole('button', { name: 'Remove Study from seenIn' }).click();
    await page.getByRole('button', { name: 'Remove Study from seenIn' }).waitFor({ state: 'hidden' });
    expect((await api('GET', '/api/lamp/5.json')).seenIn).toEqual([]);
    expect(explorer.complaints).toEqual([]);
  });

  test('a row is opened by the parts of its id', async () => {
    const { page } = explorer;
    await api('PATCH', `/api/room/${address}.json`, { name: 'Cellar' });
    await explorer.open('/closet');
    await page.getByLabel('House Id').fill('1');
    await page.getByLabel('Door').fill(door);
    await page.getByRole('button', { name: 'Open', exact: true }).click();
    await heading('Cellar');
    expect(explorer.complaints).toEqual([]);
  });
});
