import { httpMethods } from '../../declaration/types.ts';
import type { ModelAccess } from '../models.ts';
import { type Change, closed, type Facts, type FactsOfSubject, opened } from './changes.ts';
import { type DeclaredFact, subjectOf } from './facts.ts';
import { listChanges } from './list-changes.ts';
import type { AccessMatrix, RouteAccess } from './matrix.ts';

/** One method of a route, in the baseline and now. */
interface Compared {
  readonly facts: Facts;
  readonly about: FactsOfSubject;
  readonly route: RouteAccess;
  readonly routes: readonly RouteAccess[];
  readonly models: readonly ModelAccess[];
}

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

function counted(fields: number): string {
  return `${fields} ${fields === 1 ? 'field' : 'fields'}`;
}

function changesOf(compared: Compared): Change[] {
  return [
    ...actionChanges(compared),
    ...roleChanges(compared),
    ...restrictionChanges(compared),
    ...hookChanges(compared),
    ...requirementChanges(compared),
    ...listChanges(compared.about),
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

const questions = {
  filter: 'can be filtered by',
  sort: 'can be sorted by',
  search: 'can be searched in',
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

/** The changed fields of a method, grouped by the declaration that changed them. */
function fieldChanges({ about, facts, models }: Compared, kind: 'read' | 'write'): Change[] {
  const [action] = about.added('action');
  const then = about.before(kind);
  const openedBy = Map.groupBy(about.added(kind), (fact) => action?.place ?? placeOf(fact, then));
  // if application code decides now, or classes are distinguished now, nothing is certainly closed
  const apart = new Set(about.after(kind).map(({ value }) => withoutClasses(value)));
  const hidden = about.removed(kind).filter((value) => !action && !apart.has(value));
  const closedBy = Map.groupBy(hidden, (value) => closedPlace(facts, kind, value, models));
  return [
    ...[...openedBy].map(([place, those]) => opened(place, about.subject, `${kind}s ${shown(those.map(({ value }) => value))}`)),
    ...[...closedBy].map(([place, those]) => closed(place, about.subject, `no longer ${kind}s ${shown(those)}`)),
  ];
}

/** A field is opened by the first new part of its path. */
function placeOf({ place, within }: DeclaredFact, then: readonly string[]): string {
  const first = within.find(({ prefix }) =>
    prefix.endsWith(':') ? !then.some((value) => value.startsWith(prefix)) : !then.includes(prefix),
  );
  return first?.place ?? place;
}

/** The property that lost its group, if only one model has a property of that name. */
function closedPlace(facts: Facts, group: string, label: string, models: readonly ModelAccess[]): string | null {
  // `requestor.Person:center -> Center` ends in the name `center`
  const [path = ''] = label.split(/ (?:->|by) /);
  const name = path.replace(/^.*[.:]/, '').replace(/\[\]$/, '');
  const found = models
    .filter(({ model }) => facts.about(`model ${model}`).removed(group).includes(name))
    .flatMap(({ groups, closed: others }) => [...Object.values(groups).flat(), ...others].filter((field) => field.name === name));
  const places = new Set(found.map(({ place }) => place));
  return places.size === 1 ? ([...places][0] as string) : null;
}

function withoutClasses(label: string): string {
  return label.replace(/(?<=^|\.)[^.:]+:/g, '');
}

/** Fields inside a listed field are counted, not listed. */
function shown(labels: readonly string[]): string {
  const outermost = labels.filter((label) => !labels.some((other) => label.startsWith(`${other}.`)));
  return outermost
    .map((label) => {
      const inside = labels.filter((other) => other.startsWith(`${label}.`)).length;
      return inside === 0 ? label : `${label} with ${counted(inside)}`;
    })
    .join(', ');
}
