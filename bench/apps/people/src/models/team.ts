import { defineEntity, p } from '@mikro-orm/core';
import { Person } from './person.ts';

const schema = defineEntity({
  name: 'Team',
  tableName: 'team',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read'),
    participants: () =>
      p.manyToMany(Person).pivotTable('team_person').joinColumn('team_id').inverseJoinColumn('person_id').groups('read'),
  },
});

/** A team has the same rows as a course, and its own methods to add and remove a participant. */
export class Team extends schema.class {
  addParticipant(person: Person): void {
    if (!this.participants.contains(person)) this.participants.add(person);
  }

  removeParticipant(person: Person): void {
    this.participants.remove(person);
  }
}

schema.setClass(Team);
