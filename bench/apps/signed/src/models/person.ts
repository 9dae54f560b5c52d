import { defineEntity, p } from '@mikro-orm/core';
import { personProperties } from '../../../people/src/models/person.ts';

/** A person whose contact data and birthdate are in groups of their own. */
export const Person = defineEntity({
  name: 'Person',
  tableName: 'person',
  properties: {
    ...personProperties,
    email: p.string().groups('read:contact', 'write'),
    birthdate: p.date().groups('read:birth'),
  },
});
