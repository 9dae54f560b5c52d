import { type User, type Vote, Voter } from 'declarest';

interface Named {
  readonly name: string;
}

/** Every caller with a token can read courses that have a name. */
export class CourseVoter extends Voter<Named> {
  static override roles = ['COURSE_SEE'];

  override vote(_role: string, course: Named | null, user: User | null): Vote {
    return user !== null && course?.name !== '' ? 'grant' : 'deny';
  }
}
