import type { User } from 'declarest';

/** The centers that a caller works in: the claim `centers` of the token. */
export function centersOf(user: User | null): number[] {
  const centers = user?.centers;
  return Array.isArray(centers) ? centers.filter(Number.isInteger) : [];
}

/** Whether a caller has a role, or one above it. */
export function mayDo(user: User | null, role: 'ROLE_SUPERVISOR'): boolean {
  return user?.roles.some((own) => own === role || own === 'ROLE_ADMIN') ?? false;
}
