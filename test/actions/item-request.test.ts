import { expect, test } from 'vitest';
import { isItem, itemRequest } from '../../src/actions/bulk/item-request.ts';
import type { ApiRequest } from '../../src/index.ts';

/** A request whose parts are accessors, as some are in Fastify. */
class Request {
  readonly own = { params: { a: '1' }, headers: { b: '2' }, body: [1, 2] };
  get params() {
    return this.own.params;
  }
  get headers() {
    return this.own.headers;
  }
  get body() {
    return this.own.body;
  }
  method = 'PATCH';
}

test('the request of an item has its own body, and everything else of the whole request', () => {
  const request = new Request() as unknown as ApiRequest;
  const body = { id: 1 };
  const item = itemRequest(request, { body });
  expect([item.body, item.params, item.headers, item.method]).toEqual([body, { a: '1' }, { b: '2' }, 'PATCH']);
  expect(request.body).toEqual([1, 2]);
  expect([isItem(item), isItem(request)]).toEqual([true, false]);
  expect(Object.keys(item)).toEqual(['body']);
});

test('the request of an item can have its own path parameters and headers, and code may replace its body', () => {
  const request = new Request() as unknown as ApiRequest;
  const item = itemRequest(request, { body: {}, params: { id: '7' }, headers: { 'if-match': '"a"' } });
  expect([item.params, item.headers]).toEqual([{ id: '7' }, { 'if-match': '"a"' }]);
  expect([request.params, request.headers]).toEqual([{ a: '1' }, { b: '2' }]);
  (item as { body: unknown }).body = { other: true };
  expect(item.body).toEqual({ other: true });
});
