import { defineEntity, p } from '@mikro-orm/core';

export const Center = defineEntity({
  name: 'Center',
  tableName: 'center',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read'),
  },
});
