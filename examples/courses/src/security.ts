import type { User } from 'declarest';

/** The centers that a caller works in: the claim `centers` of the token. */
export function centersOf(user: User | null): number[] {
  const centers = user?.centers;
  return Array.isArray(centers) ? centers.filter(Number.isInteger) : [];
}

/** The id of the caller in `app_user`. A token can have any subject; if it is not an id, the result is 0, which no row has. */
export function userId(user: User | null): number {
  const id = String(user?.id);
  return /^[1-9]\d{0,8}$/.test(id) ? Number(id) : 0;
}

/** Whether a user is a supervisor or an administrator. */
export function mayDo(user: User | null, role: 'ROLE_SUPERVISOR'): boolean {
  return user?.roles.some((own) => own === role || own === 'ROLE_ADMIN') ?? false;
}
