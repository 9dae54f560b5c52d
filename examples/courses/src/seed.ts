import type { EntityManager } from '@mikro-orm/core';
import { Center } from './models/center.ts';
import { Course } from './models/course.ts';
import { Letter, Note } from './models/document.ts';
import { Person } from './models/person.ts';
import { Tag } from './models/tag.ts';
import { ThirdParty } from './models/third-party.ts';
import { User } from './models/user.ts';

const firstNames = ['Ada', 'Ben', 'Cléo', 'Dora', 'Emil', 'Fatou', 'Gil', 'Hana', 'Ivo', 'Jun'];
const lastNames = ['Adler', 'Brandt', 'Costa', 'Dubois', 'Eriksen', 'Ferrari', 'Garcia', 'Haddad', 'Ito'];

/** Enough to page through: 3 centers, 270 people, 40 courses. */
export default async function seed(em: EntityManager): Promise<void> {
  const centers = ['North', 'South', 'West'].map((name) => em.create(Center, { name }));
  const users = ['Rita', 'Sam', 'Tom'].map((name, index) => em.create(User, { name, centers: [pick(centers, index)] }));
  const tags = ['housing', 'health', 'school-support'].map((id) => em.create(Tag, { id, label: id.replace('-', ' ') }));
  const thirdParties = ['City Hospital', 'Primary School', 'Legal Aid'].map((name) => em.create(ThirdParty, { name }));
  const people: Person[] = [];
  for (let index = 0; index < 270; index++) {
    people.push(
      em.create(Person, {
        firstName: pick(firstNames, index),
        lastName: pick(lastNames, index),
        birthdate: `${1950 + (index % 60)}-0${1 + (index % 9)}-1${index % 10}`,
        email: `person${index + 1}@example.org`,
        address: index % 4 === 0 ? null : { street: `${index} High Street`, city: 'Springfield', postcode: '1000' },
        center: pick(centers, index),
        nationalNumber: `NN-${index}`,
      }),
    );
  }
  for (let index = 0; index < 40; index++) {
    const course = em.create(Course, {
      title: `Course ${index + 1}`,
      opened: `2026-0${1 + (index % 9)}-01`,
      confidential: index % 5 === 4,
      center: pick(centers, index),
      referrer: pick(users, index),
      requestor: index % 2 === 0 ? pick(people, index) : pick(thirdParties, index),
      tags: [pick(tags, index)],
    });
    for (let participant = 0; participant < 1 + (index % 3); participant++)
      course.addPerson(pick(people, index * 3 + participant));
  }
  em.create(Note, { title: 'First contact', text: 'Needs help with housing.' });
  em.create(Letter, { title: 'Request', recipient: 'City Hospital', postage: '1.20' });
}

function pick<T>(list: readonly T[], index: number): T {
  return list[index % list.length] as T;
}
