import { type User, type Vote, Voter } from 'declarest';
import type { Person } from '../models/person.ts';
import { centersOf } from '../security.ts';

/** Grants access to the people of the centers of the caller. */
export class PersonVoter extends Voter<Person> {
  static override roles = ['PERSON_SEE', 'PERSON_CREATE', 'PERSON_UPDATE'];

  override vote(_role: string, person: Person | null, user: User | null): Vote {
    if (!user || centersOf(user).length === 0) return 'deny';
    // a list has no subject; the controller restricts its rows
    if (person === null) return 'grant';
    return centersOf(user).includes(person.center.id) ? 'grant' : 'deny';
  }
}
