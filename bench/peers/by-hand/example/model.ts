// The common part of the hand-written example application on both databases: rows, responses and access rules.
import { denied } from '../refusal.ts';
import type { Claims } from '../token.ts';

export interface Caller {
  readonly id: number;
  readonly centers: readonly number[];
  readonly isSupervisor: boolean;
}

/** Callers are cached by their claims, as claims are cached by their token. */
const callers = new WeakMap<Claims, Caller>();

export function callerOf(claims: Claims): Caller {
  const known = callers.get(claims);
  if (known) return known;
  const { sub, roles = [], centers } = claims;
  const caller = {
    id: /^[1-9]\d{0,8}$/.test(sub) ? Number(sub) : 0,
    centers: Array.isArray(centers) ? centers.filter(Number.isInteger) : [],
    isSupervisor: roles.some((role) => role === 'ROLE_SUPERVISOR' || role === 'ROLE_ADMIN'),
  };
  callers.set(claims, caller);
  return caller;
}

/** Only callers who work in a center have access to persons and courses. */
export function checkCenters({ centers }: Caller): void {
  if (centers.length === 0) throw denied();
}

/** Only callers who work in its center have access to a person or course. */
export function checkCenter({ centers }: Caller, center: number): void {
  if (!centers.includes(center)) throw denied();
}

/** Only its referrer and supervisors may change a course. */
export function checkReferrer({ id, isSupervisor }: Caller, referrer: number | null): void {
  if (!isSupervisor && referrer !== id) throw denied();
}

export const personColumns = (person: string, center: string) =>
  `${person}.id, ${person}.first_name, ${person}.last_name, ${person}.birthdate, ${person}.email, ${person}.address_street,
   ${person}.address_city, ${person}.address_postcode, ${center}.id as center_id, ${center}.name as center_name`;

export interface PersonRow {
  id: number;
  first_name: string;
  last_name: string;
  birthdate: string | null;
  email: string | null;
  address_street: string | null;
  address_city: string | null;
  address_postcode: string | null;
  center_id: number;
  center_name: string;
}

export function personOf(row: PersonRow) {
  const { address_street: street, address_city: city, address_postcode: postcode } = row;
  return {
    id: row.id,
    type: 'person',
    firstName: row.first_name,
    lastName: row.last_name,
    fullName: `${row.first_name} ${row.last_name}`,
    birthdate: row.birthdate,
    email: row.email,
    address: street === null && city === null && postcode === null ? null : { street, city, postcode },
    center: { id: row.center_id, name: row.center_name },
  };
}

export type Person = ReturnType<typeof personOf>;

export interface Center {
  id: number;
  name: string;
}

export const courseColumns = `c.id, c.title, c.opened, c.closed, c.confidential, ce.id as center_id, ce.name as center_name,
  u.id as referrer_id, u.name as referrer_name, c.requestor_type, t.id as party_id, t.name as party_name, t.telephone as party_telephone,
  r.id as person_id, r.first_name as person_first_name, r.last_name as person_last_name, r.birthdate as person_birthdate,
  r.email as person_email, r.address_street as person_address_street, r.address_city as person_address_city,
  r.address_postcode as person_address_postcode, rc.id as person_center_id, rc.name as person_center_name`;

/** A requestor outside of the caller's centers is not joined, so it is null. */
export const courseJoins = (isCallersCenter: (column: string) => string) => `join center ce on ce.id = c.center_id
  left join app_user u on u.id = c.referrer_id
  left join third_party t on c.requestor_type = 'third_party' and t.id = c.requestor_id
  left join person r on c.requestor_type = 'person' and r.id = c.requestor_id and ${isCallersCenter('r.center_id')}
  left join center rc on rc.id = r.center_id`;

type Prefixed<Row> = { [Name in keyof Row & string as `person_${Name}`]: Row[Name] };

export interface CourseRow extends Prefixed<Omit<PersonRow, 'id'>> {
  id: number;
  title: string;
  opened: string;
  closed: string | null;
  confidential: boolean | number;
  center_id: number;
  center_name: string;
  referrer_id: number | null;
  referrer_name: string;
  requestor_type: string | null;
  party_id: number | null;
  party_name: string;
  party_telephone: string | null;
  person_id: number | null;
}

export interface ParticipationRow extends Omit<PersonRow, 'id'> {
  course_id: number;
  participation_id: number;
  start: string;
  end: string | null;
  /** Null if the caller does not work in the person's center. */
  id: number | null;
}

export interface TagRow {
  course_id: number;
  id: string;
  label: string;
}

function requestorOf(row: CourseRow) {
  if (row.party_id !== null) {
    return { id: row.party_id, type: 'third_party', name: row.party_name, telephone: row.party_telephone };
  }
  if (row.person_id === null) return null;
  return personOf({
    id: row.person_id,
    first_name: row.person_first_name,
    last_name: row.person_last_name,
    birthdate: row.person_birthdate,
    email: row.person_email,
    address_street: row.person_address_street,
    address_city: row.person_address_city,
    address_postcode: row.person_address_postcode,
    center_id: row.person_center_id,
    center_name: row.person_center_name,
  });
}

function participationOf(row: ParticipationRow) {
  const person = row.id === null ? null : personOf(row as ParticipationRow & { id: number });
  return { id: row.participation_id, person, start: row.start, end: row.end };
}

/** Creates courses with their participations, tags and the centers of their referrers. */
export function coursesOf<Row extends CourseRow>(
  rows: readonly Row[],
  participations: readonly ParticipationRow[],
  tags: readonly TagRow[],
  centersOf: (row: Row) => Center[],
) {
  const courses = rows.map((row) => ({
    id: row.id,
    title: row.title,
    opened: row.opened,
    closed: row.closed,
    confidential: Boolean(row.confidential),
    center: { id: row.center_id, name: row.center_name },
    referrer: row.referrer_id === null ? null : { id: row.referrer_id, name: row.referrer_name, centers: centersOf(row) },
    requestor: requestorOf(row),
    participations: [] as ReturnType<typeof participationOf>[],
    tags: [] as { id: string; label: string }[],
  }));
  const byId = new Map(courses.map((course) => [course.id, course]));
  for (const row of participations) byId.get(row.course_id)?.participations.push(participationOf(row));
  for (const { course_id: course, id, label } of tags) byId.get(course)?.tags.push({ id, label });
  return courses;
}

export const today = () => new Date().toISOString().slice(0, 10);
