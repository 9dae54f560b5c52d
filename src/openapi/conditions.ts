import type { HttpMethod } from '../declaration/types.ts';
import type { RouteRecord } from '../route/record.ts';
import { isExport } from '../serialization/formats.ts';
import type { JsonSchema } from './json-schema.ts';

/** `*`, or tags as `ETag` has them. */
const tags: JsonSchema = {
  type: 'string',
  pattern: String.raw`^(?:\*|(?:W/)?"[!#-~]*"(?: *, *(?:W/)?"[!#-~]*")*)$`,
};

/** The headers of requests that operations refer to. */
const parameters = {
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description: 'The `ETag` that the entity must still have, or `*`; else it is 412 and nothing is changed.',
    schema: tags,
  },
  IfMatchRequired: {
    name: 'If-Match',
    in: 'header',
    required: true,
    description:
      'The `ETag` that the entity must still have, or `*`; else it is 412, and without it 428, and nothing is changed.',
    schema: tags,
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'The `ETag` of what the caller has already; if nothing has changed, it is 304.',
    schema: { type: 'string' },
  },
} satisfies Record<string, JsonSchema>;

/** Those that a document has use for. */
export function conditionParameters(used: ReadonlySet<ConditionParameter>): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => used.has(name as ConditionParameter)));
}

export type ConditionParameter = keyof typeof parameters;

export const notModified: JsonSchema = { description: 'What the caller has is what would be sent.' };

/** Whether an answer is known by a tag: what is read, unless it is sent while it is read. */
export function isTagged({ action }: RouteRecord, method: HttpMethod, format: string): boolean {
  return (
    (method === 'GET' || method === 'HEAD') && !(action?.kind === 'index' && action.controllerAction === null && isExport(format))
  );
}

/** Whether a change can be bound to a version. */
export function takesIfMatch({ api, single }: RouteRecord, method: HttpMethod): boolean {
  return api !== null && single && method !== 'GET' && method !== 'HEAD';
}

/** Whether it must be. */
export function needsIfMatch({ action, api }: RouteRecord, method: HttpMethod, isVersioned: boolean): boolean {
  if (!api?.requireIfMatch || !isVersioned || !action) return false;
  if (action.association) return method === 'POST' || method === 'DELETE';
  return action.kind === 'entity' && action.controllerAction === null && ['PATCH', 'PUT', 'DELETE'].includes(method);
}
