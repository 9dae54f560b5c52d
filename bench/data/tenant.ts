import { daysAfter, numbered, range, several, type TableRows } from './rows.ts';

/** Numbers of rows of all tenants; `participants` are for each course. Ids run from 1 without gaps. */
export const tenantAmounts = { tenants: 100, centers: 500, people: 100_000, courses: 10_000, participants: 5 } as const;

const { tenants, centers, people, courses, participants } = tenantAmounts;

/** The index of row n within its tenant. Values that depend on it vary within each tenant. */
const lap = (n: number) => Math.floor((n - 1) / tenants);

/** The tenant of row n of any table. */
export const tenantOf = (n: number) => 1 + (n % tenants);

/** A row of a tenant, by its number within the tenant. */
export const inTenant = (tenant: number, index: number) => (tenant === 1 ? tenants : tenant - 1) + tenants * index;

const tenantAfter = (tenant: number) => 1 + (tenant % tenants);

/** Every fiftieth person is in a center of another tenant, which is hidden from callers. */
function centerOf(person: number): number {
  const tenant = tenantOf(person);
  return inTenant(lap(person) % 50 === 49 ? tenantAfter(tenant) : tenant, lap(person) % (centers / tenants));
}

/** The last participant of every tenth course belongs to another tenant: callers get the other four. */
export function participantsOf(course: number): number[] {
  const tenant = tenantOf(course);
  return range(1, participants).map((k) => {
    const isElsewhere = k === participants && lap(course) % 10 === 9;
    return inTenant(isElsewhere ? tenantAfter(tenant) : tenant, (course * 379 + k * 101) % (people / tenants));
  });
}

/** Statements that create the tables, with the column types of a database. */
export function tenantTables(types: { id: string; moment: string }): string[] {
  const tenant = 'tenant_id integer not null references tenant (id)';
  const group = (name: string) => [
    `create table ${name} (id ${types.id}, name text not null, ${tenant})`,
    `create index ${name}_tenant on ${name} (tenant_id, id)`,
    `create table ${name}_person (${name}_id integer not null references ${name} (id),
      person_id integer not null references person (id), primary key (${name}_id, person_id))`,
    `create index ${name}_person_person on ${name}_person (person_id)`,
  ];
  return [
    `create table tenant (id ${types.id}, name text not null)`,
    `create table center (id ${types.id}, name text not null, ${tenant})`,
    'create index center_tenant on center (tenant_id, id)',
    `create table person (id ${types.id}, kind text not null, first_name text not null, last_name text not null, email text not null,
      birthdate date not null, created_at ${types.moment} not null, center_id integer not null references center (id), ${tenant})`,
    'create index person_tenant on person (tenant_id, id)',
    'create index person_center on person (center_id)',
    ...group('course'),
    ...group('team'),
  ];
}

export function tenantRows(): TableRows[] {
  return [
    { table: 'tenant', columns: ['id', 'name'], rows: numbered(tenants, (n) => [n, `Tenant ${n}`]) },
    {
      table: 'center',
      columns: ['id', 'name', 'tenant_id'],
      rows: numbered(centers, (n) => [n, `Center ${n}`, tenantOf(n)]),
    },
    {
      table: 'person',
      columns: ['id', 'kind', 'first_name', 'last_name', 'email', 'birthdate', 'created_at', 'center_id', 'tenant_id'],
      rows: numbered(people, (n) => [
        n,
        ['student', 'teacher', 'staff'][n % 3] as string,
        `First${n}`,
        `Last${(n * 7919) % people}`,
        `p${n}@example.org`,
        daysAfter('1960-01-01', (n * 13) % 18_000),
        new Date(Date.UTC(2020, 0, 1) + n * 60_000),
        centerOf(n),
        tenantOf(n),
      ]),
    },
    ...['course', 'team'].flatMap((group): TableRows[] => [
      {
        table: group,
        columns: ['id', 'name', 'tenant_id'],
        rows: numbered(courses, (n) => [n, `Course ${n}`, tenantOf(n)]),
      },
      {
        table: `${group}_person`,
        columns: [`${group}_id`, 'person_id'],
        rows: several(courses, (n) => participantsOf(n).map((person) => [n, person])),
      },
    ]),
  ];
}
