import type { Mapper } from '../../database/mapper.ts';
import { type FilterOperator, filterParameter, operatorTraits } from '../../declaration/filter-operators.ts';
import { planFields } from '../../model/field-plan.ts';
import { groupNames, rolesOfGroups } from '../../model/groups.ts';
import { metaOf } from '../../model/hierarchy.ts';
import { readableField } from '../../model/readable-field.ts';
import { exampleOf } from '../../openapi/example.ts';
import { valueSchema } from '../../openapi/json-schema.ts';
import type { RouteRecord } from '../../route/record.ts';
import type { RouteAccess } from '../compare/matrix.ts';
import type { FieldAccess } from '../route-fields.ts';

/** The roles of groups that a caller has: for the row of the path or the rows of a list, and for rows inside a response. */
export interface Grants {
  readonly own: ReadonlySet<string>;
  readonly inside: ReadonlySet<string>;
}

export function groupRolesOf({ action }: RouteRecord): readonly string[] {
  return action ? rolesOfGroups([...action.groups.read, ...action.groups.write]) : [];
}

/** The fields of a route that a caller with these roles gets. */
export function grantedFields({ action, read }: RouteAccess, grants: Grants): readonly FieldAccess[] {
  // an item that was added or removed is not the row of the path
  const isInside = action === 'add' || action === 'remove';
  const denied: string[] = [];
  return read.fields.filter(({ isEmbedded, label, roles }) => {
    const held = isEmbedded || isInside ? grants.inside : grants.own;
    const isGranted =
      !denied.some((outer) => label.startsWith(`${outer}.`)) && (roles.length === 0 || roles.some((role) => held.has(role)));
    if (!isGranted) denied.push(label);
    return isGranted;
  });
}

/** The fields of a response that need a role, that the caller has, and that a row lacks. Hooks may leave fields out. */
export function missingFields(route: RouteAccess, granted: readonly FieldAccess[], rows: readonly object[]): readonly string[] {
  if (route.read.decidedBy !== null || route.hooks.length > 0 || ['add', 'remove', 'aggregate'].includes(route.action)) return [];
  const due = granted.filter(({ label, roles }) => roles.length > 0 && /^[^.:]+$/.test(label));
  const names = due.map(({ path }) => path.replace(/\[\]$/, ''));
  return names.filter((name) => rows.some((row) => !(name in row)));
}

/** Whether a route returns the rows of a list, or their aggregates. */
export function isOfList({ action }: Pick<RouteAccess, 'action'>): boolean {
  return action === 'list' || action === 'aggregate';
}

/** Queries of a list that must be rejected if the caller lacks the roles, each with the field that it names. */
export function deniedQueries(mapper: Mapper, record: RouteRecord, route: RouteAccess, { own }: Grants) {
  const { action, api } = record;
  if (!isOfList(route) || route.method !== 'GET' || !action || !api) return [];
  const plan = planFields(mapper, metaOf(mapper, api.class.value), groupNames(action.groups.read));
  const denied = route.questions.filter(({ roles }) => roles.some((step) => !step.some((role) => own.has(role))));
  return denied.flatMap(({ field, kind, operator }) => {
    if (kind === 'sort') return [{ field, query: `sort=${encodeURIComponent(field)}` }];
    if (kind === 'aggregate') {
      const isGroup = action.list?.aggregate?.by.some((group) => group.field === field);
      return [{ field, query: `${isGroup ? 'by' : 'of'}=${encodeURIComponent(field)}` }];
    }
    if (kind !== 'filter' || operator === null) return [];
    const found = readableField(plan, field)?.field;
    const { operand } = operatorTraits[operator as FilterOperator];
    const value =
      operand === 'boolean' ? true : found?.kind === 'scalar' ? exampleOf(valueSchema(found.value, 'write'), {}) : '1';
    const name = filterParameter(field, operator as FilterOperator);
    return [{ field, query: `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}` }];
  });
}
