import type { ModelAccess } from '../models.ts';
import { type Change, closed, type Facts, type FactsOfSubject, opened } from './changes.ts';
import { type DeclaredFact, type FieldGrant, limitIn, nameIn } from './facts.ts';
import type { RouteAccess } from './matrix.ts';

/** One method of a route, in the baseline and now. */
export interface Compared {
  readonly facts: Facts;
  readonly about: FactsOfSubject;
  readonly route: RouteAccess;
  readonly routes: readonly RouteAccess[];
  readonly models: readonly ModelAccess[];
}

type Kind = 'read' | 'write';

/** A changed field: its declaration, its label, and the change in words around the label. */
interface FieldChange {
  readonly direction: typeof opened;
  readonly place: string | null;
  readonly label: string;
  readonly verb: string;
  readonly note: string;
}

/** The changed fields of a method. Those with the same change by the same declaration are reported together. */
export function fieldChanges(compared: Compared, kind: Kind): Change[] {
  const { about } = compared;
  const changes = [...openedFields(compared, kind), ...closedFields(compared, kind)];
  const alike = Map.groupBy(changes, ({ direction, note, place, verb }) => JSON.stringify([direction.name, place, verb, note]));
  return [...alike.values()].map((those) => {
    const { direction, note, place, verb } = those[0] as FieldChange;
    return direction(place, about.subject, `${verb} ${shown(those.map(({ label }) => label))}${note}`);
  });
}

/** A field is opened if callers get it without a role, or with a role that did not give it before. */
function openedFields(compared: Compared, kind: Kind): FieldChange[] {
  const { about } = compared;
  const [action] = about.added('action');
  const then = about.before(kind).map(limitIn);
  return about.added(kind).flatMap((fact) => {
    const { field, role } = limitIn(fact.value);
    const before = then.filter((each) => each.field === field).map((each) => each.role);
    if (before.includes(null)) return [];
    const was = before.length > 0 ? ` without a role now, required ${before.join(' or ')}` : '';
    const note = role === null ? was : ` with the role ${role}`;
    return [{ direction: opened, place: action?.place ?? placeOf(fact, compared, kind), label: field, verb: `${kind}s`, note }];
  });
}

function closedFields(compared: Compared, kind: Kind): FieldChange[] {
  const { about } = compared;
  if (about.added('action').length > 0) return [];
  const now = about.after(kind).map((fact) => ({ fact, ...limitIn(fact.value) }));
  // if classes are distinguished now, nothing is certainly closed
  const apart = new Set(now.map(({ field }) => withoutClasses(field)));
  return about.removed(kind).flatMap((value) => {
    const { field, role } = limitIn(value);
    const after = now.filter((each) => each.field === field);
    if (after.some((each) => each.role === null) || (after.length === 0 && apart.has(field))) return [];
    if (role === null && after[0]) {
      const roles = after.map((each) => each.role).join(' or ');
      const place = placeOf(after[0].fact, compared, kind);
      return [{ direction: closed, place, label: field, verb: `${kind}s`, note: ` only with the role ${roles} now` }];
    }
    const note = role === null ? '' : ` with the role ${role}`;
    return [{ direction: closed, place: closedPlace(compared, kind, field), label: field, verb: `no longer ${kind}s`, note }];
  });
}

/** A field is changed by the first new part of its path. */
function placeOf(fact: DeclaredFact, compared: Compared, kind: Kind): string {
  const then = compared.about.before(kind).map((value) => limitIn(value).field);
  const first = fact.within.find(({ prefix }) =>
    prefix.endsWith(':') ? !then.some((value) => value.startsWith(prefix)) : !then.includes(prefix),
  );
  if (!first) return causeOf(fact, compared, kind);
  const outer = compared.about.after(kind).find(({ value }) => limitIn(value).field === first.prefix);
  return outer ? causeOf(outer, compared, kind) : first.place;
}

/** The groups of a property, the groups of the route, or the role of a group: whichever is new. */
function causeOf({ grants = [], place }: DeclaredFact, { about, facts }: Compared, kind: Kind): string {
  const wasInGroup = ({ field, model, name }: FieldGrant) => facts.about(`model ${model}`).before(name).includes(field);
  const [grant] = grants.filter(wasInGroup);
  if (!grant) return place;
  return groupsBefore(about, kind).includes(grant.name) ? roleCause(grant, facts, place) : grant.place;
}

/** The groups of a method in the baseline, which has only those that are not the default. */
export function groupsBefore(about: FactsOfSubject, kind: Kind): readonly string[] {
  const written = about.before(`${kind}s in`);
  return written.length > 0 ? written : [kind];
}

/** The place of a group's role if the role changed. */
function roleCause({ name, role, rolePlace }: FieldGrant, facts: Facts, place: string): string {
  const [was = null] = facts.about(`group ${name}`).before('requires');
  return was === role ? place : rolePlace;
}

/** The property that lost a group, if only one model has a property of that name; else the group that the route lost. */
function closedPlace({ about, facts, models, route }: Compared, kind: Kind, label: string): string | null {
  const groups = groupsBefore(about, kind);
  // `requestor.Person:center -> Center` ends in the name `center`
  const name = nameIn(label.split(/ (?:->|by) /)[0] ?? '');
  const isLost = (model: string) => groups.some((group) => facts.about(`model ${model}`).removed(group).includes(name));
  const found = models
    .filter(({ model }) => isLost(model))
    .flatMap(({ groups: own, closed: others }) =>
      [...Object.values(own).flat(), ...others].filter((field) => field.name === name),
    );
  const places = new Set(found.map(({ place }) => place));
  if (places.size === 1) return [...places][0] as string;
  const now = route.groups[kind];
  const isLess = groups.some((group) => !now.some((each) => each.name === group));
  return places.size === 0 ? ((isLess ? now[0]?.place : now.find(({ role }) => role !== null)?.rolePlace) ?? null) : null;
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

export function counted(fields: number): string {
  return `${fields} ${fields === 1 ? 'field' : 'fields'}`;
}
