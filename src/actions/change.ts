import type { ApiRequest } from '../access/user.ts';
import { JsonReply } from '../response/json-reply.ts';
import type { Admission } from '../store/port.ts';
import { groupsOf, stateOf } from '../store/request-state.ts';
import type { WriteStore, Written } from '../store/write-store.ts';
import { missing } from './admission.ts';
import { runAfterCommit } from './after-commit.ts';
import { bodyOf, validated } from './create.ts';
import { refuseUndeclared } from './parameters.ts';
import { requirePrecondition } from './precondition.ts';
import type { ApiRuntime } from './start/runtime.ts';

/** `_entity` PATCH and PUT, once access was granted: deserialize → validate → write, on the row that was checked. */
export async function change(
  api: ApiRuntime,
  store: Pick<WriteStore, 'change'>,
  request: ApiRequest,
  admission: Admission,
  mode: 'patch' | 'replace',
): Promise<Written> {
  refuseUndeclared(request);
  requirePrecondition(api, request);
  const { framework, hooks } = api;
  const state = stateOf(request, framework.mapper);
  const groups = groupsOf(request, framework.mapper);
  const changed = await store.change(request, admission, {
    mode,
    apply: async (entity) => {
      const { violations } = await framework
        .deserializer(groups)
        .update(entity, bodyOf(request), mode, { em: state.em, request });
      await validated(api, '_entity', request, entity, violations);
    },
    check: (entity) => validated(api, '_entity', request, entity),
  });
  if (!changed) throw missing(api, request);
  await runAfterCommit(state, () => hooks.afterCommit('_entity', request, changed));
  return changed;
}

/** `_entity` DELETE, once access was granted. */
export async function remove(
  api: ApiRuntime,
  store: Pick<WriteStore, 'remove'>,
  request: ApiRequest,
  admission: Admission,
): Promise<JsonReply> {
  refuseUndeclared(request);
  requirePrecondition(api, request);
  const { framework, hooks } = api;
  const removed = await store.remove(request, admission);
  if (!removed) throw missing(api, request);
  const state = stateOf(request, framework.mapper);
  await runAfterCommit(state, () => hooks.afterCommit('_entity', request, removed));
  return new JsonReply(undefined, { status: 204 });
}
