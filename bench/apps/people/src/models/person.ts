import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { Center } from './center.ts';

/** Columns have the names of the response fields, so that no contestant has to rename them. */
export const personProperties = {
  id: p.integer().primary().groups('read'),
  kind: p.string().groups('read'),
  first_name: p.string().groups('read'),
  last_name: p.string().groups('read'),
  email: p.string().groups('read', 'write'),
  birthdate: p.date().groups('read'),
  created_at: p.datetime().groups('read'),
  center: () => p.manyToOne(Center).groups('read'),
};

export const Person = defineEntity({ name: 'Person', tableName: 'person', properties: personProperties });

export type Person = InferEntity<typeof Person>;
