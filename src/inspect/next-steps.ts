import type { Application } from '../application.ts';
import { accessorsFor } from '../change/accessors.ts';
import { metaOf } from '../model/hierarchy.ts';
import type { RouteRecord } from '../route/record.ts';
import type { Stopped } from './recorder.ts';
import { isOverridden } from './route-action.ts';

/** The status of a write that succeeds; null where the application's own code decides. */
export function statusOf({ action, handler }: RouteRecord, method: string): number | null {
  if (handler === 'indexApi') return 201;
  if (handler === 'entityApi') return method === 'DELETE' ? 204 : 200;
  return action?.association && handler === 'addRemoveApi' ? 200 : null;
}

/** What follows once a write goes on, in order. */
export function nextSteps(
  record: RouteRecord,
  method: string,
  before: Stopped['before'],
  application: Application,
): readonly string[] {
  if (before === 'handler') return [`${record.controller}.${record.handler}, which is not run: it may do more than write`];
  const hook = (name: 'onAfterValidation' | 'onAfterFlush' | 'onBeforeSerialize') =>
    record.api && isOverridden(record.api, name) ? [`${record.controller}.${name}`] : [];
  const later = [...hook('onAfterFlush'), ...hook('onBeforeSerialize')];
  if (record.handler === 'entityApi' && method === 'DELETE')
    return ['delete the row, in one transaction', ...later, 'answer 204'];
  const reading = record.action?.association
    ? ['hold the row', 'find the item that the body names', changeOf(record, method, application)]
    : ['read the body within the group write'];
  const write = record.handler === 'indexApi' ? 'insert the row' : 'update the row';
  return [
    ...(before === 'body' ? [...reading, 'validate'] : []),
    ...hook('onAfterValidation'),
    record.action?.association ? 'write what changed, and commit' : `${write}, in one transaction`,
    ...later,
    `answer ${statusOf(record, method)} with ${record.action?.association ? 'the item' : 'the row'} in the group read`,
  ];
}

/** `Course.addTag` */
function changeOf({ action, api }: RouteRecord, method: string, { mapper }: Application): string {
  const what = method === 'POST' ? 'add' : 'remove';
  const property = action?.association?.property ?? '';
  const meta = api && metaOf(mapper, api.class.value);
  const own = meta ? accessorsFor(meta, property)?.methods.find((name) => name.startsWith(what)) : undefined;
  return own ? `${meta?.className}.${own}` : `${what} it ${what === 'add' ? 'to' : 'from'} ${property}`;
}
