import { expect, test } from 'vitest';
import { isKnown, taggedResponse } from '../../src/actions/tagged.ts';

type Any = any;

/** What was done with a reply, in order. */
function exchange(headers: object, admits = true) {
  const done: unknown[] = [];
  const reply: Any = {
    header: (name: string, value: string) => done.push([name, value]),
    code: (status: number) => ({ send: (...body: unknown[]) => done.push([status, ...body]) }),
  };
  const responses: Any = {
    admit: (...given: unknown[]) => {
      done.push(given.map((one) => (one === reply ? 'reply' : one === request ? 'request' : one)));
      if (!admits) throw new Error('no room');
    },
  };
  const request: Any = { headers };
  return { done, send: () => taggedResponse(responses, request, reply, '"t"', 'text/plain', 'body') };
}

test('a response is sent with its tag, once there is room for it', () => {
  for (const headers of [{}, { 'if-none-match': '"other"' }, { 'if-match': '"t"' }, { 'if-match': '*' }]) {
    const { done, send } = exchange(headers);
    expect(send()).toBe('body');
    expect(done).toEqual([
      ['request', 'reply', 'body'],
      ['etag', '"t"'],
      ['content-type', 'text/plain'],
    ]);
  }
  const { done, send } = exchange({}, false);
  expect(send).toThrow('no room');
  expect(done).toHaveLength(1);
});

test('a client that has the response gets 304, which needs no room', () => {
  const { done, send } = exchange({ 'if-none-match': 'W/"t"' }, false);
  expect(send()).toBeUndefined();
  expect(done).toEqual([['etag', '"t"'], [304]]);
});

test('a client that requires another tag gets 412', () => {
  for (const match of ['"other"', 'W/"t"', 'malformed', '']) {
    const { done, send } = exchange({ 'if-match': match });
    expect(send).toThrow('the response has the ETag "t" now');
    expect(done).toEqual([]);
  }
  expect(isKnown({}, '"t"')).toBe(false);
  expect(isKnown({ 'if-match': '"t"', 'if-none-match': '"t"' }, '"t"')).toBe(true);
});
