import type { EntityProperty } from '@mikro-orm/core';
import type { Application } from '../application.ts';
import { aggregateNames } from '../declaration/names/list-names.ts';
import type { DeclaredGroup, GroupsDeclaration, HttpMethod, ListDeclaration } from '../declaration/types.ts';
import { type FieldPlan, planFields } from '../model/field-plan.ts';
import { rolesOfProperty } from '../model/group-roles.ts';
import { groupNames } from '../model/groups.ts';
import { metaOf } from '../model/hierarchy.ts';
import { aggregatedPath } from '../model/readable-field.ts';
import type { Match } from '../route/match.ts';
import type { AbsentField, CheckStep, ExplainedFields, ExplainedGroup, Step } from './explanation.ts';
import { innermostPaths, type PlannedField, pathsIn, readableFields, writableFields } from './fields.ts';
import { votesText } from './reason.ts';
import { actionKinds, actionOf } from './route-action.ts';

/** The fields of a request: those of the caller, those that were sent, and those that a role keeps from the caller. */
export function explainedFields(
  { mapper }: Application,
  match: Match | null,
  method: string,
  steps: readonly Step[],
  json: unknown,
): ExplainedFields {
  const sent = json === undefined ? null : pathsIn(json);
  const nothing = { groups: [], absent: [], read: null, sent, write: null };
  if (!match?.record.api || !match.record.action) return nothing;
  const { action, api } = match.record;
  const meta = metaOf(mapper, api.class.value);
  const kind = actionOf(match.record, method as HttpMethod);
  const { reads, writes } = actionKinds[kind];
  const decided = decisionsIn(steps, match.record.single);
  const limited = limitedTo(action.groups, decided);
  const plan = planFields(mapper, meta, groupNames(action.groups.read));
  const read = reads === 'model' ? limited(readableFields(plan), 'read') : null;
  const aggregated = reads === 'aggregates' ? limited(aggregatedFields(plan, action.list), 'read') : null;
  const write =
    writes === 'model'
      ? limited(writableFields(mapper, meta, groupNames(action.groups.write), kind === 'create'), 'write')
      : null;
  const used = [
    ...(reads === null ? [] : explained(action.groups.read, 'read', decided)),
    ...(write ? explained(action.groups.write, 'write', decided) : []),
  ];
  return {
    groups: used,
    absent: [read, aggregated, write].flatMap((each) => each?.absent ?? []),
    read: read && innermostPaths(read.fields),
    sent,
    write: write && innermostPaths(write.fields),
  };
}

/** The fields that aggregates can name, and the fields around them. */
function aggregatedFields(plan: FieldPlan, list: ListDeclaration | null): readonly PlannedField[] {
  const names = aggregateNames(list).map(({ field }) => aggregatedPath(plan, field));
  return readableFields(plan).filter(({ path }) => names.some((name) => name === path || name.startsWith(`${path}.`)));
}

/** The decision about a role: about the row of the path or the rows of a list, and about rows inside the response. */
interface Decision {
  readonly own: CheckStep | null;
  readonly inside: CheckStep | null;
}

type Decisions = (role: string) => Decision;

function decisionsIn(steps: readonly Step[], single: boolean): Decisions {
  const checks = steps.filter((step): step is CheckStep => step.kind === 'check' && step.isForGroups);
  return (role) => {
    const about = checks.filter(({ roles }) => roles.some((each) => each.role === role));
    const inside = about.findLast(({ subject }) => subject === null) ?? null;
    const own = about.findLast(({ subject }) => subject !== null) ?? null;
    // a role that ignores the row is checked once, without it
    return { own: single ? (own ?? inside) : inside, inside: inside ?? own };
  };
}

function explained(groups: readonly DeclaredGroup[], use: 'read' | 'write', decided: Decisions): ExplainedGroup[] {
  return groups.map(({ name, role }) => {
    if (role === null) return { use, name, role, applies: true, appliesInside: true, reason: null };
    const { inside, own } = decided(role);
    const applies = own?.granted ?? null;
    return {
      use,
      name,
      role,
      applies,
      appliesInside: inside?.granted ?? null,
      reason: applies === false ? deniedBy(own, role) : null,
    };
  });
}

function deniedBy(check: CheckStep | null, role: string): string | null {
  const denied = check?.roles.find((each) => each.role === role && each.granted === false);
  return check && denied ? votesText(denied, check) : null;
}

/** Divides the fields of an action into those of the caller, and those that a role keeps from the caller. */
function limitedTo(groups: GroupsDeclaration, decided: Decisions) {
  return (fields: readonly PlannedField[], use: 'read' | 'write') => {
    const absent: AbsentField[] = [];
    const labels: string[] = [];
    const kept = fields.filter((field) => {
      if (labels.some((label) => field.label.startsWith(`${label}.`))) return false;
      const roles = rolesOfProperty(field.meta.properties[field.property as never] as EntityProperty, groups[use]);
      const checks = roles.map((role) => ({ role, check: decided(role)[field.isEmbedded ? 'inside' : 'own'] }));
      if (roles.length === 0 || checks.some(({ check }) => check?.granted)) return true;
      const reasons = checks.flatMap(({ check, role }) => deniedBy(check, role) ?? []);
      absent.push({ path: field.path, use, roles, reason: reasons.length > 0 ? reasons.join('; ') : null });
      labels.push(field.label);
      return false;
    });
    return { fields: kept, absent };
  };
}
