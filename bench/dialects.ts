import type { LoadRequest } from './load/request.ts';
import type { Task, WorkName } from './works.ts';

/** How a contestant is asked, and how its answers are read. */
export interface Dialect {
  readonly ask: Partial<Record<WorkName, (task: Task) => readonly LoadRequest[]>>;
  /** The items and the count in the answers to one task. */
  read(answers: readonly unknown[]): { readonly items: readonly unknown[]; readonly count?: number };
  /** Lists are answered in two requests, page and count, which count as one. */
  readonly asksTwice?: readonly WorkName[];
}

const get = (path: string, token?: string): LoadRequest[] => [{ method: 'GET', path, token }];
const pageSize = 20;
const offset = ({ page }: Task) => (page - 1) * pageSize;

interface Envelope {
  readonly count: number;
  readonly results: readonly unknown[];
}

function readEnvelope([answer]: readonly unknown[]): ReturnType<Dialect['read']> {
  const { results, count } = answer as Envelope;
  return results ? { items: results, count } : { items: [answer] };
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

/** The applications of apps/: people and members are open, guarded asks for a token. */
export const declarest: Dialect = {
  ask: {
    E: ({ id }) => get(`/api/person/${id}.json`),
    L: ({ page }) => get(`/api/person.json?page=${page}`),
    LN: ({ page }) => get(`/api/person.json?page=${page}`),
    LFP: ({ center, page }) => get(`/api/center/${center}/person.json?page=${page}`),
    LS: ({ center, page }) =>
      get(`/api/person.json?center.id=${center}&birthdate[gte]=1970-01-01&sort=last_name,-birthdate&page=${page}`),
    LM: ({ page }) => get(`/api/course.json?page=${page}`),
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

const nobodys = 1_000_000_000;
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
    R404: ({ id, token }) => get(`/api/person/${nobodys + id}.json`, token),
    R405: ({ id, token }) => [{ method: 'DELETE', path: `/api/person/${id}.json`, token }],
  },
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
  read([answer]) {
    const { data, total } = answer as { data?: readonly unknown[]; total: number };
    return data ? { items: data, count: total } : { items: [answer] };
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
  read([answer]) {
    const { data, total } = answer as { data?: readonly unknown[]; total: number };
    return data ? { items: data, count: total } : { items: [answer] };
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
  read([answer, counted]) {
    if (!Array.isArray(answer)) return { items: [answer] };
    return { items: answer, count: (counted as { count: number }).count };
  },
};
