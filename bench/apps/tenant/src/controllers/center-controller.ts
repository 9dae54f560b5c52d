import { ApiController, type ApiRequest, type ModelQuery } from 'declarest';
import type { Center } from '../models/center.ts';
import { tenantOf } from '../security.ts';

/** Hides the centers of other tenants. */
export class CenterController extends ApiController<Center> {
  override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Center>) {
    query.andWhere({ tenant: tenantOf(request.user) });
  }
}
