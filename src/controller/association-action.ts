import type { EntityMetadata } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import { accessorsFor } from '../change/accessors.ts';
import { addOrRemove, inTransaction, lockRow } from '../change/add-remove.ts';
import { countLinksOf } from '../change/link-versions.ts';
import { problem, violationsProblem } from '../errors.ts';
import { metaOfEntity, modelName } from '../model/hierarchy.ts';
import { JsonReply } from '../response/json-reply.ts';
import { heedAfterCommit } from './after-commit.ts';
import { heed } from './hooks.ts';
import { bodyOf } from './index-action.ts';
import { checkPrecondition, requirePrecondition } from './precondition.ts';
import { stateOf } from './request-state.ts';
import type { ApiRuntime } from './runtime.ts';

export interface AddRemove {
  readonly property: string;
  readonly targets: readonly EntityMetadata[];
  readonly groups?: readonly string[] | undefined;
}

/** Adds to or removes from an association of an entity that was fetched and access to which was granted. */
export async function addRemoveAction(
  runtime: ApiRuntime,
  action: string,
  request: ApiRequest,
  entity: object,
  { property, targets, groups }: AddRemove,
): Promise<JsonReply> {
  const what = whatToDo(request.method);
  requirePrecondition(runtime, request);
  const { framework, hooks } = runtime;
  const state = stateOf(request, framework.mapper);
  const { em } = state;
  const meta = metaOfEntity(framework.mapper, entity);
  const accessors = accessorsFor(meta, property);
  if (!accessors)
    throw new Error(`${meta.className} has no association "${property}" and no methods to add to it and remove from it`);
  const body = bodyOf(request);
  countLinksOf(entity);
  const result = await inTransaction(em, async () => {
    if (!(await lockRow(em, entity))) throw problem('entity_not_found', { model: modelName(meta) });
    checkPrecondition(runtime, request, entity);
    const item = await framework.associations.item(meta, property, targets, body, { em, request });
    const given = await addOrRemove(em, entity, item, accessors, what);
    const violations = await hooks.validate(entity);
    if (violations.length > 0) throw violationsProblem(violations);
    await heed(hooks.onAfterValidation(action, request, entity));
    await em.flush();
    return given;
  });
  await heedAfterCommit(state, () => hooks.onAfterFlush(action, request, entity));
  return new JsonReply(result, groups ? { groups } : {});
}

function whatToDo(method: string): 'add' | 'remove' {
  if (method === 'POST') return 'add';
  if (method === 'DELETE') return 'remove';
  throw problem('method_not_supported');
}
