import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { Person } from './person.ts';
import { Tenant } from './tenant.ts';

/** A course without code of its own: its participants are added and removed as declared. */
export const Course = defineEntity({
  name: 'Course',
  tableName: 'course',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read'),
    participants: () =>
      p.manyToMany(Person).pivotTable('course_person').joinColumn('course_id').inverseJoinColumn('person_id').groups('read'),
    tenant: () => p.manyToOne(Tenant),
  },
});

export type Course = InferEntity<typeof Course>;
