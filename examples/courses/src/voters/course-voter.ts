import { type User, type Vote, Voter } from 'declarest';
import type { Course } from '../models/course.ts';
import { centersOf, mayDo } from '../security.ts';

export class CourseVoter extends Voter<Course> {
  static override roles = ['COURSE_SEE', 'COURSE_UPDATE'];

  override vote(role: string, course: Course | null, user: User | null): Vote {
    if (!user || centersOf(user).length === 0) return 'deny';
    if (course === null) return 'grant';
    if (!centersOf(user).includes(course.center.id)) return 'deny';
    if (role === 'COURSE_SEE' || mayDo(user, 'ROLE_SUPERVISOR')) return 'grant';
    return String(course.referrer?.id) === String(user.id) ? 'grant' : 'deny';
  }
}
