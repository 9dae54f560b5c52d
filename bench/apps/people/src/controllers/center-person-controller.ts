import { ApiController, type ApiRequest, type ModelQuery } from 'declarest';
import type { Person } from '../models/person.ts';

/** The people of the center that the path names. */
export class CenterPersonController extends ApiController<Person> {
  override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Person>) {
    query.andWhere({ center: Number((request.params as { center: string }).center) });
  }
}
