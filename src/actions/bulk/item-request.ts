import type { ApiRequest } from '../../access/user.ts';

const itemKey = Symbol('item');

/** The parts of a request that an item of its list replaces. */
interface Item {
  readonly body: Record<string, unknown>;
  readonly params?: object;
  readonly headers?: ApiRequest['headers'];
}

/** The request of one item of a list, as it would be sent for this item alone. It shares everything else with the whole request. */
export function itemRequest(request: ApiRequest, { body, headers, params }: Item): ApiRequest {
  const item = Object.create(request) as ApiRequest;
  // not assigned: some are accessors of the request
  const set = (name: string | symbol, value: unknown) =>
    Object.defineProperty(item, name, { value, writable: true, enumerable: true });
  set(itemKey, true);
  set('body', body);
  if (params) set('params', params);
  if (headers) set('headers', headers);
  return item;
}

/** Whether a request is one item of a list. */
export function isItem(request: ApiRequest): boolean {
  return (request as { [itemKey]?: true })[itemKey] === true;
}
