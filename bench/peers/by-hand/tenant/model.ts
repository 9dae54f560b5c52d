// The common part of the hand-written multi-tenant application on both databases.
import { denied, Refusal } from '../refusal.ts';
import { verify } from '../token.ts';

/** The tenant of the caller. */
export function tenantOf(authorization: string | undefined): number {
  const claims = verify(authorization);
  if (!claims) throw new Refusal(401, 'invalid token');
  if (!Number.isInteger(claims.tenant) || claims.tenant === 0) throw denied();
  return claims.tenant as number;
}

/** Only callers of its tenant have access to a row. */
export function checkTenant(row: { tenant_id: number }, tenant: number): void {
  if (row.tenant_id !== tenant) throw denied();
}

export type Owner = 'course' | 'team';

export const columns = `p.id, p.kind, p.first_name, p.last_name, p.email, p.birthdate, p.created_at, p.tenant_id,
  c.id as center_id, c.name as center_name`;

export interface PersonRow {
  id: number;
  kind: string;
  first_name: string;
  last_name: string;
  email: string;
  birthdate: string;
  created_at: Date | number;
  tenant_id: number;
  /** Null if the center is of another tenant. */
  center_id: number | null;
  center_name: string;
}

export function personOf(row: PersonRow) {
  return {
    id: row.id,
    kind: row.kind,
    first_name: row.first_name,
    last_name: row.last_name,
    email: row.email,
    birthdate: row.birthdate,
    // SQLite stores milliseconds, as by MikroORM
    created_at: new Date(row.created_at),
    center: row.center_id === null ? null : { id: row.center_id, name: row.center_name },
  };
}

export type Person = ReturnType<typeof personOf>;

export interface CourseRow {
  id: number;
  name: string;
  tenant_id: number;
}

export interface ParticipantRow extends PersonRow {
  course_id: number;
}

export function coursesOf(rows: readonly CourseRow[], participants: readonly ParticipantRow[]) {
  const byId = new Map(rows.map(({ id, name }) => [id, { id, name, participants: [] as Person[] }]));
  for (const row of participants) byId.get(row.course_id)?.participants.push(personOf(row));
  return [...byId.values()];
}

export interface NewPerson {
  kind: string;
  first_name: string;
  last_name: string;
  email: string;
  birthdate: string;
  center: { id: number };
}

export const unknownCenter = () => new Refusal(400, 'unknown center');
export const unknownPerson = () => new Refusal(400, 'unknown person');

/** Rows in each batch of an export. */
export const exportBatch = 1000;
/** The maximum number of concurrent exports. */
export const exportsAtOnce = 4;

export function linesOf(rows: readonly PersonRow[]): string {
  let text = '';
  for (const row of rows) text += `${JSON.stringify(personOf(row))}\n`;
  return text;
}
