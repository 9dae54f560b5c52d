import { daysAfter, numbered, range, several, type TableRows } from './rows.ts';

/** Numbers of rows of the example application; `participations` are for each course. Ids run from 1 without gaps. */
export const exampleAmounts = {
  centers: 20,
  users: 40,
  persons: 20_000,
  thirdParties: 200,
  courses: 5000,
  participations: 5,
} as const;

const { centers, users, persons, thirdParties, courses, participations } = exampleAmounts;

const firstNames = ['Ada', 'Ben', 'Cléo', 'Dora', 'Emil', 'Fatou', 'Gil', 'Hana', 'Ivo', 'Jun'];
const tags = ['asylum', 'budget', 'childcare', 'debt', 'family', 'health', 'housing', 'school-support', 'training', 'work'];

/** The index of row n within its center. Values that depend on it vary within each center. */
const lap = (n: number) => Math.floor((n - 1) / centers);

/** The center of person n, and of course n. */
export const centerOf = (n: number) => 1 + (n % centers);

/** A person or course of a center, by its number within the center. */
export const inCenter = (center: number, index: number) => (center === 1 ? centers : center - 1) + centers * index;

/** The two centers that a user works in. */
export const centersOfUser = (user: number): readonly [number, number] => [1 + (user % centers), 1 + ((user + 7) % centers)];

export const isConfidential = (course: number) => lap(course) % 5 === 4;

/** Courses of the second half are open. */
export const isClosed = (course: number) => course <= courses / 2 && lap(course) % 10 === 3;

/** The referrer of a course: one of the two users whose first center is that of the course, or null. */
export function referrerOf(course: number): number | null {
  if (lap(course) % 11 === 10) return null;
  return inCenter(centerOf(course), lap(course) % 2);
}

/** The last participant of every third course belongs to the next center: callers who do not work there get null. */
export function participantsOf(course: number): number[] {
  return range(1, participations).map((k) => {
    const isElsewhere = k === participations && lap(course) % 3 === 0;
    const center = 1 + ((centerOf(course) - 1 + Number(isElsewhere)) % centers);
    return inCenter(center, (course * 379 + k * 101) % (persons / centers));
  });
}

/** Persons and third parties in turn; every fourth person belongs to another center. */
function requestorOf(course: number): readonly ['person' | 'third_party', number] {
  if (lap(course) % 2 === 1) return ['third_party', 1 + (course % thirdParties)];
  const isElsewhere = lap(course) % 8 === 0;
  const center = 1 + ((centerOf(course) - 1 + Number(isElsewhere)) % centers);
  return ['person', inCenter(center, (course * 7919) % (persons / centers))];
}

/** MikroORM indexes foreign keys on SQLite only. Tables of this size need these indexes on PostgreSQL too. */
export const exampleIndexes = [
  'create index on person (center_id)',
  'create index on course (center_id)',
  'create index on course (referrer_id)',
  'create index on course (requestor_type, requestor_id)',
  'create index on participation (course_id)',
  'create index on participation (person_id)',
  'create index on course_tags (tag_id)',
  'create index on app_user_centers (center_id)',
];

export function exampleRows(): TableRows[] {
  return [
    { table: 'center', columns: ['id', 'name'], rows: numbered(centers, (n) => [n, `Center ${n}`]) },
    { table: 'app_user', columns: ['id', 'name'], rows: numbered(users, (n) => [n, `User ${n}`]) },
    {
      table: 'app_user_centers',
      columns: ['user_id', 'center_id'],
      rows: several(users, (n) => centersOfUser(n).map((center) => [n, center])),
    },
    { table: 'tag', columns: ['id', 'label'], rows: tags.map((id) => [id, id.replace('-', ' ')]) },
    {
      table: 'third_party',
      columns: ['id', 'name', 'telephone'],
      rows: numbered(thirdParties, (n) => [n, `Organisation ${n}`, n % 3 === 0 ? null : `+32 2 ${100_000 + n}`]),
    },
    {
      table: 'person',
      columns: [
        'id',
        'first_name',
        'last_name',
        'birthdate',
        'email',
        'address_street',
        'address_city',
        'address_postcode',
        'center_id',
        'national_number',
      ],
      rows: numbered(persons, (n) => [
        n,
        firstNames[n % firstNames.length] as string,
        `Last${(n * 7919) % (persons / 4)}`,
        lap(n) % 50 === 0 ? null : daysAfter('1960-01-01', (n * 13) % 18_000),
        lap(n) % 25 === 0 ? null : `p${n}@example.org`,
        ...(lap(n) % 4 === 0 ? [null, null, null] : [`${n} High Street`, 'Springfield', lap(n) % 7 === 0 ? null : '1000']),
        centerOf(n),
        `NN-${n}`,
      ]),
    },
    {
      table: 'course',
      columns: ['id', 'title', 'opened', 'closed', 'confidential', 'center_id', 'referrer_id', 'requestor_type', 'requestor_id'],
      // lists have the latest course first, so their first pages have ids of the first half
      rows: numbered(courses, (n) => [
        n,
        `Course ${n}`,
        daysAfter('2026-06-30', -Math.floor(n / 3)),
        isClosed(n) ? '2026-07-31' : null,
        isConfidential(n),
        centerOf(n),
        referrerOf(n),
        ...requestorOf(n),
      ]),
    },
    {
      table: 'course_tags',
      columns: ['course_id', 'tag_id'],
      rows: several(courses, (n) => [0, 3].map((k) => [n, tags[(lap(n) + k) % tags.length] as string])),
    },
    {
      table: 'participation',
      columns: ['id', 'course_id', 'person_id', 'start', 'end'],
      rows: several(courses, (n) =>
        participantsOf(n).map((person, index) => [
          (n - 1) * participations + index + 1,
          n,
          person,
          '2026-07-01',
          index === 1 ? '2026-07-15' : null,
        ]),
      ),
    },
  ];
}
