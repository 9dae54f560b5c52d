import type { User } from 'declarest';

/** Rows that belong to a tenant. */
export interface Owned {
  readonly tenant: { readonly id: number };
}

/** The claim `tenant` of the caller's token; without one 0, which is the tenant of no row. */
export function tenantOf(user: User | null): number {
  return typeof user?.tenant === 'number' ? user.tenant : 0;
}
