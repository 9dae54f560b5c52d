// The common part of the hand-written contestants: columns, joins and the form of responses.

export const pageSize = 20;

export const columns =
  'p.id, p.kind, p.first_name, p.last_name, p.email, p.birthdate, p.created_at, c.id as center_id, c.name as center_name';
export const joined = 'from person p join center c on c.id = p.center_id';

export interface PersonRow {
  id: number;
  kind: string;
  first_name: string;
  last_name: string;
  email: string;
  birthdate: string;
  created_at: Date | number;
  center_id: number;
  center_name: string;
}

export interface Person extends Omit<PersonRow, 'center_id' | 'center_name'> {
  center: { id: number; name: string };
}

export function personOf(row: PersonRow): Person {
  return {
    id: row.id,
    kind: row.kind,
    first_name: row.first_name,
    last_name: row.last_name,
    email: row.email,
    birthdate: row.birthdate,
    created_at: row.created_at,
    center: { id: row.center_id, name: row.center_name },
  };
}

/** A page of a list in the collection model. */
export function collection(results: unknown[], count: number, path: string, page: number, query = '') {
  const link = (number: number) => `${path}?${query}page=${number}`;
  const more = page * pageSize < count;
  return {
    count,
    results,
    pagination: {
      more,
      next: more ? link(page + 1) : null,
      previous: page > 1 ? link(page - 1) : null,
      first: (page - 1) * pageSize,
      items_per_page: pageSize,
    },
  };
}

/** Creates the courses of a page with their participants. */
export function coursesOf(
  courses: { id: number; name: string }[],
  rows: (PersonRow & { course_id: number })[],
): { id: number; name: string; participants: Person[] }[] {
  const byId = new Map(courses.map(({ id, name }) => [id, { id, name, participants: [] as Person[] }]));
  for (const row of rows) byId.get(row.course_id)?.participants.push(personOf(row));
  return [...byId.values()];
}
