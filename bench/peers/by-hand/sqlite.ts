import { collection, columns, coursesOf, joined, type Person, type PersonRow, pageSize, personOf } from './people.ts';
import { connect } from './sqlite-connection.ts';

const database = connect();

const one = database.prepare(`select ${columns} ${joined} where p.id = ?`);
const page = database.prepare(`select ${columns} ${joined} order by p.id limit ${pageSize} offset ?`);
const count = database.prepare('select count(*) as count from person');
const pageOfCenter = database.prepare(
  `select ${columns} ${joined} where p.center_id = ? order by p.id limit ${pageSize} offset ?`,
);
const countOfCenter = database.prepare('select count(*) as count from person where center_id = ?');
const byKind = database.prepare('select kind, count(*) as count from person group by kind order by kind');
const coursePage = database.prepare(`select id, name from course order by id limit ${pageSize} offset ?`);
const courseCount = database.prepare('select count(*) as count from course');
const participants = database.prepare(
  `select cp.course_id, ${columns} from course_person cp join person p on p.id = cp.person_id
   join center c on c.id = p.center_id where cp.course_id in (select value from json_each(?)) order by cp.course_id, p.id`,
);
const patch = database.prepare('update person set email = ? where id = ?');
const add = database.prepare('insert into course_person (course_id, person_id) values (?, ?) on conflict do nothing');
const remove = database.prepare('delete from course_person where course_id = ? and person_id = ?');

/** Times are stored in milliseconds, as by MikroORM. */
function fromRow(row: PersonRow): Person {
  const person = personOf(row);
  person.created_at = new Date(person.created_at);
  return person;
}

function find(id: number): Person | undefined {
  const row = one.get(id) as PersonRow | undefined;
  return row && fromRow(row);
}

const counted = (row: unknown): number => (row as { count: number }).count;

export const store = {
  one: find,
  page(center: number | undefined, offset: number): [Person[], number] {
    const rows = center === undefined ? page.all(offset) : pageOfCenter.all(center, offset);
    const found = center === undefined ? count.get() : countOfCenter.get(center);
    return [(rows as unknown as PersonRow[]).map(fromRow), counted(found)];
  },
  kinds() {
    const kinds = byKind.all();
    return collection(kinds, kinds.length, '/people/kinds', 1);
  },
  courses(offset: number) {
    const courses = coursePage.all(offset) as { id: number; name: string }[];
    const rows = participants.all(JSON.stringify(courses.map(({ id }) => id))) as unknown as (PersonRow & {
      course_id: number;
    })[];
    for (const row of rows) row.created_at = new Date(row.created_at);
    return [coursesOf(courses, rows), counted(courseCount.get())] as const;
  },
  patch(id: number, email: string) {
    patch.run(email, id);
    return find(id);
  },
  add(course: number, person: number) {
    add.run(course, person);
    return find(person);
  },
  remove(course: number, person: number) {
    remove.run(course, person);
    return find(person);
  },
};
