import { httpMethods } from '../../declaration/types.ts';
import type { FieldAccess } from '../route-fields.ts';
import type { GroupAccess } from '../route-groups.ts';
import type { SettingsAccess } from '../settings.ts';
import { listFacts } from './lists.ts';
import type { AccessMatrix, RouteAccess } from './matrix.ts';

/** One fact about an application, as it is now or as its baseline has it. */
export interface Fact {
  /** `/api/person.{_format} GET`, `model Person`, `role PERSON_SEE`, `security`. */
  readonly subject: string;
  readonly kind: string;
  readonly value: string;
}

/** A fact of an application, with the place that declares it. */
export interface DeclaredFact extends Fact {
  readonly place: string;
  /** The enclosing fields, from the outside in, and the classes of rows in them: a class is a prefix that ends in `:`. */
  readonly within: readonly { readonly prefix: string; readonly place: string }[];
  /** The groups that show the field, with the model's name of it. */
  readonly grants?: readonly FieldGrant[];
}

/** A field in a group of a route. */
export interface FieldGrant extends GroupAccess {
  readonly model: string;
  readonly field: string;
}

/** `diagnosis for PERSON_MEDICAL` is a field for callers with a role. */
const roleForm = /^(?<field>.+) for (?<role>\S+)$/;

/** `requestor.Person:centers[]` ends in the name `centers`. */
export function nameIn(label: string): string {
  return label.replace(/^.*[.:]/, '').replace(/\[\]$/, '');
}

/** The field of a fact, and the role that callers need; null: it is for all callers with access to the route. */
export function limitIn(value: string): { readonly field: string; readonly role: string | null } {
  const found = roleForm.exec(value)?.groups;
  return { field: found?.field ?? value, role: found?.role ?? null };
}

const routeKinds =
  'action|PUBLIC|role|restricted by|hook|requirement|bulk|nested|reads in|writes in|read|write|filter|sort|search|aggregate|parameter|format';
const forms = [
  /^(?<subject>model \S+) (?<kind>filtered by) (?<value>.+)$/,
  new RegExp(`^(?<subject>/.*? (?:${httpMethods.join('|')})) (?<kind>${routeKinds})(?: (?<value>.+))?$`),
  /^(?<subject>model \S+) (?<kind>\S+) (?<value>.+)$/,
  /^(?<subject>group \S+) (?<kind>requires) (?<value>\S+)$/,
  /^(?<subject>role \S+) (?<kind>judged by|includes) (?<value>.+)$/,
  /^(?<subject>security) (?<kind>strategy|require_role|credential|issuer|audience)(?: (?<value>.+))?$/,
];

export function lineOf({ subject, kind, value }: Fact): string {
  const line = value === '' ? `${subject} ${kind}` : `${subject} ${kind} ${value}`;
  // a fact is one line, even if a name of the application has line breaks
  return line.replace(/\p{Cc}/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The fact of a line; null if the line is not a fact. */
export function factIn(line: string): Fact | null {
  for (const form of forms) {
    const found = form.exec(line)?.groups;
    if (found) return { subject: found.subject as string, kind: found.kind as string, value: found.value ?? '' };
  }
  return null;
}

/** Every fact of an application, sorted by line. */
export function factsOf({ groups: bound, models, routes, settings }: AccessMatrix): readonly DeclaredFact[] {
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
    ...bound.map(({ name, place, role }) => fact(`group ${name}`, 'requires', role, place)),
    ...settingsFacts(settings),
  ];
  const byLine = new Map(facts.map((each) => [lineOf(each), each]));
  return [...byLine].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
}

function fact(subject: string, kind: string, value: string, place: string, within: DeclaredFact['within'] = []): DeclaredFact {
  return { subject, kind, value, place, within };
}

export function subjectOf({ path, method }: Pick<RouteAccess, 'path' | 'method'>): string {
  return `${path} ${method}`;
}

function routeFacts(route: RouteAccess, models: ReadonlyMap<string, string>): DeclaredFact[] {
  const subject = subjectOf(route);
  const { action, handler, model, place, places, read, restricted, write } = route;
  const own = action === 'handler' || action === 'service';
  const performed = [action, own ? handler.value : model].filter(Boolean).join(' ');
  // a response to HEAD has no body
  const shown = route.method === 'HEAD' ? { fields: [], formats: [], questions: [] } : { ...route, ...read };
  return [
    fact(subject, 'action', performed, own ? handler.place : places.model),
    ...(route.public ? [fact(subject, 'PUBLIC', '', place)] : []),
    ...route.roles.map((each) => fact(subject, 'role', each.role, each.place)),
    ...(restricted ? [fact(subject, 'restricted by', restricted.value, restricted.place)] : []),
    ...route.hooks.map((hook) => fact(subject, 'hook', hook.value, hook.place)),
    ...Object.entries(route.requirements).map(([name, each]) =>
      fact(subject, 'requirement', `${name} ${each.value}`, each.place),
    ),
    ...listFacts(route).map((each) => fact(subject, each.kind, each.value, each.place)),
    ...groupFacts(subject, 'read', route.groups.read),
    ...groupFacts(subject, 'write', route.groups.write),
    ...fieldFacts(subject, 'read', { fields: shown.fields, groups: route.groups.read }, models),
    ...(own || read.decidedBy === null ? [] : [fact(subject, 'read', `by ${read.decidedBy}`, handler.place)]),
    ...fieldFacts(subject, 'write', { fields: write.fields, groups: route.groups.write }, models),
    ...shown.formats.map((format) => fact(subject, 'format', format, places.formats[format] ?? place)),
    ...shown.questions.map(({ kind, field, operator, place: at }) =>
      fact(subject, kind, operator ? `${field} ${operator}` : field, at),
    ),
  ];
}

/** The groups of a route, unless they are the default ones. */
function groupFacts(subject: string, kind: 'read' | 'write', groups: readonly GroupAccess[]): DeclaredFact[] {
  if (groups.every(({ name }) => name === kind)) return [];
  return groups.map(({ name, place }) => fact(subject, `${kind}s in`, name, place));
}

function fieldFacts(
  subject: string,
  kind: 'read' | 'write',
  { fields, groups }: { readonly fields: readonly FieldAccess[]; readonly groups: readonly GroupAccess[] },
  models: ReadonlyMap<string, string>,
): DeclaredFact[] {
  const places = new Map(fields.map(({ label, place }) => [label, place]));
  return fields.flatMap((field) => {
    const within = enclosing(field, places, models.get(field.model) ?? field.place);
    const grants = groups
      .filter(({ name, role }) => field.groups.includes(name) && (role === null) === (field.roles.length === 0))
      .map((group) => ({ ...group, model: field.model, field: nameIn(field.label) }));
    const roles = field.roles.length === 0 ? [null] : field.roles;
    return roles.flatMap((role) =>
      valuesOf(field).map((value) => ({
        ...fact(subject, kind, role === null ? value : `${value} for ${role}`, field.place, within),
        grants: grants.filter((grant) => grant.role === role),
      })),
    );
  });
}

/** A field is one fact. A reference is one fact for each class of its targets. */
function valuesOf({ kind, label, madeBy, references }: FieldAccess): string[] {
  if (kind !== 'reference') return [label];
  const named = references.map((model) => `${label} -> ${model}`.trimStart());
  return madeBy === null ? named : [...named, `${label} by ${madeBy}`.trimStart()];
}

/** `requestor.Person:center.name` is in `requestor`, in its rows of the class `Person`, and in `requestor.Person:center`. */
function enclosing({ label }: FieldAccess, places: ReadonlyMap<string, string>, model: string): DeclaredFact['within'] {
  const steps = label.split('.');
  return steps.flatMap((step, depth) => {
    const outer = steps.slice(0, depth).join('.');
    const before = outer === '' ? '' : `${outer}.`;
    const variant = /^(?<name>[^:]+:)./.exec(step)?.groups?.name;
    const inner = `${before}${step}`;
    return [
      ...(variant ? [{ prefix: `${before}${variant}`, place: places.get(outer) ?? model }] : []),
      ...(depth < steps.length - 1 ? [{ prefix: inner, place: places.get(inner) ?? model }] : []),
    ];
  });
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
      // the voting order matters only if the first vote that is not an abstention decides
      const shown = strategy.value === 'priority' ? names.join(', then ') : names.sort().join(', ');
      return fact(`role ${role}`, 'judged by', shown, voters[0]?.place ?? '');
    }),
  ];
}
