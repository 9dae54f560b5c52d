import { httpMethods } from '../../declaration/types.ts';
import type { Change, Facts } from './changes.ts';
import { type DeclaredFact, subjectOf } from './facts.ts';
import type { AccessMatrix, ModelAccess, RouteAccess } from './matrix.ts';

/** A change of one method of a route, before those of the same kind are put together. */
interface RouteChange extends Omit<Change, 'subject'> {
  readonly method: string;
  readonly path: string;
}

/** What changed of routes. Methods of a route with the same change are told together. */
export function changesOfRoutes(facts: Facts, { models, routes }: AccessMatrix): Change[] {
  const known = new Map(routes.map((route) => [subjectOf(route), route]));
  const changes = facts.subjects
    .filter((subject) => subject.startsWith('/'))
    .flatMap((subject) => {
      const route = known.get(subject);
      if (!route) return [gone(subject, routes)];
      return facts.knew(subject) ? changesOf(facts, route, routes, models) : [fresh(facts, route, routes)];
    });
  const alike = Map.groupBy(changes, ({ direction, path, place, text }) => JSON.stringify([direction, path, place, text]));
  return [...alike.values()].map((same) => {
    const { direction, path, place, text } = same[0] as RouteChange;
    const methods = httpMethods.filter((method) => same.some((change) => change.method === method));
    return { direction, place, subject: `${methods.join(',')} ${path}`, text };
  });
}

/** Where other methods of the path are enabled, this one was. */
function gone(subject: string, routes: readonly RouteAccess[]): RouteChange {
  const cut = subject.lastIndexOf(' ');
  const path = subject.slice(0, cut);
  const place = routes.find((route) => route.path === path)?.place ?? null;
  return { direction: 'closed', place, method: subject.slice(cut + 1), path, text: 'is gone' };
}

/** A method that was not there. Where nothing of its action or of its API was, their paths may be what changed. */
function fresh(facts: Facts, route: RouteAccess, routes: readonly RouteAccess[]): RouteChange {
  const { method, path, place, places, public: open, roles } = route;
  const anyKnown = (those: readonly RouteAccess[]) => those.some((other) => facts.knew(subjectOf(other)));
  const movedApi = route.api !== null && !anyKnown(routes.filter(({ api }) => api === route.api));
  const movedAction = !anyKnown(routes.filter((other) => other.path === path));
  const asks = open ? 'is PUBLIC' : `asks ${roles.map(({ role }) => role).join(' + ')}`;
  return {
    direction: 'opened',
    place: movedApi ? places.basePath : movedAction && isWritten(places.segment, route) ? places.segment : place,
    method,
    path,
    text: [`is new: ${asks}`, ...effectsOf(route, routes)].join(', '),
  };
}

/** Whether an action has a path of its own: else its place is that of the action. */
function isWritten(segment: string, { handler, place }: RouteAccess): boolean {
  return segment !== place && segment !== handler.place;
}

/** What comes with a new method; HEAD is told together with the GET that it stands for. */
function effectsOf({ method, path, read, write }: RouteAccess, routes: readonly RouteAccess[]): string[] {
  const counted = (verb: string, { fields, decidedBy }: RouteAccess['read']) => {
    const known = fields.length === 0 ? [] : [`${verb} ${fields.length} ${fields.length === 1 ? 'field' : 'fields'}`];
    return decidedBy === null ? known : [`${verb} what ${decidedBy} decides`];
  };
  const reads = method !== 'HEAD' || routes.some((other) => other.path === path && other.method === 'GET');
  return [...(reads ? counted('reads', read) : []), ...counted('writes', write)];
}

function changesOf(
  facts: Facts,
  route: RouteAccess,
  routes: readonly RouteAccess[],
  models: readonly ModelAccess[],
): RouteChange[] {
  const changes = [
    ...actionChanges(facts, route),
    ...roleChanges(facts, route, routes),
    ...restrictionChanges(facts, route),
    ...hookChanges(facts, route),
    ...requirementChanges(facts, route),
    ...fieldChanges(facts, route, 'read', models),
    ...fieldChanges(facts, route, 'write', models),
    ...questionChanges(facts, route),
  ];
  return changes.map((change) => ({ ...change, method: route.method, path: route.path }));
}

type Part = Omit<Change, 'subject'>;

function opened(place: string, text: string): Part {
  return { direction: 'opened', place, text };
}

function closed(place: string | null, text: string): Part {
  return { direction: 'closed', place, text };
}

function actionChanges(facts: Facts, route: RouteAccess): Part[] {
  const [was] = facts.removed(subjectOf(route), 'action');
  return facts.added(subjectOf(route), 'action').map((now) => {
    const place = controllerChanged(was, now.value) ? route.places.controller : now.place;
    return opened(place, `is "${now.value}" now, was "${was ?? ''}"`);
  });
}

/** Whether what is named `Class.method` is of another class now. */
function controllerChanged(was: string | undefined, now: string | undefined): boolean {
  const classIn = (text: string | undefined) => /(?<name>\S+)\.\S+$/.exec(text ?? '')?.groups?.name;
  return classIn(was) !== undefined && classIn(was) !== classIn(now);
}

function roleChanges(facts: Facts, route: RouteAccess, routes: readonly RouteAccess[]): Part[] {
  const subject = subjectOf(route);
  const lost = facts.removed(subject, 'role');
  const won = facts.added(subject, 'role').map(({ value, place }) => closed(place, `asks ${value} now`));
  if (lost.length === 0) return won;
  const place = lost.every((role) => wasBaseRole(facts, role, route, routes)) ? route.places.baseRole : route.places.methodRole;
  const roles = lost.join(' + ');
  return [opened(place, route.public ? `is PUBLIC now, asked ${roles}` : `no longer asks ${roles}`), ...won];
}

/** A role that every method of an API asked for and none does now was its base role. */
function wasBaseRole(facts: Facts, role: string, { api }: RouteAccess, routes: readonly RouteAccess[]): boolean {
  const subjects = routes.filter((other) => other.api === api && api !== null).map(subjectOf);
  return subjects.filter((subject) => facts.knew(subject)).every((subject) => facts.removed(subject, 'role').includes(role));
}

function restrictionChanges(facts: Facts, route: RouteAccess): Part[] {
  const [was] = facts.removed(subjectOf(route), 'restricted by');
  const [now] = facts.added(subjectOf(route), 'restricted by');
  if (was === undefined) return now ? [closed(now.place, `sees only what ${now.value} lets it see`)] : [];
  const other = controllerChanged(was, route.handler.value) || now !== undefined;
  const place = other ? route.places.controller : route.places.controllerClass;
  return [opened(place, now ? `is restricted by ${now.value} now, was by ${was}` : `is no longer restricted by ${was}`)];
}

/** A hook can show something, and can have hidden something. */
function hookChanges(facts: Facts, route: RouteAccess): Part[] {
  const subject = subjectOf(route);
  return [
    ...facts.added(subject, 'hook').map(({ value, place }) => opened(place, `can be answered otherwise by ${value} now`)),
    ...facts.removed(subject, 'hook').map((value) => {
      const place = controllerChanged(value, route.handler.value) ? route.places.controller : route.places.controllerClass;
      return opened(place, `is no longer seen by ${value}`);
    }),
  ];
}

/** Which of two expressions takes more is not for us to say. */
function requirementChanges(facts: Facts, route: RouteAccess): Part[] {
  const subject = subjectOf(route);
  const nameOf = (value: string) => value.slice(0, value.indexOf(' '));
  const expressionOf = (value: string) => value.slice(value.indexOf(' ') + 1);
  const now = facts.added(subject, 'requirement');
  const was = facts.removed(subject, 'requirement');
  return [
    ...was.map((before) => {
      const after = now.find(({ value }) => nameOf(value) === nameOf(before));
      const taken = after ? expressionOf(after.value) : 'anything';
      return opened(
        after?.place ?? route.places.requirements,
        `takes ${taken} as ${nameOf(before)}, took ${expressionOf(before)}`,
      );
    }),
    ...now
      .filter(({ value }) => !was.some((before) => nameOf(before) === nameOf(value)))
      .map(({ value, place }) => closed(place, `takes only ${expressionOf(value)} as ${nameOf(value)} now`)),
  ];
}

const questions = {
  filter: 'can be filtered by',
  sort: 'can be sorted by',
  search: 'can be searched in',
  format: 'can be had as',
};

function questionChanges(facts: Facts, route: RouteAccess): Part[] {
  const subject = subjectOf(route);
  return Object.entries(questions).flatMap(([kind, verb]) => [
    ...[...Map.groupBy(facts.added(subject, kind), ({ place }) => place)].map(([place, those]) =>
      opened(place, `${verb} ${those.map(({ value }) => value).join(', ')} now`),
    ),
    ...facts.removed(subject, kind).map((value) => closed(null, `${verb} ${value} no more`)),
  ]);
}

/** The fields of a method, those together that one declaration opened. */
function fieldChanges(facts: Facts, route: RouteAccess, kind: 'read' | 'write', models: readonly ModelAccess[]): Part[] {
  const subject = subjectOf(route);
  const action = facts.added(subject, 'action')[0];
  const then = facts.before(subject, kind);
  const openedBy = Map.groupBy(facts.added(subject, kind), (fact) => action?.place ?? placeOf(fact, then));
  // where code of the application decides now, nothing is known to be closed; nor where rows of a further class are told apart now
  const apart = new Set(facts.after(subject, kind).map(({ value }) => withoutClasses(value)));
  const hidden = facts.removed(subject, kind).filter((value) => !action && !apart.has(value));
  const closedBy = Map.groupBy(hidden, (value) => closedPlace(facts, kind, value, models));
  return [
    ...[...openedBy].map(([place, those]) => opened(place, `${kind}s ${shown(those.map(({ value }) => value))}`)),
    ...[...closedBy].map(([place, those]) => closed(place, `${kind}s ${shown(those)} no more`)),
  ];
}

/** A field is opened by the first thing on the way to it that was not there. */
function placeOf({ place, within }: DeclaredFact, then: readonly string[]): string {
  const first = within.find(({ prefix }) =>
    prefix.endsWith(':') ? !then.some((value) => value.startsWith(prefix)) : !then.includes(prefix),
  );
  return first?.place ?? place;
}

/** The property whose group was taken away, where only one model has one of that name. */
function closedPlace(facts: Facts, group: string, label: string, models: readonly ModelAccess[]): string | null {
  const name = nameIn(label);
  const found = models.flatMap(({ model, groups, closed: others }) =>
    facts.removed(`model ${model}`, group).includes(name)
      ? [...Object.values(groups).flat(), ...others].filter((field) => field.name === name)
      : [],
  );
  const places = new Set(found.map(({ place }) => place));
  return places.size === 1 ? ([...places][0] as string) : null;
}

/** `requestor.Person:center -> Center` ends in the name `center`. */
function nameIn(label: string): string {
  const [path = ''] = label.split(/ (?:->|by) /);
  return path.replace(/^.*[.:]/, '').replace(/\[\]$/, '');
}

function withoutClasses(label: string): string {
  return label.replace(/(?<=^|\.)[^.:]+:/g, '');
}

/** What is in a field that is named already needs no naming. */
function shown(labels: readonly string[]): string {
  const outermost = labels.filter((label) => !labels.some((other) => label.startsWith(`${other}.`)));
  return outermost
    .map((label) => {
      const inside = labels.filter((other) => other.startsWith(`${label}.`)).length;
      return inside === 0 ? label : `${label} with ${inside} ${inside === 1 ? 'field' : 'fields'}`;
    })
    .join(', ');
}
