import * as example from './data/example.ts';
import * as tenant from './data/tenant.ts';
import type { LoadRequest } from './load/request.ts';
import { exampleToken, type Task, tenantToken, type WorkName } from './works.ts';

/** The requests of a contestant, and how to read its responses. */
export interface Dialect {
  readonly ask: Partial<Record<WorkName, (task: Task) => readonly LoadRequest[]>>;
  /** The items and the count in the responses to one task. */
  read(responses: readonly unknown[]): { readonly items: readonly unknown[]; readonly count?: number };
  /** Lists that need two requests, page and count, which count as one task. */
  readonly asksTwice?: readonly WorkName[];
  /** Whole responses are compared: status, every field in its order, count and pagination. */
  readonly isExact?: true;
  /** Requests that must be rejected, with the same status by every contestant that has one of this name. */
  readonly rejected?: Readonly<Record<string, LoadRequest>>;
}

const get = (path: string, token?: string): LoadRequest[] => [{ method: 'GET', path, token }];
const pageSize = 20;
const offset = ({ page }: Task) => (page - 1) * pageSize;

interface Envelope {
  readonly count: number;
  readonly results: readonly unknown[];
}

function readEnvelope([response]: readonly unknown[]): ReturnType<Dialect['read']> {
  const { results, count } = response as Envelope;
  return results ? { items: results, count } : { items: [response] };
}

export const byHand: Dialect = {
  ask: {
    E: ({ id }) => get(`/people/${id}`),
    L: ({ page }) => get(`/people?page=${page}`),
    LN: ({ page }) => get(`/people?page=${page}`),
    LF: ({ center, page }) => get(`/people?center=${center}&page=${page}`),
    LFP: ({ center, page }) => get(`/people?center=${center}&page=${page}`),
    LS: ({ center, page }) => get(`/people?center=${center}&born_since=1970-01-01&page=${page}`),
    LFU: ({ page, token }) => get(`/my/people?page=${page}`, token),
    LM: ({ page }) => get(`/courses?page=${page}`),
    G: () => get('/people/kinds'),
    P: ({ id, email }) => [{ method: 'PATCH', path: `/people/${id}`, body: { email } }],
    W: ({ course, id }) => addAndRemove(`/courses/${course}/participants`, id),
  },
  read: readEnvelope,
};

function addAndRemove(path: string, id: number, token?: string): LoadRequest[] {
  return [
    { method: 'POST', path, token, body: { id } },
    { method: 'DELETE', path, token, body: { id } },
  ];
}

/** The applications of apps/: people and members are open, guarded requires a token. */
export const declarest: Dialect = {
  ask: {
    E: ({ id }) => get(`/api/person/${id}.json`),
    L: ({ page }) => get(`/api/person.json?page=${page}`),
    LN: ({ page }) => get(`/api/person.json?page=${page}`),
    LFP: ({ center, page }) => get(`/api/center/${center}/person.json?page=${page}`),
    LS: ({ center, page }) =>
      get(`/api/person.json?center.id=${center}&birthdate[gte]=1970-01-01&sort=last_name,-birthdate&page=${page}`),
    LM: ({ page }) => get(`/api/course.json?page=${page}`),
    G: () => get('/api/person/aggregate.json?by=kind'),
    P: ({ id, email }) => [{ method: 'PATCH', path: `/api/person/${id}.json`, body: { email } }],
    W: ({ course, id }) => addAndRemove(`/api/course/${course}/participants.json`, id),
    WO: ({ course, id }) => addAndRemove(`/api/team/${course}/participants.json`, id),
  },
  read: readEnvelope,
};

export const declarestMembers: Dialect = {
  ask: { LF: ({ page }) => get(`/api/member.json?page=${page}`) },
  read: readEnvelope,
};

const aboveAllIds = 1_000_000_000;
const staff = (id: number) => id - (id % 3) + 2;

export const declarestGuarded: Dialect = {
  ask: {
    E: ({ id, token }) => get(`/api/person/${id}.json`, token),
    L: ({ page, token }) => get(`/api/person.json?page=${page}`, token),
    LN: ({ page, token }) => get(`/api/person.json?page=${page}`, token),
    LFU: ({ page, token }) => get(`/api/my/person.json?page=${page}`, token),
    LM: ({ page, token }) => get(`/api/course.json?page=${page}`, token),
    P: ({ id, email, token }) => [{ method: 'PATCH', path: `/api/person/${id}.json`, token, body: { email } }],
    W: ({ course, id, token }) => addAndRemove(`/api/course/${course}/participants.json`, id, token),
    R401: ({ id }) => get(`/api/person/${id}.json`),
    R403: ({ id, lesserToken }) => get(`/api/person/${staff(id)}.json`, lesserToken),
    R404: ({ id, token }) => get(`/api/person/${aboveAllIds + id}.json`, token),
    R405: ({ id, token }) => [{ method: 'DELETE', path: `/api/person/${id}.json`, token }],
  },
  read: readEnvelope,
};

/** The same people behind a token, with and without groups by role. */
export const declarestSigned: Dialect = {
  ask: Object.fromEntries(['E', 'LN', 'LM', 'P'].map((work) => [work, declarestGuarded.ask[work as WorkName]])),
  read: readEnvelope,
};

const sorted = (task: Task) => `$limit=${pageSize}&$skip=${offset(task)}&$sort[id]=1`;

export const feathers: Dialect = {
  ask: {
    E: ({ id }) => get(`/people/${id}`),
    L: (task) => get(`/people?${sorted(task)}`),
    LN: (task) => get(`/people?${sorted(task)}`),
    LF: (task) => get(`/people?${sorted(task)}&center_id=${task.center}`),
    LFP: (task) => get(`/people?${sorted(task)}&center_id=${task.center}`),
    P: ({ id, email }) => [{ method: 'PATCH', path: `/people/${id}`, body: { email } }],
  },
  read([response]) {
    const { data, total } = response as { data?: readonly unknown[]; total: number };
    return data ? { items: data, count: total } : { items: [response] };
  },
};

export const nest: Dialect = {
  ask: {
    E: ({ id }) => get(`/people/${id}`),
    L: (task) => get(`/people?limit=${pageSize}&offset=${offset(task)}`),
    LN: (task) => get(`/people?limit=${pageSize}&offset=${offset(task)}`),
    LF: (task) => get(`/people?limit=${pageSize}&offset=${offset(task)}&filter=center_id||$eq||${task.center}`),
    LFP: (task) => get(`/people?limit=${pageSize}&offset=${offset(task)}&filter=center_id||$eq||${task.center}`),
    LM: (task) => get(`/courses?limit=${pageSize}&offset=${offset(task)}`),
    P: ({ id, email }) => [{ method: 'PATCH', path: `/people/${id}`, body: { email } }],
  },
  read([response]) {
    const { data, total } = response as { data?: readonly unknown[]; total: number };
    return data ? { items: data, count: total } : { items: [response] };
  },
};

function loopbackList(task: Task, where: object): LoadRequest[] {
  const filter = { where, include: ['center'], order: ['id'], limit: pageSize, offset: offset(task) };
  return [
    ...get(`/people?filter=${encodeURIComponent(JSON.stringify(filter))}`),
    ...get(`/people/count?where=${encodeURIComponent(JSON.stringify(where))}`),
  ];
}

export const loopback: Dialect = {
  ask: {
    E: ({ id }) => get(`/people/${id}?filter=${encodeURIComponent('{"include":["center"]}')}`),
    L: (task) => loopbackList(task, {}),
    LN: (task) => loopbackList(task, {}),
    LF: (task) => loopbackList(task, { center_id: task.center }),
    LFP: (task) => loopbackList(task, { center_id: task.center }),
    P: ({ id, email }) => [{ method: 'PATCH', path: `/people/${id}`, body: { email } }],
  },
  asksTwice: ['L', 'LN', 'LF', 'LFP'],
  read([response, counted]) {
    if (!Array.isArray(response)) return { items: [response] };
    return { items: response, count: (counted as { count: number }).count };
  },
};

interface Paths {
  person(id: number): string;
  persons(query: string): string;
  course(id: number): string;
  courses(query: string): string;
}

function exampleDialect({ person, persons, course, courses }: Paths, participations: (course: number) => string): Dialect {
  const user = 1;
  const token = exampleToken(user);
  const [center] = example.centersOfUser(user);
  const coursesOfCenter = Array.from({ length: 100 }, (_, index) => example.inCenter(center, index));
  const isOwn = (id: number) => example.referrerOf(id) === user;
  const ownCourse = coursesOfCenter.find((id) => isOwn(id) && !example.isClosed(id)) ?? 0;
  const closedCourse = coursesOfCenter.find((id) => isOwn(id) && example.isClosed(id)) ?? 0;
  const othersCourse = coursesOfCenter.find((id) => !isOwn(id) && !example.isConfidential(id)) ?? 0;
  const confidentialCourse = coursesOfCenter.find((id) => !isOwn(id) && example.isConfidential(id)) ?? 0;
  const colleague = example.inCenter(center, 7);
  const stranger = example.inCenter(center + 1, 7);
  const add = (id: number, participant: number): LoadRequest => {
    return { method: 'POST', path: participations(id), token, body: { id: participant } };
  };
  return {
    ask: {
      XE: ({ id, token }) => get(person(id), token),
      XL: ({ page, token }) => get(persons(`?page=${page}`), token),
      XC: ({ settledCourse, token }) => get(course(settledCourse), token),
      XLC: ({ page, token }) => get(courses(`?page=${page}`), token),
      XP: ({ id, email, token }) => [{ method: 'PATCH', path: person(id), token, body: { email } }],
      XW: ({ course, id, token }) => addAndRemove(participations(course), id, token),
    },
    read: readEnvelope,
    isExact: true,
    rejected: {
      // lists, because for a single row Declarest returns 404: its query hides the row before a voter runs
      'no token': { method: 'GET', path: persons('') },
      'token of another issuer': { method: 'GET', path: person(colleague), token: exampleToken(user, { iss: 'others' }) },
      'caller without centers': { method: 'GET', path: persons(''), token: exampleToken(user, { centers: [] }) },
      'person of another center': { method: 'GET', path: person(stranger), token },
      'patch of a person of another center': {
        method: 'PATCH',
        path: person(stranger),
        token,
        body: { email: 'p@example.org' },
      },
      'invalid e-mail address': { method: 'PATCH', path: person(colleague), token, body: { email: 'nowhere' } },
      'confidential course': { method: 'GET', path: course(confidentialCourse), token },
      'participation in a confidential course': add(confidentialCourse, colleague),
      'participation in a course of another referrer': add(othersCourse, colleague),
      'participation of a person of another center': add(ownCourse, stranger),
      'participation in a closed course': add(closedCourse, colleague),
    },
  };
}

function tenantDialect(
  { person, persons, course, courses }: Paths,
  participants: (owner: 'course' | 'team', id: number) => string,
  exported: string,
): Dialect {
  const token = tenantToken({ tenant: 1 });
  const own = tenant.inTenant(1, 7);
  const stranger = tenant.inTenant(2, 7);
  const strangeCourse = tenant.inTenant(2, 77);
  const create = (center: number, email: string, token: string): LoadRequest => {
    const body = {
      kind: 'student',
      first_name: 'New',
      last_name: 'Person',
      email,
      birthdate: '2001-02-03',
      center: { id: center },
    };
    return { method: 'POST', path: persons(''), token, body };
  };
  return {
    ask: {
      TE: ({ id, token }) => get(person(id), token),
      TLF: ({ page, token }) => get(persons(`?page=${page}`), token),
      TLM: ({ page, token }) => get(courses(`?page=${page}`), token),
      TX: ({ token }) => get(exported, token),
      TP: ({ id, email, token }) => [{ method: 'PATCH', path: person(id), token, body: { email } }],
      TW: ({ course, id, token }) => addAndRemove(participants('course', course), id, token),
      TWO: ({ course, id, token }) => addAndRemove(participants('team', course), id, token),
      TC: ({ center, email, token }) => [create(center, email, token)],
    },
    read: readEnvelope,
    isExact: true,
    rejected: {
      'no token': { method: 'GET', path: persons('') },
      'export without a token': { method: 'GET', path: exported },
      'caller without a tenant': { method: 'GET', path: persons(''), token: tenantToken({}) },
      'person of another tenant': { method: 'GET', path: person(stranger), token },
      'course of another tenant': { method: 'GET', path: course(strangeCourse), token },
      'patch of a person of another tenant': {
        method: 'PATCH',
        path: person(stranger),
        token,
        body: { email: 'p@example.org' },
      },
      'participant of another tenant': {
        method: 'POST',
        path: participants('course', tenant.inTenant(1, 77)),
        token,
        body: { id: stranger },
      },
      'team member of another tenant': {
        method: 'POST',
        path: participants('team', tenant.inTenant(1, 77)),
        token,
        body: { id: stranger },
      },
      'participant in a course of another tenant': {
        method: 'POST',
        path: participants('course', strangeCourse),
        token,
        body: { id: own },
      },
      'member of a team of another tenant': {
        method: 'POST',
        path: participants('team', strangeCourse),
        token,
        body: { id: own },
      },
      'creation in a center of another tenant': create(tenant.inTenant(2, 0), 'p@example.org', token),
    },
  };
}

const declarestPaths: Paths = {
  person: (id) => `/api/person/${id}.json`,
  persons: (query) => `/api/person.json${query}`,
  course: (id) => `/api/course/${id}.json`,
  courses: (query) => `/api/course.json${query}`,
};

const handWrittenPaths: Paths = {
  person: (id) => `/persons/${id}`,
  persons: (query) => `/persons${query}`,
  course: (id) => `/courses/${id}`,
  courses: (query) => `/courses${query}`,
};

export const declarestExample = exampleDialect(declarestPaths, (course) => `/api/course/${course}/participation.json`);
export const exampleByHand = exampleDialect(handWrittenPaths, (course) => `/courses/${course}/participations`);

export const declarestTenant = tenantDialect(
  declarestPaths,
  (owner, id) => `/api/${owner}/${id}/participants.json`,
  '/api/person.ndjson',
);
export const tenantByHand = tenantDialect(handWrittenPaths, (owner, id) => `/${owner}s/${id}/participants`, '/persons.ndjson');
