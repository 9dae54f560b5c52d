import type { AccessMatrix, RoleAccess, RouteAccess } from '../../inspect/compare/matrix.ts';
import type { RouteFields } from '../../inspect/route-fields.ts';
import { rolesText as rolesOfSteps } from '../../model/group-roles.ts';
import { fieldsText } from './fields-text.ts';

/** The methods of a route with the same roles, restrictions and fields. */
export type AccessRow = ReturnType<typeof accessRows>[number];

/** The rows of the table, in matching order. A long list of fields is shown once; later rows refer to it. */
export function accessRows({ routes }: AccessMatrix) {
  const alike = Map.groupBy(routes, (route) => JSON.stringify([route.path, ...Object.values(factsOf(route))]));
  const listedBy = new Map<string, string>();
  return [...alike.values()].map((those) => {
    const route = those[0] as RouteAccess;
    const methods = those.map(({ method }) => method).join(',');
    const { read, write, ...facts } = factsOf(route);
    const refer = (text: string, kind: string) => {
      const key = `${kind} ${text}`;
      const before = listedBy.get(key);
      if (before === undefined && text.length > 60) listedBy.set(key, `as ${route.method} ${route.path}`);
      return before ?? text;
    };
    return { methods, path: route.path, ...facts, read: refer(read, 'read'), write: refer(write, 'write') };
  });
}

function factsOf(route: RouteAccess) {
  const filters = route.filters.map((name) => `filter ${name}`);
  return {
    roles: rolesText(route.roles),
    /** Empty if nothing restricts the rows. */
    restricted: [...(route.restricted ? [route.restricted.value] : []), ...filters].join(', '),
    read: route.action === 'unsupported' ? 'nothing: the action does not support the method' : partText(route.read),
    write: [partText(route.write), ...listsText(route)].filter(Boolean).join('; '),
    questions: questionsText(route),
    hooks: route.hooks.map(({ value }) => value).join(', '),
  };
}

/** `PERSON_SEE + PERSON_UPDATE (PersonVoter) + ROLE_ADMIN (RoleVoter)` */
function rolesText(roles: readonly RoleAccess[]): string {
  if (roles.length === 0) return 'PUBLIC';
  return roles
    .map(({ role, voters }, index) => {
      const judges = voters.join(', ');
      return roles[index + 1]?.voters.join(', ') === judges ? role : `${role} (${judges})`;
    })
    .join(' + ');
}

/** `filter lastName (eq contains), email (exists); sort lastName; search email; formats json, csv` */
function questionsText({ formats, questions }: RouteAccess): string {
  const kinds = [...Map.groupBy(questions, ({ kind }) => kind)];
  const asked = kinds.map(([kind, those]) => {
    const fields = [...Map.groupBy(those, ({ field }) => field)].map(([field, each]) => {
      const operators = each.flatMap(({ operator }) => operator ?? []);
      const named = operators.length > 0 ? `${field} (${operators.join(' ')})` : field;
      const roles = rolesOfSteps(each[0]?.roles ?? []);
      return roles === '' ? named : `${named} [${roles}]`;
    });
    return `${kind} ${fields.join(', ')}`;
  });
  return [...asked, ...(formats.length > 1 ? [`formats ${formats.join(', ')}`] : [])].join('; ');
}

/** `lists of up to 1000 rows`, `rows of vaccinations (requires MEDICAL)` */
function listsText({ bulk, nested }: RouteAccess): string[] {
  const rows = nested.map(({ association, role }) => `rows of ${association}${role === null ? '' : ` (requires ${role})`}`);
  return [...rows, ...(bulk ? [`lists of up to ${bulk.value} rows`] : [])];
}

function partText({ decidedBy, fields }: RouteFields): string {
  return decidedBy === null ? fieldsText(fields) : `decided by ${decidedBy}`;
}

/** Remarks below the table. */
export function accessNotes({ groups: bound, routes, settings }: AccessMatrix): string[] {
  const open = routes.filter((route) => route.public);
  const own = routes.some(({ read, write }) => read.decidedBy !== null || write.decidedBy !== null);
  const judged = [...new Set(bound.map(({ role }) => role))].map((role) => {
    const voters = settings.judges.find((judge) => judge.role === role)?.voters ?? [];
    return `${role} (${voters.map(({ value }) => value).join(', ')})`;
  });
  const methods = open.length === 1 ? '1 method is' : `${open.length} methods are`;
  return [
    ...(open.length > 0 ? [`${methods} PUBLIC: nothing is asked.`] : []),
    ...(own ? ['Where code decides, its models are shown in the group read, unless the code names other groups.'] : []),
    ...(bound.length > 0 ? [`A field with [ROLE] exists only for callers with that role: ${judged.join(', ')}.`] : []),
    `Votes are combined by the strategy ${settings.strategy.value}.`,
  ];
}
