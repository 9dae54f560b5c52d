import { ApiController, type ApiRequest, type ModelQuery } from 'declarest';
import type { Person } from '../../../people/src/models/person.ts';

/** The people of the center that the caller works in: the claim `center` of the token. */
export class MyPersonController extends ApiController<Person> {
  override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Person>) {
    query.andWhere({ center: Number(request.user?.center ?? 0) });
  }
}
