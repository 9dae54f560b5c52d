import { describe, expect, test } from 'vitest';
import type { Guard } from '../../src/access/guard.ts';
import {
  declaredNames,
  parametersOf,
  readBeforeRow,
  refuseUndeclared,
  withDefaults,
  withParameters,
} from '../../src/actions/parameters.ts';
import type { ApiRequest } from '../../src/index.ts';
import type { ParameterReader } from '../../src/serialization/parameter-reader.ts';

/** Reads the parameter `a`, which must be a number. */
function reader(): ParameterReader & { calls: number } {
  const own = {
    names: ['a'],
    calls: 0,
    read({ a }: Record<string, unknown>) {
      own.calls++;
      if (Number.isNaN(Number(a))) throw new Error('not a number');
      return { a: Number(a) };
    },
    defaults: () => ({ a: 7 }),
  };
  return own as unknown as ParameterReader & { calls: number };
}

const request = (query: object = {}): ApiRequest => ({ query, id: 'r' }) as unknown as ApiRequest;
const nothing = {} as never;

describe('a handler with parameters', () => {
  test.each(['handler', 'beforeBody'] as const)('binds them to the request: %s', (part) => {
    const own = reader();
    const seen: unknown[] = [];
    const inner = Object.assign((given: unknown) => void seen.push(given), {
      beforeBody: (given: unknown) => void seen.push(given),
    });
    const handler = withParameters(inner as never, own);
    const one = request({ a: '1' });
    if (part === 'handler') (handler as (...given: unknown[]) => unknown)(one, nothing);
    else handler.beforeBody?.(one);
    expect(seen).toEqual([one]);
    expect(declaredNames(one)).toEqual(['a']);
    expect([parametersOf(one), parametersOf(one), own.calls]).toEqual([{ a: 1 }, { a: 1 }, 1]);
    expect(() => refuseUndeclared(one)).not.toThrow();
  });

  test('does not require code before the body', () => {
    const handler = withParameters((() => 'done') as never, reader());
    const one = request({ a: '1' });
    handler.beforeBody?.(one);
    expect(parametersOf(one)).toEqual({ a: 1 });
    expect((handler as (...given: unknown[]) => unknown)(one, nothing)).toBe('done');
  });
});

/** A request that is bound to a reader. */
function bound(query: object, own = reader()): ApiRequest {
  const one = request(query);
  withParameters((() => undefined) as never, own).beforeBody?.(one);
  return one;
}

test('a request without declared parameters has none', () => {
  const one = request({ a: '1' });
  expect([declaredNames(one), Object.keys(parametersOf(one)), Object.getPrototypeOf(parametersOf(one))]).toEqual([[], [], null]);
  expect(() => refuseUndeclared(one)).toThrow('unknown query parameter "a"');
});

test('undeclared parameters are rejected', () => {
  expect(() => refuseUndeclared(bound({ a: '1', b: '2' }))).toThrow('unknown query parameter "b"');
});

test('the restriction of other rows gets the defaults of _entity, and the same request otherwise', () => {
  const plain = request();
  expect(withDefaults(plain, null)).toBe(plain);
  for (const [one, entity, expected] of [
    [plain, reader(), { a: 7 }],
    [bound({ a: '1' }), reader(), { a: 7 }],
    [bound({ a: '1' }), null, {}],
  ] as const) {
    const other = withDefaults(one, entity) as ApiRequest & { parameters: object };
    expect(other).not.toBe(one);
    expect({ ...other.parameters }).toEqual(expected);
    expect(Object.keys(other)).toEqual(['parameters']);
    expect(other.id).toBe('r');
  }
});

describe('malformed parameters', () => {
  const guardOf = (readsSubject: boolean, isGranted = true) => {
    const checked: unknown[] = [];
    const check = async (...given: unknown[]) => {
      checked.push(given);
      if (!isGranted) throw new Error('denied');
    };
    return { checked, guard: { readsSubject, check } as unknown as Guard };
  };
  const user = { id: 1, roles: [] };

  test('are reported only to callers with the role, if it does not depend on the row', async () => {
    const one = bound({ a: 'x' });
    const denied = guardOf(false, false);
    await expect(readBeforeRow(one, denied.guard, user)).rejects.toThrow('denied');
    expect(denied.checked).toEqual([[null, user, one]]);
    await expect(readBeforeRow(one, guardOf(false).guard, user)).rejects.toThrow('not a number');
    const bySubject = guardOf(true, false);
    await expect(readBeforeRow(one, bySubject.guard, user)).rejects.toThrow('not a number');
    expect(bySubject.checked).toEqual([]);
  });

  test('cause the only access check before the row is read', async () => {
    const { checked, guard } = guardOf(false, false);
    await readBeforeRow(bound({ a: '1' }), guard, user);
    expect(checked).toEqual([]);
  });
});
