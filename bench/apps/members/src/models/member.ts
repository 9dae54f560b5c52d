import { defineEntity } from '@mikro-orm/core';
import { personProperties } from '../../../people/src/models/person.ts';

export const Member = defineEntity({
  name: 'Member',
  tableName: 'person',
  filters: { members: { name: 'members', cond: { center: 7 }, default: true } },
  properties: personProperties,
});
