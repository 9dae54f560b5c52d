import type { EntityMetadata } from '@mikro-orm/core';
import type { GuardFor } from '../../access/guard.ts';
import type { ActionDeclaration, ApiDeclaration, GroupsDeclaration, HttpMethod } from '../../declaration/types.ts';
import { type Field, type FieldPlan, isSamePlan, planFields } from '../../model/field-plan.ts';
import { groupNames } from '../../model/groups.ts';
import { GroupGrants } from '../group-grants.ts';
import { writes } from '../respond.ts';
import type { Framework } from './runtime.ts';

/** Makes the decisions about groups of an API, one for each action and kind of method. */
export function grantsFor(
  api: ApiDeclaration,
  meta: EntityMetadata,
  { declaration, mapper }: Framework,
  guardFor: GuardFor,
  /** Whether a method of the controller handles `_entity`, and may respond to DELETE with rows. */
  handlesEntity: boolean,
): (action: string, method: HttpMethod) => GroupGrants {
  const granting = { mapper, guardFor, bound: declaration.groups };
  const made = new Map<string, GroupGrants>();
  return (name, method) => {
    const action = api.actions.find((candidate) => candidate.name === name);
    const isRemoval = method === 'DELETE' && (action?.kind === 'entity' ? !handlesEntity : isBulk(action, method));
    const declared = groupsFor(action, action?.groups ?? api.groups, method, isRemoval);
    const key = `${name} ${declared.form}`;
    let grants = made.get(key);
    if (!grants) {
      const isDefault = action?.kind === 'index' || action?.kind === 'entity';
      grants = new GroupGrants(declared.groups, granting, !isDefault || dependsInside(declared.groups));
      made.set(key, grants);
    }
    return grants;
  };

  /** Whether rows inside a response have fields in groups that depend on roles. */
  function dependsInside({ read }: GroupsDeclaration): boolean {
    if (read.every(({ role }) => role === null)) return false;
    const all = groupNames(read);
    const plan = planFields(mapper, meta, all);
    return (
      !isSamePlan(
        plan,
        planFields(
          mapper,
          meta,
          all,
          groupNames(read, () => false),
        ),
      ) || isComputed(plan)
    );
  }
}

function isBulk(action: ActionDeclaration | undefined, method: HttpMethod): boolean {
  return action?.bulk?.methods.some((each) => each === method) === true;
}

/** The groups that a method needs: reads and links take no fields from bodies, and a removed row is not sent. */
function groupsFor(
  action: ActionDeclaration | undefined,
  { read, write }: GroupsDeclaration,
  method: HttpMethod,
  isRemoval: boolean,
): { readonly form: string; readonly groups: GroupsDeclaration } {
  if (isRemoval) {
    const open = ({ role }: { readonly role: string | null }) => role === null;
    return { form: 'removes', groups: { read: read.filter(open), write: write.filter(open) } };
  }
  if (!writes(method) || action?.association) return { form: 'reads', groups: { read, write: [] } };
  return { form: 'writes', groups: { read, write } };
}

/** Whether code of a model makes a field, and so may return rows. */
function isComputed({ variants }: FieldPlan): boolean {
  const computes = (field: Field): boolean =>
    Boolean(field.metadata.serializer) || (field.kind === 'scalar' ? field.computed : isComputed(field.plan));
  return [...variants.values()].some((fields) => fields.some(computes));
}
