import { pageSize } from '../people.ts';
import { notFound } from '../refusal.ts';
import { connect, transactions } from '../sqlite-connection.ts';
import {
  type CourseRow,
  checkTenant,
  columns,
  coursesOf,
  exportBatch,
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

const database = connect();
const inTransaction = transactions(database);
const counted = (row: unknown): number => (row as { count: number }).count;

// ?1 is the tenant of the caller in every statement
const withCenter = 'left join center c on c.id = p.center_id and c.tenant_id = ?1';
const one = database.prepare(`select ${columns} from person p ${withCenter} where p.id = ?2 and p.tenant_id = ?1`);
const page = database.prepare(
  `select ${columns} from (select * from person where tenant_id = ?1 order by id limit ${pageSize} offset ?2) p ${withCenter} order by p.id`,
);
const count = database.prepare('select count(*) as count from person where tenant_id = ?1');
const course = database.prepare('select id, name, tenant_id from course where id = ?2 and tenant_id = ?1');
const coursePage = database.prepare(
  `select id, name, tenant_id from course where tenant_id = ?1 order by id limit ${pageSize} offset ?2`,
);
const courseCount = database.prepare('select count(*) as count from course where tenant_id = ?1');
const participants = database.prepare(
  `select cp.course_id, ${columns} from course_person cp join person p on p.id = cp.person_id and p.tenant_id = ?1
   ${withCenter} where cp.course_id in (select value from json_each(?2)) order by cp.course_id, p.id`,
);
const patched = database.prepare('update person set email = ?3 where id = ?2 and tenant_id = ?1');
const created = database.prepare(
  `insert into person (kind, first_name, last_name, email, birthdate, created_at, center_id, tenant_id)
   select ?3, ?4, ?5, ?6, ?7, ?8, id, tenant_id from center where id = ?2 and tenant_id = ?1`,
);

function association(owner: Owner) {
  return {
    exists: database.prepare(`select tenant_id from ${owner} where id = ?2 and tenant_id = ?1`),
    add: database.prepare(`insert into ${owner}_person (${owner}_id, person_id) values (?, ?) on conflict do nothing`),
    remove: database.prepare(`delete from ${owner}_person where ${owner}_id = ? and person_id = ?`),
  };
}

const associations = { course: association('course'), team: association('team') };

function personRow(tenant: number, id: number): PersonRow | undefined {
  return one.get(tenant, id) as PersonRow | undefined;
}

function change(action: 'add' | 'remove', owner: Owner, tenant: number, id: number, personId: number): Person {
  return inTransaction(() => {
    const { exists, [action]: statement } = associations[owner];
    if (!exists.get(tenant, id)) throw notFound();
    const person = personRow(tenant, personId);
    if (!person) throw unknownPerson();
    statement.run(id, personId);
    return personOf(person);
  });
}

/** Prepared exports that can be reused. Each running export has its own connection, so that it reads one snapshot. */
const idle: ReturnType<typeof exportConnection>[] = [];

function exportConnection() {
  return connect().prepare(`select ${columns} from person p ${withCenter} where p.tenant_id = ?1 order by p.id`);
}

export const store = {
  person(tenant: number, id: number): Person {
    const row = personRow(tenant, id);
    if (!row) throw notFound();
    checkTenant(row, tenant);
    return personOf(row);
  },
  persons(tenant: number, offset: number): [Person[], number] {
    return [(page.all(tenant, offset) as unknown as PersonRow[]).map(personOf), counted(count.get(tenant))];
  },
  course(tenant: number, id: number) {
    const row = course.get(tenant, id) as CourseRow | undefined;
    if (!row) throw notFound();
    checkTenant(row, tenant);
    return coursesOf([row], participants.all(tenant, JSON.stringify([id])) as unknown as ParticipantRow[])[0];
  },
  courses(tenant: number, offset: number) {
    const rows = coursePage.all(tenant, offset) as unknown as CourseRow[];
    const ids = JSON.stringify(rows.map(({ id }) => id));
    const taking = participants.all(tenant, ids) as unknown as ParticipantRow[];
    return [coursesOf(rows, taking), counted(courseCount.get(tenant))] as const;
  },
  patch(tenant: number, id: number, email: string): Person {
    return inTransaction(() => {
      const { changes } = patched.run(tenant, id, email);
      const row = changes === 0 ? undefined : personRow(tenant, id);
      if (!row) throw notFound();
      return personOf(row);
    });
  },
  create(tenant: number, { kind, first_name, last_name, email, birthdate, center }: NewPerson): Person {
    return inTransaction(() => {
      const values = [kind, first_name, last_name, email, birthdate, Date.now()];
      const { changes, lastInsertRowid } = created.run(tenant, center.id, ...values);
      const row = changes === 0 ? undefined : personRow(tenant, Number(lastInsertRowid));
      if (!row) throw unknownCenter();
      return personOf(row);
    });
  },
  add: (owner: Owner, tenant: number, id: number, person: number) => change('add', owner, tenant, id, person),
  remove: (owner: Owner, tenant: number, id: number, person: number) => change('remove', owner, tenant, id, person),
  async *exported(tenant: number): AsyncGenerator<string> {
    const statement = idle.pop() ?? exportConnection();
    try {
      let batch: PersonRow[] = [];
      for (const row of statement.iterate(tenant)) {
        batch.push(row as unknown as PersonRow);
        if (batch.length < exportBatch) continue;
        yield linesOf(batch);
        batch = [];
      }
      if (batch.length > 0) yield linesOf(batch);
    } finally {
      idle.push(statement);
    }
  },
};
