import { ApiController, type ApiRequest, type ModelQuery } from 'declarest';
import type { Team } from '../models/team.ts';
import { tenantOf } from '../security.ts';

/** Hides the teams of other tenants. */
export class TeamController extends ApiController<Team> {
  override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Team>) {
    query.andWhere({ tenant: tenantOf(request.user) });
  }
}
