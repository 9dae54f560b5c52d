import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { Center } from './center.ts';

export const User = defineEntity({
  name: 'User',
  tableName: 'app_user',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().length(80).groups('read', 'write'),
    centers: () => p.manyToMany(Center).groups('read', 'write'),
  },
});

export type User = InferEntity<typeof User>;
