import { pageSize } from '../people.ts';
import { notFound, Refusal } from '../refusal.ts';
import { connect, transactions } from '../sqlite-connection.ts';
import {
  type Caller,
  type Center,
  type CourseRow,
  checkCenter,
  checkReferrer,
  courseColumns,
  courseJoins,
  coursesOf,
  type ParticipationRow,
  type Person,
  type PersonRow,
  personColumns,
  personOf,
  type TagRow,
  today,
} from './model.ts';

const database = connect();
const inTransaction = transactions(database);
const counted = (row: unknown): number => (row as { count: number }).count;

const columns = personColumns('p', 'ce');
const within = (column: string, parameter: string) => `${column} in (select value from json_each(${parameter}))`;

const one = database.prepare(
  `select ${columns} from person p join center ce on ce.id = p.center_id where p.id = ?1 and ${within('p.center_id', '?2')}`,
);
const page = database.prepare(
  `select ${columns} from (select * from person where ${within('center_id', '?1')}
     order by last_name, first_name, id limit ${pageSize} offset ?2) p join center ce on ce.id = p.center_id
   order by p.last_name, p.first_name, p.id`,
);
const count = database.prepare(`select count(*) as count from person where ${within('center_id', '?1')}`);
const patched = database.prepare(`update person set email = ?2 where id = ?1 and ${within('center_id', '?3')}`);

// ?1: the centers of the caller, ?2: the caller, ?3: whether the caller is a supervisor
const visible = `${within('c.center_id', '?1')} and (not c.confidential or c.referrer_id = ?2 or ?3)`;
const joins = courseJoins((column) => within(column, '?1'));
const course = database.prepare(`select ${courseColumns} from course c ${joins} where ${visible} and c.id = ?4`);
const coursePage = database.prepare(
  `select ${courseColumns} from (select * from course c where ${visible} order by c.opened desc, c.id limit ${pageSize} offset ?4) c
   ${joins} order by c.opened desc, c.id`,
);
const courseCount = database.prepare(`select count(*) as count from course c where ${visible}`);
const participations = database.prepare(
  `select pa.course_id, pa.id as participation_id, pa.start, pa."end", ${columns} from participation pa
   left join person p on p.id = pa.person_id and ${within('p.center_id', '?2')}
   left join center ce on ce.id = p.center_id where ${within('pa.course_id', '?1')} order by pa.course_id, pa.id`,
);
const tags = database.prepare(
  `select ct.course_id, t.id, t.label from course_tags ct join tag t on t.id = ct.tag_id
   where ${within('ct.course_id', '?1')} order by ct.course_id, t.id`,
);
const centersOfUsers = database.prepare(
  `select a.user_id, ce.id, ce.name from app_user_centers a join center ce on ce.id = a.center_id
   where ${within('a.user_id', '?1')} order by a.user_id, ce.id`,
);

const courseToChange = database.prepare(
  `select c.closed, c.center_id, c.referrer_id from course c where ${visible} and c.id = ?4`,
);
const open = database.prepare(
  'select id, start, "end" from participation where course_id = ? and person_id = ? and "end" is null order by id limit 1',
);
const start = database.prepare(
  'insert into participation (course_id, person_id, start) values (?, ?, ?) returning id, start, "end"',
);
const end = database.prepare('update participation set "end" = ? where id = ? returning id, start, "end"');

interface Participation {
  id: number;
  start: string;
  end: string | null;
}

function personRow(id: number, { centers }: Caller): PersonRow | undefined {
  return one.get(id, JSON.stringify(centers)) as PersonRow | undefined;
}

function change(isAdding: boolean, id: number, personId: number, caller: Caller) {
  return inTransaction(() => {
    const found = courseToChange.get(JSON.stringify(caller.centers), caller.id, Number(caller.isSupervisor), id) as
      | { closed: string | null; center_id: number; referrer_id: number | null }
      | undefined;
    if (!found) throw notFound();
    checkCenter(caller, found.center_id);
    checkReferrer(caller, found.referrer_id);
    const row = personRow(personId, caller);
    if (!row) throw new Refusal(400, 'unknown person');
    const person = personOf(row);
    let participation = open.get(id, personId) as Participation | undefined;
    if (isAdding && !participation) {
      if (found.closed) throw new Refusal(422, 'a closed course takes no more participants');
      participation = start.get(id, personId, today()) as unknown as Participation;
    }
    if (!isAdding && participation) participation = end.get(today(), participation.id) as unknown as Participation;
    return participation ? { id: participation.id, person, start: participation.start, end: participation.end } : person;
  });
}

function complete(rows: CourseRow[], centers: string) {
  const ids = JSON.stringify(rows.map(({ id }) => id));
  const referrers = new Map<number, Center[]>();
  for (const { referrer_id: referrer } of rows) if (referrer !== null) referrers.set(referrer, []);
  const found = centersOfUsers.all(JSON.stringify([...referrers.keys()])) as unknown as (Center & { user_id: number })[];
  for (const { user_id: user, id, name } of found) referrers.get(user)?.push({ id, name });
  return coursesOf(
    rows,
    participations.all(ids, centers) as unknown as ParticipationRow[],
    tags.all(ids) as unknown as TagRow[],
    ({ referrer_id: referrer }) => referrers.get(referrer as number) ?? [],
  );
}

export const store = {
  person(id: number, caller: Caller): Person {
    const row = personRow(id, caller);
    if (!row) throw notFound();
    checkCenter(caller, row.center_id);
    return personOf(row);
  },
  persons({ centers }: Caller, offset: number): [Person[], number] {
    const own = JSON.stringify(centers);
    return [(page.all(own, offset) as unknown as PersonRow[]).map(personOf), counted(count.get(own))];
  },
  patch(id: number, email: string | null, caller: Caller): Person {
    return inTransaction(() => {
      const { changes } = patched.run(id, email, JSON.stringify(caller.centers));
      const row = changes === 0 ? undefined : personRow(id, caller);
      if (!row) throw notFound();
      return personOf(row);
    });
  },
  course(id: number, caller: Caller) {
    const centers = JSON.stringify(caller.centers);
    const row = course.get(centers, caller.id, Number(caller.isSupervisor), id) as CourseRow | undefined;
    if (!row) throw notFound();
    checkCenter(caller, row.center_id);
    return complete([row], centers)[0];
  },
  courses(caller: Caller, offset: number) {
    const centers = JSON.stringify(caller.centers);
    const isSupervisor = Number(caller.isSupervisor);
    const rows = coursePage.all(centers, caller.id, isSupervisor, offset) as unknown as CourseRow[];
    return [complete(rows, centers), counted(courseCount.get(centers, caller.id, isSupervisor))] as const;
  },
  add: (course: number, person: number, caller: Caller) => change(true, course, person, caller),
  remove: (course: number, person: number, caller: Caller) => change(false, course, person, caller),
};
