import pg from 'pg';
import { read, write } from '../connections.ts';
import { pageSize } from '../people.ts';
import { notFound } from '../refusal.ts';
import {
  type CourseRow,
  checkTenant,
  columns,
  coursesOf,
  exportBatch,
  exportsAtOnce,
  linesOf,
  type NewPerson,
  type Owner,
  type ParticipantRow,
  type Person,
  type PersonRow,
  personOf,
  unknownCenter,
  unknownPerson,
} from './model.ts';

type Count = { count: number };
const counted = ([row]: Count[]): number => (row as Count).count;

// $1 is the tenant of the caller in every statement
const withCenter = 'left join center c on c.id = p.center_id and c.tenant_id = $1';
const one = read<PersonRow>('person', `select ${columns} from person p ${withCenter} where p.id = $2 and p.tenant_id = $1`);
const page = read<PersonRow>(
  'persons',
  `select ${columns} from (select * from person where tenant_id = $1 order by id limit ${pageSize} offset $2) p ${withCenter} order by p.id`,
);
const count = read<Count>('person-count', 'select count(*)::int as count from person where tenant_id = $1');
const course = read<CourseRow>('course', 'select id, name, tenant_id from course where id = $2 and tenant_id = $1');
const coursePage = read<CourseRow>(
  'courses',
  `select id, name, tenant_id from course where tenant_id = $1 order by id limit ${pageSize} offset $2`,
);
const courseCount = read<Count>('course-count', 'select count(*)::int as count from course where tenant_id = $1');
const participants = read<ParticipantRow>(
  'participants',
  `select cp.course_id, ${columns} from course_person cp join person p on p.id = cp.person_id and p.tenant_id = $1
   ${withCenter} where cp.course_id = any($2) order by cp.course_id, p.id`,
);
const patched = write<PersonRow>(
  'patch',
  `with p as (update person set email = $3 where id = $2 and tenant_id = $1 returning *) select ${columns} from p ${withCenter}`,
);
const created = write<PersonRow>(
  'create',
  `with p as (insert into person (kind, first_name, last_name, email, birthdate, created_at, center_id, tenant_id)
     select $3, $4, $5, $6, $7, $8, id, tenant_id from center where id = $2 and tenant_id = $1 returning *)
   select ${columns} from p ${withCenter}`,
);

/** Both rows must belong to the tenant. The result is one row, with the number of owners found, and the person if found. */
function association(name: string, owner: Owner, change: string) {
  return write<Omit<PersonRow, 'id'> & { id: number | null; owners: number }>(
    `${name}-${owner}`,
    `with o as (select id from ${owner} where id = $2 and tenant_id = $1),
       found as (select * from person where id = $3 and tenant_id = $1), changed as (${change})
     select (select count(*)::int from o) as owners, ${columns} from (values (1)) always left join found p on true ${withCenter}`,
  );
}

const add = (owner: Owner) =>
  association(
    'add',
    owner,
    `insert into ${owner}_person (${owner}_id, person_id) select o.id, found.id from o, found on conflict do nothing`,
  );
const remove = (owner: Owner) =>
  association('remove', owner, `delete from ${owner}_person using o, found where ${owner}_id = o.id and person_id = found.id`);
const added = { course: add('course'), team: add('team') };
const removed = { course: remove('course'), team: remove('team') };

/** Exports have their own connections, so that they take none from other requests. */
const exporting = new pg.Pool({ connectionString: process.env.DATABASE_URL ?? '', max: exportsAtOnce });
const exported = `declare exported no scroll cursor for
  select ${columns} from person p ${withCenter} where p.tenant_id = $1 order by p.id`;

async function change(statement: ReturnType<typeof association>, tenant: number, owner: number, person: number): Promise<Person> {
  const [row] = await statement(tenant, owner, person);
  if (!row || row.owners === 0) throw notFound();
  if (row.id === null) throw unknownPerson();
  return personOf(row as PersonRow);
}

export const store = {
  async person(tenant: number, id: number): Promise<Person> {
    const [row] = await one(tenant, id);
    if (!row) throw notFound();
    checkTenant(row, tenant);
    return personOf(row);
  },
  async persons(tenant: number, offset: number): Promise<[Person[], number]> {
    const [rows, found] = await Promise.all([page(tenant, offset), count(tenant)]);
    return [rows.map(personOf), counted(found)];
  },
  async course(tenant: number, id: number) {
    const [rows, taking] = await Promise.all([course(tenant, id), participants(tenant, [id])]);
    const [row] = rows;
    if (!row) throw notFound();
    checkTenant(row, tenant);
    return coursesOf(rows, taking)[0];
  },
  async courses(tenant: number, offset: number) {
    const counting = courseCount(tenant);
    const rows = await coursePage(tenant, offset);
    const taking = await participants(
      tenant,
      rows.map(({ id }) => id),
    );
    return [coursesOf(rows, taking), counted(await counting)] as const;
  },
  async patch(tenant: number, id: number, email: string): Promise<Person> {
    const [row] = await patched(tenant, id, email);
    if (!row) throw notFound();
    return personOf(row);
  },
  async create(tenant: number, { kind, first_name, last_name, email, birthdate, center }: NewPerson): Promise<Person> {
    const [row] = await created(tenant, center.id, kind, first_name, last_name, email, birthdate, new Date());
    if (!row) throw unknownCenter();
    return personOf(row);
  },
  add: (owner: Owner, tenant: number, id: number, person: number) => change(added[owner], tenant, id, person),
  remove: (owner: Owner, tenant: number, id: number, person: number) => change(removed[owner], tenant, id, person),
  async *exported(tenant: number): AsyncGenerator<string> {
    const client = await exporting.connect();
    try {
      await client.query('begin isolation level repeatable read read only');
      await client.query(exported, [tenant]);
      for (;;) {
        const { rows } = await client.query(`fetch forward ${exportBatch} from exported`);
        if (rows.length > 0) yield linesOf(rows);
        if (rows.length < exportBatch) break;
      }
    } finally {
      await client.query('rollback');
      client.release();
    }
  },
};
