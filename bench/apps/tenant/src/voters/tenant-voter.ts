import { type User, type Vote, Voter } from 'declarest';
import { type Owned, tenantOf } from '../security.ts';

/** Callers can read and change rows of their own tenant only. */
export class TenantVoter extends Voter<Owned> {
  static override roles = ['TENANT_SEE', 'TENANT_CHANGE'];

  override vote(_role: string, entity: Owned | null, user: User | null): Vote {
    const tenant = tenantOf(user);
    if (tenant === 0) return 'deny';
    return entity === null || entity.tenant.id === tenant ? 'grant' : 'deny';
  }
}
