import { defineEntity, p } from '@mikro-orm/core';
import { Person } from './person.ts';

export const Course = defineEntity({
  name: 'Course',
  tableName: 'course',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read'),
    participants: () =>
      p.manyToMany(Person).pivotTable('course_person').joinColumn('course_id').inverseJoinColumn('person_id').groups('read'),
  },
});
