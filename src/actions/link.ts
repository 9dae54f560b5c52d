import type { EntityMetadata } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import { type Accessors, accessorsFor } from '../change/accessors.ts';
import { addOrRemove, loadTouched } from '../change/add-remove.ts';
import { problem } from '../errors.ts';
import { JsonReply } from '../response/json-reply.ts';
import type { LinkEdit, LinkStore } from '../store/link-store.ts';
import type { Admission } from '../store/port.ts';
import { stateOf } from '../store/request-state.ts';
import { missing } from './admission.ts';
import { runAfterCommit } from './after-commit.ts';
import { bodyOf, validated } from './create.ts';
import { requirePrecondition } from './precondition.ts';
import type { ApiRuntime } from './start/runtime.ts';

export interface Link {
  readonly property: string;
  readonly targets: readonly EntityMetadata[];
  readonly groups?: readonly string[] | undefined;
}

/**
 * Adds to or removes from an association of the row that access was granted to: resolve the item → add or remove → validate → write.
 * Adding an item that is there, or removing one that is not, changes nothing and calls nothing.
 */
export async function link(
  api: ApiRuntime,
  store: Pick<LinkStore, 'change'>,
  request: ApiRequest,
  admission: Admission,
  { property, targets, groups }: Link,
): Promise<JsonReply> {
  const what = whatToDo(request.method);
  requirePrecondition(api, request);
  const { framework, hooks, overrides } = api;
  const { action } = admission;
  const state = stateOf(request, framework.mapper);
  let isChanged = false;
  const accessorsOf = (entity: object): Accessors => {
    const meta = framework.metaOf(entity);
    const accessors = accessorsFor(meta, property);
    if (accessors) return accessors;
    throw new Error(`${meta.className} has no association "${property}" and no methods to add to it and remove from it`);
  };
  const edit: LinkEdit = {
    resolve: async (entity) => {
      const { em } = state;
      const accessors = accessorsOf(entity);
      const item = await framework.associations.item(framework.metaOf(entity), property, targets, bodyOf(request), {
        em,
        request,
      });
      await loadTouched(em, entity, item, accessors);
      return item;
    },
    apply: async (entity, item) => {
      const { returned, changed } = await addOrRemove(entity, item, accessorsOf(entity), what);
      if (changed) await validated(api, action, request, entity);
      isChanged = changed;
      return { returned, changed };
    },
  };
  const linked = await store.change(request, admission, what, edit);
  if (!linked) throw missing(api, request);
  if (isChanged && overrides.has('onAfterFlush'))
    await runAfterCommit(state, () => hooks.onAfterFlush(action, request, linked.entity as object));
  return new JsonReply(linked.result, groups ? { groups } : {});
}

function whatToDo(method: string): 'add' | 'remove' {
  if (method === 'POST') return 'add';
  if (method === 'DELETE') return 'remove';
  throw problem('method_not_supported');
}
