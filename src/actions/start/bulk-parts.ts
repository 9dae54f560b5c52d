import type { ApiRequest } from '../../access/user.ts';
import type { ActionDeclaration, ApiDeclaration, BulkMethod, HttpMethod, Path } from '../../declaration/types.ts';
import { isTurnLong, nextTurn } from '../../event-loop.ts';
import type { WriteStore } from '../../store/write-store.ts';
import type { BulkActions } from '../bulk/bulk.ts';
import { type ControllerClass, isOverridden } from '../controller/controller-class.ts';
import { type ApiRuntime, userOf } from './runtime.ts';
import type { WritePlanning } from './write-parts.ts';

/** The parts of `_index` that handle lists of rows. */
interface BulkParts {
  /** Checks access before the rows are read; null if that is the check of POST. */
  readonly admit: ((request: ApiRequest) => unknown) | null;
  /** Whether a body that is not a list is handled otherwise. */
  readonly isOptional: boolean;
  act(request: ApiRequest, store: WriteStore): unknown;
}

/** Makes the parts of a method of `_index` that accepts lists; null if it does not. */
export function bulkParts(
  api: ApiRuntime,
  { bulk }: ActionDeclaration,
  method: HttpMethod,
  format: string,
  planning: WritePlanning | null,
): BulkParts | null {
  if (!bulk?.methods.some((each) => each === method)) return null;
  let loading: Promise<BulkActions> | null = null;
  const executor = planning?.executor ?? null;
  // loaded with the first list
  const load = () => {
    loading ??= import('../bulk/bulk.ts').then(({ BulkActions: Actions }) => new Actions(api, bulk.maxItems, executor));
    return loading;
  };
  const act = async (request: ApiRequest, store: WriteStore) => {
    const actions = await load();
    if (isTurnLong()) await nextTurn();
    return actions.run(method as BulkMethod, request, store, format);
  };
  if (method === 'POST') return { admit: null, isOptional: bulk.single, act };
  const guard = api.itemGuardOf(method);
  // roles that depend on the row are checked with each row
  const admit = (request: ApiRequest) => (guard.readsSubject ? undefined : guard.check(null, userOf(request), request));
  return { admit, isOptional: false, act };
}

interface Findings {
  add(path: Path, message: string, part?: 'key'): void;
}

/** Reports lists that code of the controller would have to handle. */
export function checkBulk(apis: readonly ApiDeclaration[], findings: Findings): void {
  for (const { actions, controller } of apis) {
    const type = controller?.value as (ControllerClass & { readonly name: string }) | undefined;
    const action = actions.find(({ bulk }) => bulk !== null);
    if (!type || !action?.bulk) continue;
    const at = [...action.path, 'bulk'];
    const changes = action.bulk.methods.some((method) => method !== 'POST');
    if (isOverridden(type, 'indexApi'))
      findings.add(at, `${type.name} overrides indexApi, which does not handle lists; remove "bulk", or the method`, 'key');
    else if (changes && isOverridden(type, 'getEntity'))
      findings.add(
        at,
        `${type.name} overrides getEntity, which loads one row at a time; remove PATCH and DELETE from "bulk", or restrict rows with customizeQuery instead`,
        'key',
      );
  }
}
