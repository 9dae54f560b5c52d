import type { User } from 'declarest';

/** The centers that a caller works in: the claim `centers` of the token. */
export function centersOf(user: User | null): number[] {
  const centers = user?.centers;
  return Array.isArray(centers) ? centers.filter(Number.isInteger) : [];
}

/** The caller as a row of `app_user`; 0, which no row is, for whoever is none: a token can be for any subject. */
export function userId(user: User | null): number {
  const id = String(user?.id);
  return /^[1-9]\d{0,8}$/.test(id) ? Number(id) : 0;
}

/** Whether a caller has a role, or one above it. */
export function mayDo(user: User | null, role: 'ROLE_SUPERVISOR'): boolean {
  return user?.roles.some((own) => own === role || own === 'ROLE_ADMIN') ?? false;
}
