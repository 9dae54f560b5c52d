import { httpMethods } from '../../declaration/types.ts';
import type { FieldAccess } from '../route-fields.ts';
import type { SettingsAccess } from '../settings.ts';
import type { AccessMatrix, RouteAccess } from './matrix.ts';

/** One thing that is so, in an application or in its baseline. */
export interface Fact {
  /** What it is about: `/api/person.{_format} GET`, `model Person`, `role PERSON_SEE`, `security`. */
  readonly subject: string;
  readonly kind: string;
  readonly value: string;
}

/** A fact of an application, which was declared somewhere. */
export interface DeclaredFact extends Fact {
  readonly place: string;
  /** What has to be so for this to be so, from the outside in: the fields that a field is embedded in. */
  readonly within: readonly Enclosing[];
}

/** A field that others are in, or, with a prefix only, a class of the rows that can stand in it. */
export interface Enclosing {
  readonly prefix: string;
  readonly place: string;
}

const routeKinds = [
  'action',
  'PUBLIC',
  'role',
  'restricted by',
  'hook',
  'requirement',
  'read',
  'write',
  'filter',
  'sort',
  'search',
  'format',
];
const forms = [
  /^(?<subject>model \S+) (?<kind>filtered by) (?<value>.+)$/,
  new RegExp(`^(?<subject>/.*? (?:${httpMethods.join('|')})) (?<kind>${routeKinds.join('|')})(?: (?<value>.+))?$`),
  /^(?<subject>model \S+) (?<kind>\S+) (?<value>.+)$/,
  /^(?<subject>role \S+) (?<kind>judged by|includes) (?<value>.+)$/,
  /^(?<subject>security) (?<kind>strategy|require_role|credential|issuer|audience)(?: (?<value>.+))?$/,
];

export function lineOf({ subject, kind, value }: Fact): string {
  const line = value === '' ? `${subject} ${kind}` : `${subject} ${kind} ${value}`;
  // a fact is one line, whatever an application calls its things
  return line.replace(/\p{Cc}/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The fact of a line; null where it is none. */
export function factIn(line: string): Fact | null {
  for (const form of forms) {
    const found = form.exec(line)?.groups;
    if (found) return { subject: found.subject as string, kind: found.kind as string, value: found.value ?? '' };
  }
  return null;
}

/** Everything that is so in an application, one fact each, sorted by their lines. */
export function factsOf({ models, routes, settings }: AccessMatrix): readonly DeclaredFact[] {
  const places = new Map(models.map(({ model, place }) => [model, place]));
  const facts = [
    ...routes.flatMap((route) => routeFacts(route, places)),
    ...models.flatMap(({ model, filters, filtersPlace }) =>
      filters.map((filter) => fact(`model ${model}`, 'filtered by', filter, filtersPlace)),
    ),
    ...models.flatMap(({ model, groups }) =>
      Object.entries(groups).flatMap(([group, fields]) =>
        fields.map(({ name, place }) => fact(`model ${model}`, group, name, place)),
      ),
    ),
    ...settingsFacts(settings),
  ];
  const byLine = new Map(facts.map((each) => [lineOf(each), each]));
  return [...byLine].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
}

function fact(subject: string, kind: string, value: string, place: string, within: readonly Enclosing[] = []): DeclaredFact {
  return { subject, kind, value, place, within };
}

export function subjectOf({ path, method }: Pick<RouteAccess, 'path' | 'method'>): string {
  return `${path} ${method}`;
}

function routeFacts(route: RouteAccess, models: ReadonlyMap<string, string>): DeclaredFact[] {
  const subject = subjectOf(route);
  const { action, handler, hooks, model, place, questions, requirements, restricted, roles, read, write } = route;
  const own = action === 'handler' || action === 'service';
  return [
    fact(
      subject,
      'action',
      `${action}${own ? ` ${handler.value}` : model ? ` ${model}` : ''}`,
      own ? handler.place : route.places.model,
    ),
    ...(route.public ? [fact(subject, 'PUBLIC', '', place)] : []),
    ...roles.map((each) => fact(subject, 'role', each.role, each.place)),
    ...(restricted ? [fact(subject, 'restricted by', restricted.value, restricted.place)] : []),
    ...hooks.map((hook) => fact(subject, 'hook', hook.value, hook.place)),
    ...Object.entries(requirements).map(([name, requirement]) =>
      fact(subject, 'requirement', `${name} ${requirement.value}`, requirement.place),
    ),
    // the answer to HEAD has no body
    ...(route.method === 'HEAD' ? [] : fieldFacts(subject, 'read', read.fields, models)),
    ...(own || read.decidedBy === null ? [] : [fact(subject, 'read', `by ${read.decidedBy}`, handler.place)]),
    ...fieldFacts(subject, 'write', write.fields, models),
    ...(route.method === 'HEAD' ? [] : route.formats).map((format) =>
      fact(subject, 'format', format, route.places.formats[format] ?? place),
    ),
    ...(route.method === 'HEAD' ? [] : questions).map((question) =>
      fact(subject, question.kind, [question.field, question.operator].filter(Boolean).join(' '), question.place),
    ),
  ];
}

function fieldFacts(
  subject: string,
  kind: 'read' | 'write',
  fields: readonly FieldAccess[],
  models: ReadonlyMap<string, string>,
): DeclaredFact[] {
  const places = new Map(fields.map(({ label, place }) => [label, place]));
  return fields.flatMap((field) => {
    const within = enclosing(field, places, models.get(field.model) ?? field.place);
    return valuesOf(field).map((value) => fact(subject, kind, value, field.place, within));
  });
}

/** A field is one fact, and a reference one for each class that it can name. */
function valuesOf({ kind, label, madeBy, references }: FieldAccess): string[] {
  if (kind !== 'reference') return [label];
  const named = references.map((model) => `${label} -> ${model}`.trimStart());
  return madeBy === null ? named : [...named, `${label} by ${madeBy}`.trimStart()];
}

/** `requestor.Person:center.name` is in `requestor`, in its rows of the class `Person`, and in `requestor.Person:center`. */
function enclosing({ label }: FieldAccess, places: ReadonlyMap<string, string>, model: string): Enclosing[] {
  const found: Enclosing[] = [];
  const steps = label.split('.');
  for (const [depth, step] of steps.entries()) {
    const outer = steps.slice(0, depth).join('.');
    const variant = /^(?<name>[^:]+:)./.exec(step)?.groups?.name;
    const before = outer === '' ? '' : `${outer}.`;
    if (variant) found.push({ prefix: `${before}${variant}`, place: places.get(outer) ?? model });
    if (depth < steps.length - 1) {
      const inner = `${before}${step}`;
      found.push({ prefix: inner, place: places.get(inner) ?? model });
    }
  }
  return found;
}

function settingsFacts({ credentials, hierarchy, judges, requireRole, strategy, tokens }: SettingsAccess): DeclaredFact[] {
  return [
    fact('security', 'strategy', strategy.value, strategy.place),
    ...(requireRole.value ? [fact('security', 'require_role', '', requireRole.place)] : []),
    ...credentials.map(({ value, place }) => fact('security', 'credential', value, place)),
    ...(['issuer', 'audience'] as const).flatMap((name) => {
      const { value, place } = tokens[name];
      return value === null ? [] : [fact('security', name, value, place)];
    }),
    ...hierarchy.map(({ role, includes, place }) => fact(`role ${role}`, 'includes', includes, place)),
    ...judges.map(({ role, voters }) => {
      const names = voters.map(({ value }) => value);
      // only where the first who has an opinion decides does it matter who is asked first
      const shown = strategy.value === 'priority' ? names.join(', then ') : names.sort().join(', ');
      return fact(`role ${role}`, 'judged by', shown, voters[0]?.place ?? '');
    }),
  ];
}
