import { inTransaction, read, send, write } from '../connections.ts';
import { pageSize } from '../people.ts';
import { notFound, Refusal } from '../refusal.ts';
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

type Count = { count: number };
const counted = ([row]: Count[]): number => (row as Count).count;
const columns = personColumns('p', 'ce');

const one = read<PersonRow>(
  'person',
  `select ${columns} from person p join center ce on ce.id = p.center_id where p.id = $1 and p.center_id = any($2)`,
);
const page = read<PersonRow>(
  'persons',
  `select ${columns} from (select * from person where center_id = any($1)
     order by last_name, first_name, id limit ${pageSize} offset $2) p join center ce on ce.id = p.center_id
   order by p.last_name, p.first_name, p.id`,
);
const count = read<Count>('person-count', 'select count(*)::int as count from person where center_id = any($1)');
const patched = write<PersonRow>(
  'patch',
  `with p as (update person set email = $2 where id = $1 and center_id = any($3) returning *)
   select ${columns} from p join center ce on ce.id = p.center_id`,
);

// $1: the centers of the caller, $2: the caller, $3: whether the caller is a supervisor
const visible = 'c.center_id = any($1) and (not c.confidential or c.referrer_id = $2 or $3)';
const joins = courseJoins((column) => `${column} = any($1)`);
const centersOfReferrer = `(select json_agg(json_build_object('id', uc.id, 'name', uc.name) order by uc.id)
  from app_user_centers a join center uc on uc.id = a.center_id where a.user_id = c.referrer_id) as referrer_centers`;
type Row = CourseRow & { referrer_centers: Center[] | null };
const course = read<Row>(
  'course',
  `select ${courseColumns}, ${centersOfReferrer} from course c ${joins} where ${visible} and c.id = $4`,
);
const coursePage = read<Row>(
  'courses',
  `select ${courseColumns}, ${centersOfReferrer}
   from (select * from course c where ${visible} order by c.opened desc, c.id limit ${pageSize} offset $4) c ${joins}
   order by c.opened desc, c.id`,
);
const courseCount = read<Count>('course-count', `select count(*)::int as count from course c where ${visible}`);
const participations = read<ParticipationRow>(
  'participations',
  `select pa.course_id, pa.id as participation_id, pa.start, pa."end", ${columns} from participation pa
   left join person p on p.id = pa.person_id and p.center_id = any($2)
   left join center ce on ce.id = p.center_id where pa.course_id = any($1) order by pa.course_id, pa.id`,
);
const tags = read<TagRow>(
  'tags',
  `select ct.course_id, t.id, t.label from course_tags ct join tag t on t.id = ct.tag_id
   where ct.course_id = any($1) order by ct.course_id, t.id`,
);

const courseToChange = `select c.closed, c.center_id, c.referrer_id from course c where ${visible} and c.id = $4 for no key update`;
const start = `insert into participation (course_id, person_id, start) select $1, $2, $3
  where not exists (select from participation where course_id = $1 and person_id = $2 and "end" is null) returning id, start, "end"`;
const open =
  'select id, start, "end" from participation where course_id = $1 and person_id = $2 and "end" is null order by id limit 1';
const end = `update participation set "end" = $3 where id = (select id from participation
  where course_id = $1 and person_id = $2 and "end" is null order by id limit 1) returning id, start, "end"`;

interface Participation {
  id: number;
  start: string;
  end: string | null;
}

const centersOf = ({ referrer_centers: centers }: Row) => centers ?? [];

/** Locks the row of the course, so that no person is added twice. */
function change(isAdding: boolean, id: number, personId: number, caller: Caller) {
  return inTransaction(async (client) => {
    const [[found], [person]] = await Promise.all([
      send<{ closed: string | null; center_id: number; referrer_id: number | null }>(client, 'course-to-change', courseToChange, [
        caller.centers,
        caller.id,
        caller.isSupervisor,
        id,
      ]),
      one(personId, caller.centers),
    ]);
    if (!found) throw notFound();
    checkCenter(caller, found.center_id);
    checkReferrer(caller, found.referrer_id);
    if (!person) throw new Refusal(400, 'unknown person');
    const now = [id, personId, today()];
    let [participation] = isAdding
      ? await send<Participation>(client, 'start', start, now)
      : await send<Participation>(client, 'end', end, now);
    if (isAdding && participation && found.closed) throw new Refusal(422, 'a closed course takes no more participants');
    if (isAdding) participation ??= (await send<Participation>(client, 'open', open, [id, personId]))[0];
    if (!participation) return personOf(person);
    return { id: participation.id, person: personOf(person), start: participation.start, end: participation.end };
  });
}

export const store = {
  async person(id: number, caller: Caller): Promise<Person> {
    const [row] = await one(id, caller.centers);
    if (!row) throw notFound();
    checkCenter(caller, row.center_id);
    return personOf(row);
  },
  async persons({ centers }: Caller, offset: number): Promise<[Person[], number]> {
    const [rows, found] = await Promise.all([page(centers, offset), count(centers)]);
    return [rows.map(personOf), counted(found)];
  },
  async patch(id: number, email: string | null, { centers }: Caller): Promise<Person> {
    const [row] = await patched(id, email, centers);
    if (!row) throw notFound();
    return personOf(row);
  },
  async course(id: number, caller: Caller) {
    const { centers, id: user, isSupervisor } = caller;
    const [rows, taking, tagged] = await Promise.all([
      course(centers, user, isSupervisor, id),
      participations([id], centers),
      tags([id]),
    ]);
    const [row] = rows;
    if (!row) throw notFound();
    checkCenter(caller, row.center_id);
    return coursesOf(rows, taking, tagged, centersOf)[0];
  },
  async courses({ centers, id, isSupervisor }: Caller, offset: number) {
    const counting = courseCount(centers, id, isSupervisor);
    const rows = await coursePage(centers, id, isSupervisor, offset);
    const ids = rows.map((row) => row.id);
    const [taking, tagged, found] = await Promise.all([participations(ids, centers), tags(ids), counting]);
    return [coursesOf(rows, taking, tagged, centersOf), counted(found)] as const;
  },
  add: (course: number, person: number, caller: Caller) => change(true, course, person, caller),
  remove: (course: number, person: number, caller: Caller) => change(false, course, person, caller),
};
