import { ApiController, type ApiRequest, type ModelQuery } from 'declarest';
import type { Person } from '../models/person.ts';
import { centersOf } from '../security.ts';

/** Callers see the people of their centers. */
export class PersonController extends ApiController<Person> {
  override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Person>) {
    query.andWhere({ center: { $in: centersOf(request.user) } });
  }
}
