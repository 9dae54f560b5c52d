import { read, write } from './connections.ts';
import { collection, columns, coursesOf, joined, type Person, type PersonRow, pageSize, personOf } from './people.ts';

type Count = { count: number };
const one = read<PersonRow>('one', `select ${columns} ${joined} where p.id = $1`);
const page = read<PersonRow>('page', `select ${columns} ${joined} order by p.id limit ${pageSize} offset $1`);
const count = read<Count>('count', 'select count(*)::int as count from person');
const pageOfCenter = read<PersonRow>(
  'center-page',
  `select ${columns} ${joined} where p.center_id = $1 order by p.id limit ${pageSize} offset $2`,
);
const countOfCenter = read<Count>('center-count', 'select count(*)::int as count from person where center_id = $1');
const sortedPage = read<PersonRow>(
  'sorted-page',
  `select ${columns} ${joined} where p.center_id = $1 and p.birthdate >= $2
   order by p.last_name, p.birthdate desc, p.id limit ${pageSize} offset $3`,
);
const sortedCount = read<Count>(
  'sorted-count',
  'select count(*)::int as count from person where center_id = $1 and birthdate >= $2',
);
const byKind = read<Count & { kind: string }>(
  'kinds',
  'select kind, count(*)::int as count from person group by kind order by kind',
);
const coursePage = read<{ id: number; name: string }>(
  'courses',
  `select id, name from course order by id limit ${pageSize} offset $1`,
);
const courseCount = read<Count>('course-count', 'select count(*)::int as count from course');
const participants = read<PersonRow & { course_id: number }>(
  'participants',
  `select cp.course_id, ${columns} from course_person cp join person p on p.id = cp.person_id
   join center c on c.id = p.center_id where cp.course_id = any($1) order by cp.course_id, p.id`,
);
const patched = write<PersonRow>(
  'patch',
  `with p as (update person set email = $2 where id = $1 returning *)
   select ${columns} from p join center c on c.id = p.center_id`,
);
const added = write<PersonRow>(
  'add',
  `with added as (insert into course_person (course_id, person_id) values ($1, $2) on conflict do nothing)
   select ${columns} ${joined} where p.id = $2`,
);
const removed = write<PersonRow>(
  'remove',
  `with removed as (delete from course_person where course_id = $1 and person_id = $2)
   select ${columns} ${joined} where p.id = $2`,
);

const first = ([row]: PersonRow[]): Person | undefined => row && personOf(row);
const counted = ([row]: Count[]): number => (row as Count).count;

export const store = {
  one: async (id: number) => first(await one(id)),
  async page(center: number | undefined, offset: number): Promise<[Person[], number]> {
    const [rows, found] = await Promise.all(
      center === undefined ? [page(offset), count()] : [pageOfCenter(center, offset), countOfCenter(center)],
    );
    return [rows.map(personOf), counted(found)];
  },
  async sorted(center: number, bornSince: string, offset: number): Promise<[Person[], number]> {
    const [rows, found] = await Promise.all([sortedPage(center, bornSince, offset), sortedCount(center, bornSince)]);
    return [rows.map(personOf), counted(found)];
  },
  async kinds() {
    const kinds = await byKind();
    return collection(kinds, kinds.length, '/people/kinds', 1);
  },
  async courses(offset: number) {
    const counting = courseCount();
    const courses = await coursePage(offset);
    const rows = await participants(courses.map(({ id }) => id));
    return [coursesOf(courses, rows), counted(await counting)] as const;
  },
  patch: async (id: number, email: string) => first(await patched(id, email)),
  add: async (course: number, person: number) => first(await added(course, person)),
  remove: async (course: number, person: number) => first(await removed(course, person)),
};
