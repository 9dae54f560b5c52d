import type { EntityMetadata } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import { type Accessors, accessorsFor, linkError } from '../change/accessors.ts';
import { addOrRemove, loadTouched } from '../change/add-remove.ts';
import { problem } from '../errors.ts';
import { isKindOf } from '../model/hierarchy.ts';
import { JsonReply } from '../response/json-reply.ts';
import type { LinkEdit, LinkStore } from '../store/link-store.ts';
import type { Admission } from '../store/port.ts';
import { stateOf } from '../store/request-state.ts';
import { missing } from './admission.ts';
import { runAfterCommit } from './after-commit.ts';
import { anyBodyOf, bodyOf, validated } from './create.ts';
import { requirePrecondition } from './precondition.ts';
import type { ApiRuntime } from './start/runtime.ts';

export interface Link {
  readonly property: string;
  readonly targets: readonly EntityMetadata[];
  readonly groups?: readonly string[] | undefined;
}

/**
 * Adds an item to an association of the admitted row, or removes it: resolve the item → add or remove → validate → write. Adding
 * an item that is there, or removing one that is not, changes nothing and calls nothing.
 */
export async function link(
  api: ApiRuntime,
  store: Pick<LinkStore, 'change'>,
  request: ApiRequest,
  admission: Admission,
  { property, targets, groups }: Link,
): Promise<JsonReply> {
  const verb = verbOf(request.method);
  requirePrecondition(api, request);
  const { framework, hooks } = api;
  const { action } = admission;
  const bound = `${api.api.name}.${action}`;
  const state = stateOf(request, framework.mapper);
  let isChanged = false;
  const checkTypes = (entity: object): void => {
    const trouble = linkError(framework.metaOf(entity), property, targets, [verb]);
    if (trouble) throw new TypeError(`${api.api.controller?.name ?? 'ApiController'}, action "${action}": ${trouble}`);
  };
  const accessorsOf = (entity: object, item: object): Accessors => {
    const types = targets.filter((target) => item instanceof target.class);
    const closest = types.reduce((a, b) => (isKindOf(a, b) ? a : b));
    return accessorsFor(framework.metaOf(entity), property, closest);
  };
  const edit: LinkEdit = {
    resolve: async (entity) => {
      const { em } = state;
      checkTypes(entity);
      const meta = framework.metaOf(entity);
      const { associations } = framework;
      const isOwn = associations.denormalizesBody(bound) || associations.denormalizes(meta, property);
      const body = isOwn ? anyBodyOf(request) : bodyOf(request);
      const item = await associations.item(meta, property, targets, body, { em, request }, bound);
      await loadTouched(em, entity, item, accessorsOf(entity, item));
      return item;
    },
    apply: async (entity, item) => {
      const { returned, changed } = await addOrRemove(entity, item, accessorsOf(entity, item), verb);
      if (changed) await validated(api, action, request, entity);
      isChanged = changed;
      return { returned, changed };
    },
  };
  const linked = await store.change(request, admission, verb, edit);
  if (!linked) throw missing(api, request);
  if (isChanged) await runAfterCommit(state, () => hooks.afterCommit(action, request, linked.entity as object));
  return new JsonReply(linked.result, groups ? { groups } : {});
}

function verbOf(method: string): 'add' | 'remove' {
  if (method === 'POST') return 'add';
  if (method === 'DELETE') return 'remove';
  throw problem('method_not_supported');
}
