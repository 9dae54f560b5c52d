import type { EntityMetadata } from '@mikro-orm/core';
import { hasHooks } from '../actions/api-controller.ts';
import type { ActionDeclaration, HttpMethod } from '../declaration/types.ts';
import { metaOf } from '../model/hierarchy.ts';
import { versionOf } from '../model/version.ts';
import { orderRecords } from '../route/order.ts';
import type { RouteRecord } from '../route/record.ts';
import { isExport } from '../serialization/formats.ts';
import type { Described } from './schemas.ts';

/** One method of a route in one format, with everything that decides how it is described. */
export interface Operation {
  readonly record: RouteRecord;
  readonly method: HttpMethod;
  readonly format: string;
  /** The model of the API; null for a route of the application's own. */
  readonly meta: EntityMetadata | null;
  readonly roles: readonly string[];
  readonly reads: boolean;
  /** The default action answers, and no method of a controller stands in for it. */
  readonly isSupplied: boolean;
  /** Code of the application takes part in the response, and can answer as it likes. */
  readonly hasOwnCode: boolean;
  /** The response has an ETag that a later request can be bound to: an export is sent while it is read, and has none. */
  readonly isTagged: boolean;
  readonly ifMatch: 'IfMatch' | 'IfMatchRequired' | null;
  readonly takesKey: boolean;
  readonly isLimited: boolean;
}

/** Every operation of some routes, in matching order. */
export function operationsOf(described: Described, records: readonly RouteRecord[]): readonly Operation[] {
  return orderRecords(records).flatMap((record) =>
    record.formats.flatMap((format) =>
      record.methods
        .filter((method) => isAnswered(record, method))
        .map((method) => operationOf(described, record, method, format)),
    ),
  );
}

function operationOf({ declaration, mapper }: Described, record: RouteRecord, method: HttpMethod, format: string): Operation {
  const { action, api, roles, single } = record;
  const { controller = null } = api ?? {};
  const meta = api && metaOf(mapper, api.class.value);
  const reads = isRead(method);
  const isSupplied = isDefault(action);
  const needsIfMatch = api?.requireIfMatch && meta && versionOf(meta) !== null && (isSupplied || action?.association);
  return {
    record,
    method,
    format,
    meta,
    roles: roles[method] ?? [],
    reads,
    isSupplied,
    hasOwnCode: !isSupplied || (controller !== null && hasHooks(controller.value as never)),
    isTagged: reads && !(isSupplied && action?.kind === 'index' && isExport(format)),
    ifMatch: !api || !single || reads ? null : needsIfMatch ? 'IfMatchRequired' : 'IfMatch',
    takesKey: declaration.server.idempotency !== null && action !== null && !reads,
    isLimited: (api ?? declaration.server).rateLimit !== null,
  };
}

function isRead(method: HttpMethod): boolean {
  return method === 'GET' || method === 'HEAD';
}

function isDefault(action: ActionDeclaration | null): boolean {
  return action !== null && action.kind !== 'custom' && action.controllerAction === null;
}

/** Whether a method is answered by anything but a refusal: one that is enabled where it means nothing is always 400. */
function isAnswered({ action }: RouteRecord, method: HttpMethod): boolean {
  if (action?.association) return method === 'POST' || method === 'DELETE';
  return !action || !isDefault(action) || isRead(method) || (action.kind === 'index') === (method === 'POST');
}

/** The API that a route belongs to, or the service that loaded it. */
export function ownerOf({ api, controller }: RouteRecord): string {
  return api?.name ?? controller;
}
