import { ApiController, type ApiRequest, type ModelQuery, problem } from 'declarest';
import { Course } from '../models/course.ts';
import { centersOf, mayDo, userId } from '../security.ts';

export class CourseController extends ApiController<Course> {
  /** Callers see the courses of their centers; confidential ones are visible to their referrer and to supervisors only. */
  override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Course>) {
    query.andWhere({ center: { $in: centersOf(request.user) } });
    if (mayDo(request.user, 'ROLE_SUPERVISOR')) return;
    query.andWhere({ $or: [{ confidential: false }, { referrer: userId(request.user) }] });
  }

  async closeApi(id: number, request: ApiRequest) {
    const course = await this.getEntity('close', id, request);
    if (course.closed) throw problem('bad_request', { reason: 'the course is closed already' });
    course.closed = new Date().toISOString().slice(0, 10);
    await this.em.flush();
    return course;
  }

  /** Lists the visible courses that the caller refers. */
  mineApi(request: ApiRequest) {
    const mine = { referrer: userId(request.user), center: { $in: centersOf(request.user) } };
    const query = this.em.createQueryBuilder(Course, 'c').where(mine);
    return this.paginate('mine', request, query);
  }
}
