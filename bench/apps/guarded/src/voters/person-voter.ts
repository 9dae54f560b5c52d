import { type User, type Vote, Voter } from 'declarest';
import type { Person } from '../../../people/src/models/person.ts';

/** Only staff can read staff. */
export class PersonVoter extends Voter<Person> {
  static override roles = ['PERSON_SEE'];

  override vote(_role: string, person: Person | null, user: User | null): Vote {
    if (user === null) return 'deny';
    return person?.kind === 'staff' && !user.roles.includes('ROLE_STAFF') ? 'deny' : 'grant';
  }
}
