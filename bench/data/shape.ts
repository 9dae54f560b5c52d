/** Numbers of rows: `participants` for each course, `large` people for deep paging. Ids run from 1 without gaps. */
export const amounts = { centers: 100, people: 100_000, courses: 10_000, participants: 5, large: 2_000_000 } as const;

/** Statements that create the tables, with the column types of a database. */
export function tables(types: { id: string; moment: string }): string[] {
  const pair = (owner: string) =>
    `create table ${owner}_person (${owner}_id integer not null references ${owner} (id), person_id integer not null references person (id), primary key (${owner}_id, person_id))`;
  return [
    `create table center (id ${types.id}, name text not null)`,
    `create table person (id ${types.id}, kind text not null, first_name text not null, last_name text not null, email text not null,
      birthdate date not null, created_at ${types.moment} not null, center_id integer not null references center (id))`,
    `create table course (id ${types.id}, name text not null)`,
    `create table team (id ${types.id}, name text not null)`,
    pair('course'),
    pair('team'),
  ];
}

export const indexes = [
  'create index person_center on person (center_id, id)',
  'create index course_person_person on course_person (person_id)',
  'create index team_person_person on team_person (person_id)',
];
