import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { Tenant } from './tenant.ts';

export const Center = defineEntity({
  name: 'Center',
  tableName: 'center',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read'),
    tenant: () => p.manyToOne(Tenant),
  },
});

export type Center = InferEntity<typeof Center>;
