import { httpMethods } from '../../declaration/types.ts';
import { type Change, closed, type Facts, opened } from './changes.ts';
import { type Compared, counted, fieldChanges, groupsBefore } from './compare-fields.ts';
import { subjectOf } from './facts.ts';
import { listChanges } from './list-changes.ts';
import type { AccessMatrix, RouteAccess } from './matrix.ts';

/** The changes of routes. Methods of a route with the same change are reported together. */
export function changesOfRoutes(facts: Facts, { models, routes }: AccessMatrix): Change[] {
  const known = new Map(routes.map((route) => [subjectOf(route), route]));
  const changes = facts.aboutAll('/').flatMap((about) => {
    const route = known.get(about.subject);
    // the place of another method of the same path
    const sibling = routes.find(({ path }) => path === pathIn(about.subject));
    if (!route) return [closed(sibling?.place ?? null, about.subject, 'was removed')];
    const compared = { facts, about, route, routes, models };
    return about.isKnown ? changesOf(compared) : [fresh(compared)];
  });
  const alike = Map.groupBy(changes, (change) => JSON.stringify({ ...change, subject: pathIn(change.subject) }));
  return [...alike.values()].map((same) => {
    const first = same[0] as Change;
    const methods = httpMethods.filter((method) => same.some(({ subject }) => subject.endsWith(` ${method}`)));
    return { ...first, subject: `${methods.join(',')} ${pathIn(first.subject)}` };
  });
}

function pathIn(subject: string): string {
  return subject.slice(0, subject.lastIndexOf(' '));
}

/** A new method. If its whole action or API is unknown, their paths may have changed. */
function fresh({ about, facts, route, routes }: Compared): Change {
  const { handler, path, place, places, public: open, roles } = route;
  const anyKnown = (those: readonly RouteAccess[]) => those.some((other) => facts.about(subjectOf(other)).isKnown);
  const movedApi = route.api !== null && !anyKnown(routes.filter(({ api }) => api === route.api));
  const movedAction = !anyKnown(routes.filter((other) => other.path === path));
  // without a path of its own, the segment has the place of the action
  const hasSegment = places.segment !== place && places.segment !== handler.place;
  const asks = open ? 'is PUBLIC' : `requires ${roles.map(({ role }) => role).join(' + ')}`;
  return opened(
    movedApi ? places.basePath : movedAction && hasSegment ? places.segment : place,
    about.subject,
    [`is new: ${asks}`, ...effectsOf(route, routes)].join(', '),
  );
}

/** The effects of a new method; HEAD is reported together with its GET. */
function effectsOf({ method, path, read, write }: RouteAccess, routes: readonly RouteAccess[]): string[] {
  const effect = (verb: string, { fields, decidedBy }: RouteAccess['read']) => {
    if (decidedBy !== null) return [`${verb} fields decided by ${decidedBy}`];
    return fields.length === 0 ? [] : [`${verb} ${counted(fields.length)}`];
  };
  const reads = method !== 'HEAD' || routes.some((other) => other.path === path && other.method === 'GET');
  return [...(reads ? effect('reads', read) : []), ...effect('writes', write)];
}

function changesOf(compared: Compared): Change[] {
  return [
    ...actionChanges(compared),
    ...roleChanges(compared),
    ...restrictionChanges(compared),
    ...hookChanges(compared),
    ...requirementChanges(compared),
    ...listChanges(compared.about),
    ...groupChanges(compared, 'read'),
    ...groupChanges(compared, 'write'),
    ...fieldChanges(compared, 'read'),
    ...fieldChanges(compared, 'write'),
    ...questionChanges(compared),
  ];
}

function actionChanges({ about, route }: Compared): Change[] {
  const [was] = about.removed('action');
  return about.added('action').map((now) => {
    const place = controllerChanged(was, now.value) ? route.places.controller : now.place;
    return opened(place, about.subject, `is "${now.value}" now, was "${was ?? ''}"`);
  });
}

/** Whether the class of `Class.method` changed. */
function controllerChanged(was: string | undefined, now: string | undefined): boolean {
  const classIn = (text: string | undefined) => /(?<name>\S+)\.\S+$/.exec(text ?? '')?.groups?.name;
  return classIn(was) !== undefined && classIn(was) !== classIn(now);
}

function roleChanges({ about, facts, route, routes }: Compared): Change[] {
  const lost = about.removed('role');
  const won = about.added('role').map(({ value, place }) => closed(place, about.subject, `requires ${value} now`));
  if (lost.length === 0) return won;
  // a role that every method of an API required before, and none requires now, was the base role
  const ofApi = routes.filter(({ api }) => api === route.api && api !== null).map((each) => facts.about(subjectOf(each)));
  const wasBaseRole = (role: string) => ofApi.every((each) => !each.isKnown || each.removed('role').includes(role));
  const place = lost.every(wasBaseRole) ? route.places.baseRole : route.places.methodRole;
  const roles = lost.join(' + ');
  return [
    opened(place, about.subject, route.public ? `is PUBLIC now, required ${roles}` : `no longer requires ${roles}`),
    ...won,
  ];
}

function restrictionChanges({ about, route }: Compared): Change[] {
  const [was] = about.removed('restricted by');
  const [now] = about.added('restricted by');
  if (was === undefined) return now ? [closed(now.place, about.subject, `is restricted by ${now.value} now`)] : [];
  const other = controllerChanged(was, route.handler.value) || now !== undefined;
  const text = now ? `is restricted by ${now.value} now, was by ${was}` : `is no longer restricted by ${was}`;
  return [opened(other ? route.places.controller : route.places.controllerClass, about.subject, text)];
}

/** A new hook can show more; a removed one may have hidden something. */
function hookChanges({ about, route: { handler, places } }: Compared): Change[] {
  return [
    ...about
      .added('hook')
      .map(({ value, place }) => opened(place, about.subject, `runs the hook ${value} now, which can change the response`)),
    ...about.removed('hook').map((value) => {
      const place = controllerChanged(value, handler.value) ? places.controller : places.controllerClass;
      return opened(place, about.subject, `no longer runs the hook ${value}`);
    }),
  ];
}

/** It is unknown which of two expressions accepts more, so each change counts as opened. */
function requirementChanges({ about, route }: Compared): Change[] {
  const nameOf = (value: string) => value.slice(0, value.indexOf(' '));
  const expressionOf = (value: string) => value.slice(value.indexOf(' ') + 1);
  const now = about.added('requirement');
  const was = about.removed('requirement');
  return [
    ...was.map((before) => {
      const after = now.find(({ value }) => nameOf(value) === nameOf(before));
      const taken = after ? expressionOf(after.value) : 'anything';
      const text = `accepts ${taken} as ${nameOf(before)}, accepted ${expressionOf(before)} before`;
      return opened(after?.place ?? route.places.requirements, about.subject, text);
    }),
    ...now
      .filter(({ value }) => !was.some((before) => nameOf(before) === nameOf(value)))
      .map(({ value, place }) => closed(place, about.subject, `accepts only ${expressionOf(value)} as ${nameOf(value)} now`)),
  ];
}

/** The changed groups of a method whose fields code decides. Those of other methods are reported by field. */
function groupChanges({ about, route }: Compared, kind: 'read' | 'write'): Change[] {
  if (route[kind].decidedBy === null || route.api === null || about.added('action').length > 0) return [];
  const then = groupsBefore(about, kind);
  const now = route.groups[kind];
  return [
    ...now
      .filter(({ name }) => !then.includes(name))
      .map(({ name, place }) => opened(place, about.subject, `${kind}s in the group ${name} now`)),
    ...then
      .filter((name) => !now.some((group) => group.name === name))
      .map((name) => closed(now[0]?.place ?? null, about.subject, `no longer ${kind}s in the group ${name}`)),
  ];
}

const questions = {
  filter: 'can be filtered by',
  sort: 'can be sorted by',
  search: 'can be searched in',
  aggregate: 'aggregates',
  parameter: 'accepts the query parameter',
  format: 'can be requested as',
};

/** `can be sorted by` → `can no longer be sorted by` */
function noLonger(verb: string): string {
  return verb.startsWith('can ') ? verb.replace('can ', 'can no longer ') : `no longer ${verb}`;
}

function questionChanges({ about }: Compared): Change[] {
  return Object.entries(questions).flatMap(([kind, verb]) => [
    ...[...Map.groupBy(about.added(kind), ({ place }) => place)].map(([place, those]) =>
      opened(place, about.subject, `${verb} ${those.map(({ value }) => value).join(', ')} now`),
    ),
    ...about.removed(kind).map((value) => closed(null, about.subject, `${noLonger(verb)} ${value}`)),
  ]);
}
