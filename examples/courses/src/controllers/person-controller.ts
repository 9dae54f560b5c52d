import { ApiController, type ApiRequest, type ModelQuery } from 'declarest';
import type { Person } from '../models/person.ts';
import { centersOf } from '../security.ts';

/** People are seen by those who work in their center. */
export class PersonController extends ApiController<Person> {
  override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Person>) {
    query.andWhere({ center: { $in: centersOf(request.user) } });
  }
}
