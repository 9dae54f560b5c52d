import type { User } from 'declarest';

/** Rows that belong to a tenant. */
export interface Owned {
  readonly tenant: { readonly id: number };
}

/** The tenant of a caller: the claim `tenant` of the token; 0, which no row has, without one. */
export function tenantOf(user: User | null): number {
  return typeof user?.tenant === 'number' ? user.tenant : 0;
}
