import { defineEntity, p } from '@mikro-orm/core';
import { Center } from './center.ts';
import { Person } from './person.ts';
import { Tag } from './tag.ts';
import { ThirdParty } from './third-party.ts';
import { User } from './user.ts';

const participationSchema = defineEntity({
  name: 'Participation',
  properties: {
    id: p.integer().primary().groups('read'),
    course: () => p.manyToOne(Course),
    person: () => p.manyToOne(Person).groups('read'),
    start: p.date().groups('read'),
    end: p.date().nullable().groups('read'),
  },
});

/** The participation of a person in a course, with its first and last day. */
export class Participation extends participationSchema.class {}

const courseSchema = defineEntity({
  name: 'Course',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().length(120).groups('read', 'write'),
    opened: p.date().groups('read'),
    closed: p.date().nullable().groups('read'),
    /** Visible to its referrer and to supervisors only. */
    confidential: p.boolean().default(false).groups('read', 'write'),
    center: () => p.manyToOne(Center).groups('read'),
    referrer: () => p.manyToOne(User).nullable().groups('read', 'write'),
    /** The person or third party who asked for the course. */
    requestor: () => p.manyToOne([Person, ThirdParty]).nullable().groups('read', 'write'),
    participations: () => p.oneToMany(Participation).mappedBy('course').groups('read'),
    tags: () => p.manyToMany(Tag).groups('read', 'write'),
  },
});

/** An accompanying course. */
export class Course extends courseSchema.class {
  addPerson(person: Person): Participation {
    const open = this.openParticipation(person);
    if (open) return open;
    const participation = new Participation();
    participation.person = person;
    participation.start = today();
    this.participations.add(participation);
    return participation;
  }

  removePerson(person: Person): Participation | undefined {
    const open = this.openParticipation(person);
    if (open) open.end = today();
    return open;
  }

  validate() {
    const changed = this.participations.isInitialized() && this.participations.getItems().some(({ id }) => id === undefined);
    return this.closed && changed
      ? [{ propertyPath: 'participations', title: 'a closed course takes no more participants' }]
      : [];
  }

  private openParticipation(person: Person): Participation | undefined {
    return this.participations.getItems().find((participation) => participation.person === person && !participation.end);
  }
}

participationSchema.setClass(Participation);
courseSchema.setClass(Course);

function today(): string {
  return new Date().toISOString().slice(0, 10);
}
