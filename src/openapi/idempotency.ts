import type { Declaration, HttpMethod } from '../declaration/types.ts';
import type { RouteRecord } from '../route/record.ts';
import type { JsonSchema } from './json-schema.ts';

const keyPattern = String.raw`^(?:[!#-~](?:[ -~]*[!-~])?|"(?:[ !#-\[\]-~]|\\["\\])+")$`;

export const keyParameters: Readonly<Record<string, JsonSchema>> = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'With the same key the same request is done once, and gets the same answer again. With another request it is 422. A UUID is a good one.',
    // as it is, or as a quoted string
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: keyPattern },
    example: '8e03978e-40d5-43e8-bc93-6894a57f9324',
  },
};

export const keyParameter: JsonSchema = { $ref: '#/components/parameters/IdempotencyKey' };

/** Whether a request can say by a key that it is to be done once. */
export function takesKey({ action, api }: RouteRecord, method: HttpMethod, { server }: Declaration): boolean {
  return server.idempotency !== null && api !== null && action !== null && method !== 'GET' && method !== 'HEAD';
}
