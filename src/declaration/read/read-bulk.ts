import type { Report } from '../report.ts';
import type { WrittenAction, WrittenApi } from '../schema/schema.ts';
import type { ActionDeclaration, BulkDeclaration, BulkMethod, NestedDeclaration, Path } from '../types.ts';
import { type HttpMethod, httpMethods } from '../vocabulary.ts';

const bulkMethods = ['POST', 'PATCH', 'DELETE'] as const satisfies readonly BulkMethod[];

/** The methods that accept lists; null if none does. `own` are the methods that were enabled for single rows. */
export function readBulk(
  { bulk, controller_action: handler }: Pick<WrittenAction, 'bulk' | 'controller_action'>,
  own: readonly HttpMethod[],
  kind: ActionDeclaration['kind'],
  path: Path,
  report: Report,
): BulkDeclaration | null {
  if (!bulk) return null;
  const at = [...path, 'bulk'];
  const refuse = (message: string) => report.add(at, message, 'key');
  if (kind !== 'index') {
    refuse('"bulk" is allowed for _index only, whose path has no id; move it there');
    return null;
  }
  if (handler !== null) refuse('"bulk" and "controller_action" exclude each other: Declarest handles lists; remove one of them');
  const methods = bulkMethods.filter((method) => bulk[method]);
  if (methods.length === 0 && !report.touches(at))
    refuse('no method of "bulk" is enabled; set one to true, for example "bulk: { POST: true }"');
  return { methods, single: own.includes('POST'), maxItems: bulk.max_items };
}

/** The methods of an action: those for single rows, and those for lists. */
export function bulkMethodsOf(own: readonly HttpMethod[], bulk: BulkDeclaration | null): readonly HttpMethod[] {
  return bulk ? httpMethods.filter((method) => own.includes(method) || bulk.methods.some((each) => each === method)) : own;
}

/**
 * Gives each bulk method a role: its own of `_index`, or that of the same method for single rows. If there is neither, nobody
 * has decided who may use it.
 */
export function withBulkRoles(actions: readonly ActionDeclaration[], report: Report): readonly ActionDeclaration[] {
  const entity = actions.find(({ kind }) => kind === 'entity');
  return actions.map((action) => {
    if (!action.bulk) return action;
    const roles = { ...action.roles };
    for (const method of action.bulk.methods) {
      if (typeof roles[method] === 'string') continue;
      const single = method === 'POST' ? (action.bulk.single ? action : undefined) : entity;
      if (single?.methods.includes(method)) {
        const role = single.roles[method];
        if (typeof role === 'string') roles[method] = role;
        continue;
      }
      const place = method === 'POST' ? '_index' : '_entity';
      report.add(
        [...action.path, 'bulk', method],
        `"bulk" has ${method}, but nothing declares who may use it: enable ${method} under "methods" of ${place}, whose roles then apply, or set "roles: { ${method}: … }" of _index`,
        'key',
      );
    }
    return { ...action, roles };
  });
}

export function readNested(written: WrittenApi['nested']): readonly NestedDeclaration[] {
  return written.map(({ key, path, value }) => ({
    names: String(key).split('.'),
    maxItems: value.max_items,
    role: value.role,
    path,
  }));
}
