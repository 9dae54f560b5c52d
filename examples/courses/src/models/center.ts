import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

export const Center = defineEntity({
  name: 'Center',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().length(80).unique().groups('read'),
  },
});

export type Center = InferEntity<typeof Center>;
