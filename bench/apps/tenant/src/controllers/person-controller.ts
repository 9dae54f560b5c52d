import { ApiController, type ApiRequest, type ModelQuery } from 'declarest';
import type { Person } from '../models/person.ts';
import { tenantOf } from '../security.ts';

/** Hides the people of other tenants. */
export class PersonController extends ApiController<Person> {
  override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Person>) {
    query.andWhere({ tenant: tenantOf(request.user) });
  }
}
