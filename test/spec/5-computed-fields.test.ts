import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { databases } from '../support/databases.ts';
import { everything, useApplication } from './fixtures/use-application.ts';

const Line: any = defineEntity({
  name: 'Line',
  properties: {
    id: p.integer().primary().groups('read'),
    price: p.integer().groups('read', 'write'),
    total: p.integer().generated('(price * 2) stored').groups('read', 'write'),
    half: p.integer().formula('(price / 2)').groups('read', 'write'),
  },
} as never);

describe.each(databases)('a field that the database computes, in the group write on %s', (kind) => {
  const app = useApplication(kind, {
    app_main: { apis: { line: { class: Line, base_path: '/line', actions: everything } } },
    models: [Line],
  });

  test('is read, and rejected in a body', async () => {
    const created = await app.request('POST', '/line.json', { json: { price: 4 } });
    expect(created.json).toEqual({ id: 1, price: 4, total: 8, half: 2 });
    for (const [field, value] of [
      ['total', 99],
      ['half', 1],
    ] as const)
      for (const [method, path] of [
        ['POST', '/line.json'],
        ['PATCH', '/line/1.json'],
        ['PUT', '/line/1.json'],
      ] as const) {
        const { status, json } = await app.request(method, path, { json: { price: 5, [field]: value } });
        expect([method, status, json.code, json.detail]).toEqual([
          method,
          400,
          'field_not_writable',
          expect.stringContaining(field),
        ]);
      }
    expect((await app.request('PUT', '/line/1.json', { json: { price: 6 } })).json).toEqual({
      id: 1,
      price: 6,
      total: 12,
      half: 3,
    });
  });

  test('is not in the schema of bodies', async () => {
    const { schemas } = (await app.request('GET', '/openapi.json')).json.components;
    const bodies = Object.entries<any>(schemas).filter(([name]) => /Create|Update|Change|Write|Replace/.test(name));
    expect(bodies.length).toBeGreaterThan(0);
    for (const [, { properties }] of bodies) expect(Object.keys(properties ?? {})).toEqual(['price']);
  });
});
