import { defineEntity, p } from '@mikro-orm/core';

export const Address = defineEntity({
  name: 'Address',
  embeddable: true,
  properties: {
    street: p.string().length(120).groups('read', 'write'),
    city: p.string().length(80).groups('read', 'write'),
    postcode: p.string().length(12).nullable().groups('read', 'write'),
  },
});
