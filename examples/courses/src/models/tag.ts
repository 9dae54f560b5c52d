import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

export const Tag = defineEntity({
  name: 'Tag',
  properties: {
    id: p.string().length(40).primary().groups('read'),
    label: p.string().length(80).groups('read'),
  },
});

export type Tag = InferEntity<typeof Tag>;
