import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

export const SampleItem = defineEntity({
  name: 'SampleItem',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().length(80).groups('read', 'write'),
    archived: p.boolean().default(false).groups('read', 'write'),
    created: p
      .datetime()
      .onCreate(() => new Date())
      .groups('read'),
    // in no group: never sent, never accepted
    remark: p.string().nullable(),
  },
});

export type SampleItem = InferEntity<typeof SampleItem>;
