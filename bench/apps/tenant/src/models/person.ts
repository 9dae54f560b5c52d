import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { Center } from './center.ts';
import { Tenant } from './tenant.ts';

export const Person = defineEntity({
  name: 'Person',
  tableName: 'person',
  properties: {
    id: p.integer().primary().groups('read'),
    kind: p.string().groups('read', 'write'),
    first_name: p.string().groups('read', 'write'),
    last_name: p.string().groups('read', 'write'),
    email: p.string().groups('read', 'write'),
    birthdate: p.date().groups('read', 'write'),
    created_at: p
      .datetime()
      .onCreate(() => new Date())
      .groups('read'),
    center: () => p.manyToOne(Center).groups('read', 'write'),
    // A body can name only centers of the caller's tenant. Hooks of a controller run after the check of required fields.
    tenant: () => p.manyToOne(Tenant).onCreate(({ center }) => center.tenant),
  },
});

export type Person = InferEntity<typeof Person>;
