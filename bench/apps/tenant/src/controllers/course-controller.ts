import { ApiController, type ApiRequest, type ModelQuery } from 'declarest';
import type { Course } from '../models/course.ts';
import { tenantOf } from '../security.ts';

/** Hides the courses of other tenants. */
export class CourseController extends ApiController<Course> {
  override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Course>) {
    query.andWhere({ tenant: tenantOf(request.user) });
  }
}
