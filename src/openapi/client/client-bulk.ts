import type { BulkMethod } from '../../declaration/types.ts';
import type { RouteRecord } from '../../route/record.ts';
import type { JsonSchema } from '../json-schema.ts';

interface Described {
  readonly summary: string;
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, { schema: JsonSchema }>> };
  readonly responses: Readonly<Record<string, { content?: Readonly<Record<string, { schema: JsonSchema }>> }>>;
}

const names: Readonly<Record<BulkMethod, string>> = { POST: 'createMany', PATCH: 'updateMany', DELETE: 'deleteMany' };

/** The name of the call that sends a list; null if the method accepts none. */
export function bulkCallName({ action }: RouteRecord, method: string): string | null {
  const bulk = action?.bulk?.methods.find((each) => each === method);
  return bulk ? names[bulk] : null;
}

/** An operation that accepts an object or a list, as one operation for each. */
export function bulkVariants<Operation extends Described>(
  record: RouteRecord,
  method: string,
  operation: Operation,
): readonly { readonly operation: Operation; readonly bulkName: string | null }[] {
  const bulkName = bulkCallName(record, method);
  if (bulkName === null) return [{ operation, bulkName }];
  if (method !== 'POST' || !record.action?.bulk?.single) return [{ operation, bulkName }];
  const summary = operation.summary.replace(/^Create an? /, 'Create several of: ');
  return [
    { operation: choice(operation, 0), bulkName: null },
    { operation: { ...choice(operation, 1), summary }, bulkName },
  ];
}

/** The operation with one of the two forms of its body and of its result. */
function choice<Operation extends Described>(operation: Operation, index: 0 | 1): Operation {
  const chosen = (content: Readonly<Record<string, { schema: JsonSchema }>> | undefined) =>
    content &&
    Object.fromEntries(
      Object.entries(content).map(([type, { schema }]) => {
        const options = (schema as { oneOf?: readonly JsonSchema[] }).oneOf;
        return [type, { schema: options?.[index] ?? schema }];
      }),
    );
  const responses = Object.entries(operation.responses).map(([status, response]) => [
    status,
    status.startsWith('2') && response.content ? { ...response, content: chosen(response.content) } : response,
  ]);
  return {
    ...operation,
    requestBody: operation.requestBody && { ...operation.requestBody, content: chosen(operation.requestBody.content) },
    responses: Object.fromEntries(responses),
  };
}
