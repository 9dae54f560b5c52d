import type { EntityMetadata } from '@mikro-orm/core';
import { hasHooks, isOverridden } from '../actions/controller/controller-class.ts';
import type { ActionDeclaration, ApiDeclaration, HttpMethod } from '../declaration/types.ts';
import { groupNames, inGroups } from '../model/groups.ts';
import { metaOf } from '../model/hierarchy.ts';
import { isComposite, keyOf } from '../model/identifier.ts';
import { versionOf } from '../model/version.ts';
import { EntityLocation } from '../route/location.ts';
import { orderRecords } from '../route/order.ts';
import type { RouteRecord } from '../route/record.ts';
import { isExport } from '../serialization/formats.ts';
import { type OperationIds, operationIds } from './operation-ids.ts';
import type { Described } from './schemas/schemas.ts';

/** One method of a route in one format, with the facts for its description. */
export type Operation = ReturnType<typeof operationOf>;

/** Every operation of some routes, in matching order. */
export function operationsOf(described: Described, records: readonly RouteRecord[]): readonly Operation[] {
  const ids = operationIds(records);
  const places = new Map<ApiDeclaration, EntityLocation | null>();
  const placeOf = (api: ApiDeclaration) => {
    if (!places.has(api)) places.set(api, EntityLocation.of(described.records, api));
    return places.get(api) as EntityLocation | null;
  };
  return orderRecords(records).flatMap((record) =>
    record.formats.flatMap((format) =>
      record.methods
        .filter((method) => isSupported(record, method))
        .map((method) => operationOf(described, record, method, format, ids, placeOf)),
    ),
  );
}

function operationOf(
  { declaration, mapper }: Described,
  record: RouteRecord,
  method: HttpMethod,
  format: string,
  ids: OperationIds,
  placeOf: (api: ApiDeclaration) => EntityLocation | null,
) {
  const { action, api, roles, single } = record;
  const { controller = null } = api ?? {};
  const meta = api && metaOf(mapper, api.class.value);
  const reads = isRead(method);
  const isSupplied = isDefault(action);
  const needsIfMatch = api?.requireIfMatch && meta && versionOf(meta) !== null && (isSupplied || action?.association);
  return {
    id: ids(record, method, format),
    record,
    method,
    format,
    /** The model of the API; null for routes that a service loads. */
    meta,
    roles: roles[method] ?? [],
    reads,
    /** Whether the default action responds, and no method of a controller replaces it. */
    isSupplied,
    /** Whether application code takes part in the response, and can change it. */
    hasOwnCode: !isSupplied || (controller !== null && hasHooks(controller.value as never)),
    /** Whether the response has an ETag. An export has none: it is sent while it is read. */
    isTagged: reads && !(isSupplied && action?.kind === 'index' && isExport(format)),
    ifMatch: !api || !single || reads ? null : needsIfMatch ? ('IfMatchRequired' as const) : ('IfMatch' as const),
    takesKey: declaration.server.idempotency !== null && action !== null && !reads,
    /** Whether the response to a creation has a `Location`: always, or only if the new id fits into the path of an entity. */
    location: api && meta && isSupplied && method === 'POST' ? locationIn(placeOf, record, meta) : null,
    isLimited: (api ?? declaration.server).rateLimit !== null,
  };
}

function locationIn(
  placeOf: (api: ApiDeclaration) => EntityLocation | null,
  record: RouteRecord,
  meta: EntityMetadata,
): 'always' | 'maybe' | null {
  const api = record.api as ApiDeclaration;
  const loadsItself = api.controller !== null && isOverridden(api.controller.value as never, 'getEntity');
  const location = loadsItself ? null : placeOf(api);
  if (!location) return null;
  if (isComposite(meta)) return 'maybe';
  const key = keyOf(meta);
  // an id that the caller chooses may be negative
  const isCounted = key.autoincrement === true && !inGroups(key, groupNames(record.action?.groups.write ?? []));
  return isCounted && location.isCertainFor(record) ? 'always' : 'maybe';
}

function isRead(method: HttpMethod): boolean {
  return method === 'GET' || method === 'HEAD';
}

function isDefault(action: ActionDeclaration | null): boolean {
  return action !== null && action.kind !== 'custom' && action.controllerAction === null;
}

/** Whether the action supports a method. Enabled methods that it does not support return 400. */
function isSupported({ action }: RouteRecord, method: HttpMethod): boolean {
  if (action?.association) return method === 'POST' || method === 'DELETE';
  if (action?.bulk?.methods.some((each) => each === method)) return true;
  return !action || !isDefault(action) || isRead(method) || (action.kind === 'index') === (method === 'POST');
}

/** The API that a route belongs to, or the service that loaded it. */
export function ownerOf({ api, controller }: RouteRecord): string {
  return api?.name ?? controller;
}
