import { EntitySchema } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { databases } from '../support/databases.ts';
import { everything, useApplication } from './fixtures/use-application.ts';

const readWrite = { groups: ['read', 'write'] };

/** Types as decorators and `EntitySchema` name them. */
const Parcel: any = new EntitySchema<any>({
  name: 'Parcel',
  properties: {
    id: { type: 'uuid', primary: true, ...readWrite },
    sent: { type: 'timestamp', nullable: true, ...readWrite },
    label: { type: 'varchar(30)', length: 30, nullable: true, ...readWrite },
    grade: { type: 'char', nullable: true, ...readWrite },
  },
});

const id = '0198a5b0-0000-7000-8000-00000000000a';

describe.each(databases)('columns whose types are named by texts on %s', (kind) => {
  const app = useApplication(kind, {
    app_main: {
      apis: {
        parcel: {
          class: Parcel,
          base_path: '/parcel',
          filters: { id: ['eq', 'in'], sent: ['gte'], label: ['contains'] },
          sort: ['sent'],
          actions: { ...everything, _entity: { ...everything._entity, requirements: { id: '[0-9a-f-]+' } } },
        },
      },
    },
    models: [Parcel],
  });

  test('a UUID can be the primary key, and all are written, filtered and sorted', async () => {
    const parcel = { id, sent: '2026-11-15T10:00:00.000Z', label: 'to Graz', grade: 'A' };
    const created = await app.request('POST', '/parcel.json', { json: parcel });
    expect([created.status, created.json]).toEqual([201, parcel]);
    expect((await app.request('GET', `/parcel/${id}.json`)).json).toEqual(parcel);
    const query = `id=${id}&sent[gte]=2026-01-01T00:00:00Z&label[contains]=graz&sort=-sent`;
    expect((await app.request('GET', `/parcel.json?${query}`)).json.results).toEqual([parcel]);
    const changed = await app.request('PATCH', `/parcel/${id}.json`, { json: { sent: null, label: 'to Linz' } });
    expect(changed.json).toEqual({ ...parcel, sent: null, label: 'to Linz' });
  });

  test('values of other types are rejected', async () => {
    expect((await app.request('GET', '/parcel/abc.json')).status).toBe(404);
    const wrong = { id: 'x', sent: 'yesterday', label: 'a'.repeat(31), grade: 5 };
    const { json, status } = await app.request('POST', '/parcel.json', { json: wrong });
    expect(status).toBe(422);
    expect(json.violations.map(({ propertyPath }: { propertyPath: string }) => propertyPath).sort()).toEqual([
      'grade',
      'id',
      'label',
      'sent',
    ]);
  });
});
