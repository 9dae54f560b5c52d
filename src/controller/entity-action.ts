import type { EntityMetadata } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import { inTransaction, lockRow } from '../change/add-remove.ts';
import { flush, stillReferenced } from '../change/conflict.ts';
import type { RequestEntityManager } from '../database/mapper.ts';
import { problem, violationsProblem } from '../errors.ts';
import { metaOfEntity, modelName } from '../model/hierarchy.ts';
import { hasRules } from '../model/own-code.ts';
import { versionOf } from '../model/version.ts';
import { holdRow } from '../query/hold-row.ts';
import { JsonReply } from '../response/json-reply.ts';
import { checkParameters } from '../response/page-request.ts';
import { heedAfterCommit } from './after-commit.ts';
import { heed } from './hooks.ts';
import { bodyOf, laterViolations } from './index-action.ts';
import { outdated, requirePrecondition } from './precondition.ts';
import { stateOf } from './request-state.ts';
import type { ApiRuntime } from './runtime.ts';

/** `_entity`, once the entity was fetched and access to it granted. */
export function entityAction(runtime: ApiRuntime, request: ApiRequest, entity: object): Promise<unknown> {
  checkParameters(request.query as Record<string, unknown>, []);
  switch (request.method) {
    case 'GET':
    case 'HEAD':
      return Promise.resolve(entity);
    case 'PATCH':
      return change(runtime, request, entity, 'patch');
    case 'PUT':
      return change(runtime, request, entity, 'replace');
    case 'DELETE':
      return remove(runtime, request, entity);
    default:
      throw problem('method_not_supported');
  }
}

async function change(runtime: ApiRuntime, request: ApiRequest, entity: object, mode: 'patch' | 'replace'): Promise<object> {
  requirePrecondition(runtime, request);
  const { framework, hooks } = runtime;
  const state = stateOf(request, framework.mapper);
  const { em } = state;
  const apply = async () => {
    const { violations: known } = await framework.deserializer().update(entity, bodyOf(request), mode, { em, request });
    const violations = [...known, ...(await laterViolations(hooks.validate(entity), known))];
    if (violations.length > 0) throw violationsProblem(violations);
    await heed(hooks.onAfterValidation('_entity', request, entity));
  };
  const judgedWhole = isJudgedWhole(runtime, metaOfEntity(framework.mapper, entity));
  if (!judgedWhole) await apply();
  await inTransaction(em, async () => {
    if (judgedWhole) {
      if (!(await lockRow(em, entity))) throw problem('entity_not_found', { model: modelName(runtime.meta) });
      await apply();
    } else await hold(runtime, request, em, entity);
    await flush(em);
  });
  await heedAfterCommit(state, () => hooks.onAfterFlush('_entity', request, entity));
  return entity;
}

/**
 * Whether rules look at more than what a request changes. Then two changes that are right each by itself could be wrong together, so
 * that the row is held while they are looked at; where it has a version, the later of the two is found out by that.
 */
function isJudgedWhole({ hasOwnValidation }: ApiRuntime, meta: EntityMetadata): boolean {
  return (hasOwnValidation || hasRules(meta)) && versionOf(meta) === null;
}

async function remove(runtime: ApiRuntime, request: ApiRequest, entity: object): Promise<JsonReply> {
  requirePrecondition(runtime, request);
  const { framework, hooks } = runtime;
  const state = stateOf(request, framework.mapper);
  const { em } = state;
  try {
    await inTransaction(em, async () => {
      await hold(runtime, request, em, entity);
      await em.remove(entity).flush();
    });
  } catch (error) {
    throw await stillReferenced(error, entity, em, framework.mapper);
  }
  await heedAfterCommit(state, () => hooks.onAfterFlush('_entity', request, entity));
  return new JsonReply(undefined, { status: 204 });
}

/** Who removed the row meanwhile was first: there is nothing left to write to. The same holds for who changed its version. */
async function hold({ meta }: ApiRuntime, request: ApiRequest, em: RequestEntityManager, entity: object): Promise<void> {
  const held = await holdRow(em, entity);
  if (!held) throw problem('entity_not_found', { model: modelName(meta) });
  if (!held.isAsRead) throw outdated(meta, request);
}
