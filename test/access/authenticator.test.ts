import { describe, expect, test } from 'vitest';
import { ApiKeyAuthenticator } from '../../src/access/api-keys.ts';
import {
  Authenticator,
  authenticateWith,
  challengeOf,
  credentialHeaders,
  isAuthenticatorClass,
  isOfApplication,
  isUser,
} from '../../src/access/authenticator.ts';
import { identityOf } from '../../src/access/identity.ts';
import type { User } from '../../src/access/user.ts';
import { Problem, problem } from '../../src/errors.ts';
import { fakeRequest, thrownBy } from './fake-request.ts';

class Scripted extends Authenticator {
  asked = 0;
  readonly #answer: () => unknown;

  constructor(answer: () => unknown) {
    super();
    this.#answer = answer;
  }

  authenticate(): User | null {
    this.asked++;
    return this.#answer() as User | null;
  }
}

const answering = (answer: unknown) => new Scripted(() => answer);
const throwing = (error: unknown) =>
  new Scripted(() => {
    throw error;
  });
const ann = { id: 'ann', roles: ['ROLE_A'], email: 'ann@example.org' };
const request = fakeRequest();
const withHeader = fakeRequest({ authorization: 'Basic dTpw' });

describe('isAuthenticatorClass', () => {
  test('accepts only subclasses of Authenticator', () => {
    expect(isAuthenticatorClass(Scripted)).toBe(true);
    for (const value of [Authenticator, class {}, answering(null), () => null, null])
      expect(isAuthenticatorClass(value)).toBe(false);
  });
});

describe('an authenticator', () => {
  const keys = new ApiKeyAuthenticator([{ name: 'bot', key: 'robot-key', roles: [] }]);

  test('adds the headers that it reads to those that identify callers', () => {
    expect(credentialHeaders([])).toEqual([]);
    expect(credentialHeaders([answering(null)])).toEqual(['Authorization']);
    expect(credentialHeaders([answering(null), keys])).toEqual(['Authorization', 'X-Api-Key']);
  });

  test('is of the application, or built in', () => {
    expect([answering(null), keys].map(isOfApplication)).toEqual([true, false]);
  });

  test('gives its users an identity that those of others do not have', async () => {
    const named = { id: 'bot', roles: [] };
    const own = await authenticateWith([answering(named)], request);
    const byKey = await authenticateWith([keys], fakeRequest({ 'x-api-key': 'robot-key' }));
    expect(identityOf(own as User)).toBe('user class Scripted string bot');
    expect(identityOf(byKey as User)).toBe('user api key string bot');
  });
});

describe('authenticateWith', () => {
  test('returns no user and ignores the headers if the application has no authenticator', () => {
    expect(authenticateWith([], withHeader)).toBeNull();
  });

  test('returns no user without a credential', async () => {
    expect(authenticateWith([answering(null), answering(null)], request)).toBeNull();
    expect(await authenticateWith([answering(Promise.resolve(null))], request)).toBeNull();
  });

  test('returns the user of the first authenticator that finds one', async () => {
    const bob = { id: 'bob', roles: [] };
    expect(authenticateWith([answering(null), answering(ann), answering(bob)], withHeader)).toEqual(ann);
    const late = [answering(Promise.resolve(null)), answering(Promise.resolve(ann)), answering(Promise.resolve(bob))];
    expect(await authenticateWith(late, withHeader)).toEqual(ann);
  });

  test('rejects a wrong credential even if a valid one is sent too', async () => {
    const wrong = problem('invalid_credentials', { reason: 'no such session' });
    for (const first of [ann, Promise.resolve(ann)]) {
      const error = await thrownBy(() => authenticateWith([answering(first), throwing(wrong)], request));
      expect(error).toMatchObject({ code: 'invalid_credentials', status: 401 });
    }
  });

  test('rejects an Authorization header that no authenticator recognizes', async () => {
    for (const nobody of [null, Promise.resolve(null)]) {
      const error = await thrownBy(() => authenticateWith([answering(nobody)], withHeader));
      expect(error).toMatchObject({ code: 'invalid_credentials', status: 401 });
      expect(error.message).toContain('the scheme of the Authorization header is not supported');
      expect(error.headers).toEqual({ 'WWW-Authenticate': 'Bearer realm="api"' });
    }
    expect(await thrownBy(() => authenticateWith([answering(null)], fakeRequest({ authorization: '' })))).toMatchObject({
      status: 401,
    });
  });

  test('rethrows errors of an authenticator unchanged', async () => {
    const own = new Problem('invalid_credentials', 'no', { headers: { 'X-Hint': 'h', 'www-authenticate': 'Session' } });
    const bare = problem('invalid_credentials', { reason: 'no such session' });
    for (const error of [own, bare, problem('database_unavailable'), new Error('boom')]) {
      expect(await thrownBy(() => authenticateWith([throwing(error)], request))).toBe(error);
      expect(await thrownBy(() => authenticateWith([answering(Promise.reject(error))], request))).toBe(error);
    }
  });

  const nonUsers = [
    undefined,
    true,
    'ann',
    {},
    [],
    { id: 'ann' },
    { roles: [] },
    { id: 'ann', roles: 'ROLE_A' },
    { id: 'ann', roles: [1] },
    { id: null, roles: [] },
    { id: Number.NaN, roles: [] },
    { id: {}, roles: [] },
    Object.assign(() => null, { id: 1, roles: [] }),
  ];
  test.each(nonUsers.map((answer) => [answer]))(
    'rejects %j as a user and reports an error of the authenticator',
    async (answer) => {
      for (const given of [answer, Promise.resolve(answer)]) {
        const error = await thrownBy(() => authenticateWith([answering(given)], request));
        expect(error).not.toBeInstanceOf(Problem);
        expect(error.message).toBe(
          'the authenticator Scripted must return null or a user { id, roles }: ' +
            'id is a string or a number, roles is a list of strings',
        );
      }
    },
  );

  test('treats null as no user', () => {
    expect(isUser(null)).toBe(false);
    expect(isUser({ id: 7, roles: [] })).toBe(true);
  });

  test('returns a frozen user with frozen roles and leaves the original plain object unchanged', () => {
    const own = { id: 7, roles: ['ROLE_A'] };
    const user = authenticateWith([answering(own)], request) as User;
    expect(user).toEqual(own);
    expect(Object.isFrozen(user) && Object.isFrozen(user.roles)).toBe(true);
    expect(Object.isFrozen(own) || Object.isFrozen(own.roles)).toBe(false);
  });

  test('freezes a class instance and keeps its class', () => {
    class Account {
      id = 7;
      roles = ['ROLE_A'];
      readonly #name = 'ann';
      greet() {
        return this.#name;
      }
    }
    const account = new Account();
    const user = authenticateWith([answering(account)], request) as unknown as Account;
    expect(user).toBe(account);
    expect(user.greet()).toBe('ann');
    expect(Object.isFrozen(user) && Object.isFrozen(user.roles)).toBe(true);
  });

  test('does not treat a user with a claim named then as a promise', () => {
    const user = { id: 7, roles: [], ...Object.fromEntries([['then', 'later']]) };
    expect(authenticateWith([answering(user)], request)).toEqual(user);
  });

  test('copies a frozen user whose roles are not frozen, but not a deeply frozen user', () => {
    const open = Object.freeze({ id: 7, roles: ['ROLE_A'] });
    expect(Object.isFrozen((authenticateWith([answering(open)], request) as User).roles)).toBe(true);
    const closed = Object.freeze({ id: 7, roles: Object.freeze(['ROLE_A']) });
    expect(authenticateWith([answering(closed)], request)).toBe(closed);
  });

  test('returns a user that it knows, whose kind is that of the last credential', () => {
    class Session extends Scripted {}
    const user = Object.freeze({ id: 7, roles: Object.freeze(['ROLE_A']) });
    for (const [authenticator, kind] of [
      [answering(user), 'Scripted'],
      [answering(user), 'Scripted'],
      [new Session(() => user), 'Session'],
    ] as const) {
      expect(authenticateWith([authenticator], request)).toBe(user);
      expect(identityOf(user)).toBe(`user class ${kind} number 7`);
    }
  });
});

describe('challengeOf', () => {
  test('returns the challenge of the first authenticator, or Bearer without authenticators', () => {
    class Session extends Scripted {
      override challenge() {
        return 'Session';
      }
    }
    expect(challengeOf([new Session(() => null), answering(null)])).toBe('Session');
    expect(challengeOf([])).toBe('Bearer realm="api"');
    expect(answering(null).challenge()).toBe('Bearer realm="api"');
  });
});
