import type { Dataset } from './data/datasets.ts';
import * as example from './data/example.ts';
import { amounts } from './data/shape.ts';
import * as tenant from './data/tenant.ts';
import { seededRandom } from './statistics.ts';
import { tokenWith } from './tokens.ts';

/** The random values of one task. Each contestant has its own requests for it. */
export interface Task {
  /** A person. */
  readonly id: number;
  readonly center: number;
  readonly page: number;
  /** A course of the second half in which the person does not take part, to add them. */
  readonly course: number;
  /** A course of the first half, whose participants no workload changes. */
  readonly settledCourse: number;
  readonly email: string;
  /** Of a caller with full access who works in the center. */
  readonly token: string;
  /** Of a caller without access to staff. */
  readonly lesserToken: string;
}

export interface Work {
  readonly title: string;
  /** The dataset of its requests; people if absent. */
  readonly data?: Dataset;
  /** The number of pages, of which each task has a random one. */
  readonly pages: number;
  readonly centers?: readonly number[];
  /** Every response must be an error. */
  readonly refused?: true;
  /** Leaves rows behind, which are removed before each measurement. */
  readonly creates?: true;
  /** Connections of the load generator, if not the default number. */
  readonly connections?: number;
  /** Requests a second at which latency is measured. */
  readonly fixedRate?: number;
}

const pageSize = 20;
const fixedCenter = 7;
const perCenter = amounts.people / amounts.centers / pageSize;
const everyCenter = Array.from({ length: amounts.centers }, (_, index) => index + 1);
const { exampleAmounts } = example;
const personsOfCaller = (2 * exampleAmounts.persons) / exampleAmounts.centers;
const { tenantAmounts } = tenant;
const peopleOfTenant = tenantAmounts.people / tenantAmounts.tenants;
const coursesOfTenant = tenantAmounts.courses / tenantAmounts.tenants;
/** Courses of the first half that fill whole pages. */
const settledCourses = pageSize * Math.floor(coursesOfTenant / 2 / pageSize);

const defined = {
  E: { title: 'one entity with an embedded to-one', pages: 1, fixedRate: 300 },
  LF: {
    title: 'page of 20 of 1,000, fixed condition, exact count',
    pages: perCenter,
    centers: [fixedCenter],
    fixedRate: 150,
  },
  LFP: { title: 'the same, restricted by what the path names', pages: perCenter, centers: everyCenter },
  LFU: { title: 'the same, restricted by who the user is', pages: perCenter, centers: everyCenter },
  LS: { title: 'page of 20, filtered by center and birthdate, sorted by name and birthdate', pages: 10, centers: everyCenter },
  L: { title: 'page of 20 of 100,000, exact count, random pages', pages: amounts.people / pageSize },
  LN: { title: 'the same among the first ten pages', pages: 10 },
  // only the first half of the courses: other workloads add participants to the second half and remove them
  LM: { title: 'page of 20 with an embedded to-many of 5 each', pages: amounts.courses / pageSize / 2 },
  G: { title: 'people counted by kind, of 100,000', pages: 1, connections: 4 },
  W: { title: 'add and remove a participant', pages: 1 },
  WO: { title: 'the same by methods of the model', pages: 1 },
  P: { title: 'patch one field', pages: 1 },
  R401: { title: 'refused: no token', pages: 1, refused: true },
  R403: { title: 'refused: the voter denies', pages: 1, refused: true },
  R404: { title: 'refused: no such entity', pages: 1, refused: true },
  R405: { title: 'refused: method not enabled', pages: 1, refused: true },
  XE: { title: 'example: one person', data: 'example', pages: 1 },
  XL: { title: 'example: page of 20 of 2,000 persons', data: 'example', pages: personsOfCaller / pageSize },
  XC: { title: 'example: one course', data: 'example', pages: 1 },
  XLC: { title: 'example: page of 20 courses', data: 'example', pages: 10 },
  XP: { title: 'example: patch an e-mail address', data: 'example', pages: 1 },
  XW: { title: 'example: add a participation and end it', data: 'example', pages: 1, creates: true },
  TE: { title: 'tenant: one person with the center', data: 'tenant', pages: 1 },
  TLF: { title: 'tenant: page of 20 of 1,000 people', data: 'tenant', pages: peopleOfTenant / pageSize },
  TLM: { title: 'tenant: page of 20 courses with participants', data: 'tenant', pages: settledCourses / pageSize },
  TX: { title: 'tenant: export of 1,000 people', data: 'tenant', pages: 1, connections: 4 },
  TP: { title: 'tenant: patch an e-mail address', data: 'tenant', pages: 1 },
  TW: { title: 'tenant: add and remove a participant', data: 'tenant', pages: 1 },
  TWO: { title: 'tenant: the same by methods of the model', data: 'tenant', pages: 1 },
  TC: { title: 'tenant: create a person', data: 'tenant', pages: 1, creates: true },
} as const satisfies Record<string, Work>;

export type WorkName = keyof typeof defined;

export const works: Readonly<Record<WorkName, Work>> = defined;

/** The workloads on a dataset. */
export function worksOn(data: Dataset): WorkName[] {
  return (Object.keys(works) as WorkName[]).filter((name) => (works[name].data ?? 'people') === data);
}

const tokens = new Map<string, string>();

function cachedToken(claims: Readonly<Record<string, unknown>>): string {
  const key = JSON.stringify(claims);
  const token = tokens.get(key) ?? tokenWith(claims);
  tokens.set(key, token);
  return token;
}

type Random = (bound: number) => number;

function peopleTask(random: Random, { pages, centers = [1] }: Work): Task {
  const center = centers[random(centers.length)] as number;
  const id = 1 + random(amounts.people);
  const page = 1 + random(pages);
  const settledCourse = 1 + random(amounts.courses / 2);
  return {
    id,
    center,
    page,
    course: settledCourse + amounts.courses / 2,
    settledCourse,
    email: `p${id}-${random(1_000_000)}@example.org`,
    token: cachedToken({ center, roles: ['ROLE_STAFF'] }),
    lesserToken: cachedToken({ center, roles: [] }),
  };
}

/** The token of a user of the example application. Every fourth is a supervisor. */
export function exampleToken(user: number, claims: Readonly<Record<string, unknown>> = {}): string {
  const roles = [isSupervisor(user) ? 'ROLE_SUPERVISOR' : 'ROLE_USER'];
  return cachedToken({ iss: 'courses', sub: String(user), roles, centers: example.centersOfUser(user), ...claims });
}

const isSupervisor = (user: number) => user % 4 === 0;

/** A caller, and rows that this caller can read and change. */
function exampleTask(random: Random, { pages }: Work): Task {
  const user = 1 + random(exampleAmounts.users);
  const centers = example.centersOfUser(user);
  const half = exampleAmounts.courses / exampleAmounts.centers / 2;
  const settledCourse = drawn(
    () => example.inCenter(centers[random(2)] as number, random(half)),
    (course) => isSupervisor(user) || !example.isConfidential(course) || example.referrerOf(course) === user,
  );
  const course = drawn(
    () => example.inCenter(centers[0], half + random(half)),
    (course) => isSupervisor(user) || example.referrerOf(course) === user,
  );
  const center = centers[random(2)] as number;
  const id = drawn(
    () => example.inCenter(center, random(exampleAmounts.persons / exampleAmounts.centers)),
    (person) => !example.participantsOf(course).includes(person),
  );
  return {
    id,
    center,
    page: 1 + random(pages),
    course,
    settledCourse,
    email: `p${id}-${random(1_000_000)}@example.org`,
    token: exampleToken(user),
    lesserToken: exampleToken(user, { centers: [] }),
  };
}

export function tenantToken(claims: Readonly<Record<string, unknown>>): string {
  return cachedToken({ roles: ['ROLE_USER'], ...claims });
}

/** A caller of a tenant, and rows of this tenant. */
function tenantTask(random: Random, { pages }: Work): Task {
  const number = 1 + random(tenantAmounts.tenants);
  const half = coursesOfTenant / 2;
  const course = tenant.inTenant(number, half + random(half));
  const id = drawn(
    () => tenant.inTenant(number, random(peopleOfTenant)),
    (person) => !tenant.participantsOf(course).includes(person),
  );
  return {
    id,
    center: tenant.inTenant(number, random(tenantAmounts.centers / tenantAmounts.tenants)),
    page: 1 + random(pages),
    course,
    settledCourse: tenant.inTenant(number, random(half)),
    email: `p${id}-${random(1_000_000)}@example.org`,
    token: tenantToken({ tenant: number }),
    lesserToken: tenantToken({}),
  };
}

function drawn(draw: () => number, isRight: (number: number) => boolean): number {
  for (;;) {
    const number = draw();
    if (isRight(number)) return number;
  }
}

const taskOf = { people: peopleTask, example: exampleTask, tenant: tenantTask };

/** Tasks of a workload, the same on every run. */
export function tasksOf(work: Work, count: number): Task[] {
  const random = seededRandom(20_261_115);
  return Array.from({ length: count }, () => taskOf[work.data ?? 'people'](random, work));
}
