import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

export const ThirdParty = defineEntity({
  name: 'ThirdParty',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().length(120).groups('read'),
    telephone: p.string().length(30).nullable().groups('read'),
  },
});

export type ThirdParty = InferEntity<typeof ThirdParty>;
