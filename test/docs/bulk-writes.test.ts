import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineEntity, p } from '@mikro-orm/core';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { startApplication } from '../support/testing.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'how-to', 'bulk-writes.md'), 'utf8');

const Vaccination = defineEntity({
  name: 'Vaccination',
  properties: {
    id: p.integer().primary().groups('read'),
    date: p.date().groups('read', 'write'),
    person: () => p.manyToOne(Person),
  },
});
const Person = defineEntity({
  name: 'Person',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    vaccinations: () => p.oneToMany(Vaccination).mappedBy('person').groups('read'),
  },
});

test('the requests of docs/how-to/bulk-writes.md get the responses that it shows', async () => {
  const { app_main } = parse(/```yaml\n([\s\S]*?)```/.exec(page)?.[1] as string);
  const app = await startApplication({
    app_main: { ...app_main, database: { url: 'sqlite::memory:', schema: 'update' } },
    models: [Person, Vaccination],
  });
  const exchanges = page.matchAll(/```http\n(\w+) (\S+)\n[^[{]*([\s\S]*?)```(?:[^`]*```json\n([\s\S]*?)```)?/g);
  const statuses: number[] = [];
  for (const [, method, path, body, shown] of exchanges) {
    const answer = await app.request(method as string, path as string, { json: JSON.parse(body as string) });
    statuses.push(answer.status);
    if (shown) expect(answer.json).toMatchObject(JSON.parse(shown));
  }
  expect(statuses).toEqual([201, 200, 204, 422, 404, 201]);
  await app.close();
});
