import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

export const Tenant = defineEntity({
  name: 'Tenant',
  tableName: 'tenant',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
  },
});

export type Tenant = InferEntity<typeof Tenant>;
