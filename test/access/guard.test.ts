import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileGuard, rolesFor } from '../../src/access/guard.ts';
import type { User } from '../../src/access/user.ts';
import { type Vote, Voter } from '../../src/access/voter.ts';
import { createVoterRegistry } from '../../src/access/voter-registry.ts';
import { type HttpMethod, httpMethods } from '../../src/declaration/types.ts';
import { Problem } from '../../src/errors.ts';
import { fakeRequest, thrownBy } from './fake-request.ts';

class OwnerVoter extends Voter<{ owner: string }> {
  static override roles = ['SEE', 'EDIT'];
  static override loads = ['owner'];
  vote(_role: string, subject: { owner: string } | null, user: User | null): Vote {
    return subject?.owner === user?.id ? 'grant' : 'deny';
  }
}

class LateVoter extends Voter<{ owner: string }> {
  static override roles = ['LATE'];
  static override loads = ['owner', 'crew.captain'];
  async vote(_role: string, subject: { owner: string } | null, user: User | null): Promise<Vote> {
    return subject?.owner === user?.id ? 'grant' : 'deny';
  }
}

/** Has a say in a role that the built-in voter judges too. */
class EditorVoter extends Voter {
  static override roles = ['ROLE_SHARED'];
  vote(): Vote {
    return 'abstain';
  }
}

const registry = createVoterRegistry({
  voters: [new OwnerVoter(), new LateVoter(), new EditorVoter()],
  strategy: 'affirmative',
  roleHierarchy: { ROLE_ADMIN: ['ROLE_EDITOR'] },
});
const ann: User = { id: 'ann', roles: ['ROLE_ADMIN'] };
const bob: User = { id: 'bob', roles: [] };
const annsOwn = { owner: 'ann' };
const request = fakeRequest();

describe('a guard', () => {
  test('without roles is public and lets every caller pass', () => {
    const guard = compileGuard([], registry);
    expect(guard).toMatchObject({ public: true, roles: [], readsSubject: false, loads: [] });
    expect(guard.check(annsOwn, null, request)).toBeUndefined();
  });

  test('passes synchronously if every role is granted synchronously', () => {
    const guard = compileGuard(['ROLE_EDITOR', 'SEE'], registry);
    expect(guard).toMatchObject({ public: false, roles: ['ROLE_EDITOR', 'SEE'] });
    expect(guard.check(annsOwn, ann, request)).toBeUndefined();
  });

  test('denies a user with 403 if any one role is not granted', async () => {
    const roles = ['ROLE_EDITOR', 'SEE', 'LATE'];
    for (const order of [roles, [...roles].reverse()]) {
      const error = await thrownBy(() => compileGuard(order, registry).check({ owner: 'bob' }, bob, request));
      expect(error).toBeInstanceOf(Problem);
      expect(error).toMatchObject({ code: 'access_denied', status: 403, headers: {} });
    }
  });

  test('denies an anonymous caller with 401 and a challenge', async () => {
    const error = await thrownBy(() => compileGuard(['SEE'], registry).check(annsOwn, null, request));
    expect(error).toMatchObject({ code: 'authentication_required', status: 401 });
    expect(error.headers).toEqual({ 'WWW-Authenticate': 'Bearer realm="api"' });
    const late = await thrownBy(() =>
      compileGuard(['LATE'], registry, 'ApiKey header="X-Api-Key"').check(annsOwn, null, request),
    );
    expect(late.headers).toEqual({ 'WWW-Authenticate': 'ApiKey header="X-Api-Key"' });
  });

  test('waits for an asynchronous vote, then checks the remaining roles', async () => {
    await expect(compileGuard(['LATE', 'SEE'], registry).check(annsOwn, ann, request)).resolves.toBeUndefined();
    await expect(compileGuard(['SEE', 'LATE', 'ROLE_X'], registry).check(annsOwn, ann, request)).rejects.toMatchObject({
      status: 403,
    });
  });

  test('denies every caller if a role has no voter', async () => {
    const guard = compileGuard(['UNJUDGED'], registry);
    expect(await thrownBy(() => guard.check(annsOwn, ann, request))).toMatchObject({ status: 403 });
  });

  test('decides again for every subject and every user', async () => {
    const guard = compileGuard(['SEE', 'LATE'], registry);
    for (let round = 0; round < 2; round++) {
      expect(await thrownBy(() => guard.check(annsOwn, ann, request))).toBeUndefined();
      expect(await thrownBy(() => guard.check(annsOwn, bob, request))).toMatchObject({ status: 403 });
      expect(await thrownBy(() => guard.check({ owner: 'bob' }, ann, request))).toMatchObject({ status: 403 });
    }
  });

  test('reports whether a voter of the application may read the subject', () => {
    expect(compileGuard(['ROLE_A', 'SEE'], registry).readsSubject).toBe(true);
    expect(compileGuard(['ROLE_A', 'ROLE_B'], registry).readsSubject).toBe(false);
    expect(compileGuard(['ROLE_SHARED'], registry).readsSubject).toBe(true);
  });

  test('lists the associations that the voters of its roles read, each once', () => {
    expect(compileGuard(['SEE', 'LATE', 'EDIT'], registry).loads).toEqual(['owner', 'crew.captain']);
    expect(compileGuard(['ROLE_A'], registry).loads).toEqual([]);
  });

  test('passes if and only if every role is granted, whichever votes are asynchronous', async () => {
    const anyPanel = fc.array(fc.tuple(fc.constantFrom<Vote>('grant', 'deny', 'abstain'), fc.boolean()), {
      minLength: 1,
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(anyPanel, async (panel) => {
        const voters = panel.map(([vote, late], index) => {
          return new (class extends Voter {
            static override roles = [`R${index}`];
            vote() {
              return late ? Promise.resolve(vote) : vote;
            }
          })();
        });
        const guard = compileGuard(
          panel.map((_, index) => `R${index}`),
          createVoterRegistry({ voters, strategy: 'affirmative', roleHierarchy: {} }),
        );
        const error = await thrownBy(() => guard.check(null, bob, request));
        expect(error?.status).toBe(panel.every(([vote]) => vote === 'grant') ? undefined : 403);
      }),
      { numRuns: 300 },
    );
  });
});

describe('rolesFor', () => {
  test('returns the base role first, then the role of the method', () => {
    expect(rolesFor({ roles: { POST: 'EDIT' } }, 'BASE', 'POST')).toEqual(['BASE', 'EDIT']);
    expect(rolesFor({ roles: { POST: 'EDIT' } }, null, 'POST')).toEqual(['EDIT']);
    expect(rolesFor({ roles: { POST: 'EDIT' } }, 'BASE', 'PUT')).toEqual(['BASE']);
    expect(rolesFor({ roles: {} }, null, 'GET')).toEqual([]);
  });

  test('lists each role once', () => {
    expect(rolesFor({ roles: { GET: 'SEE', HEAD: 'SEE' } }, 'SEE', 'HEAD')).toEqual(['SEE']);
  });

  test('guards HEAD by the role of GET unless it has a role of its own', () => {
    expect(rolesFor({ roles: { GET: 'SEE' } }, 'BASE', 'HEAD')).toEqual(['BASE', 'SEE']);
    expect(rolesFor({ roles: { GET: 'SEE', HEAD: 'PEEK' } }, 'BASE', 'HEAD')).toEqual(['BASE', 'PEEK']);
    expect(rolesFor({ roles: { GET: 'SEE', HEAD: 'PEEK' } }, null, 'GET')).toEqual(['SEE']);
  });

  test('leaves HEAD only the base role if its own is null', () => {
    expect(rolesFor({ roles: { GET: 'SEE', HEAD: null } }, 'BASE', 'HEAD')).toEqual(['BASE']);
    expect(rolesFor({ roles: { GET: 'SEE', HEAD: null } }, null, 'HEAD')).toEqual([]);
    expect(rolesFor({ roles: { GET: 'SEE', HEAD: null } }, 'BASE', 'GET')).toEqual(['BASE', 'SEE']);
  });

  test('never requires less of HEAD than of GET if HEAD has no entry', () => {
    const anyRole = fc.option(fc.constantFrom('A', 'B', 'C'), { nil: null });
    const others = httpMethods.filter((method) => method !== 'HEAD');
    const anyRoles = fc.dictionary(fc.constantFrom<HttpMethod>(...others), fc.constantFrom('A', 'B', 'C'));
    fc.assert(
      fc.property(anyRoles, anyRole, (roles, base) => {
        expect(rolesFor({ roles }, base, 'HEAD')).toEqual(rolesFor({ roles }, base, 'GET'));
      }),
    );
  });
});

describe('the decision of a guard as a value', () => {
  const all = ['ROLE_EDITOR', 'SEE', 'EDIT', 'LATE', 'ROLE_SHARED'];

  test('is true exactly if the check passes, for any roles, subject and caller', () =>
    fc.assert(
      fc.asyncProperty(
        fc.subarray(all),
        fc.constantFrom(annsOwn, { owner: 'bob' }, null),
        fc.constantFrom(ann, bob, null),
        async (roles, subject, user) => {
          const guard = compileGuard(roles, registry);
          const passes = async () => guard.check(subject, user, request);
          const expected = await passes().then(
            () => true,
            () => false,
          );
          expect(await guard.grants(subject, user, request)).toBe(expected);
        },
      ),
    ));

  test('is true without roles, and asks no voter after a denial', async () => {
    expect(compileGuard([], registry).grants(null, null, request)).toBe(true);
    expect(compileGuard(['SEE', 'LATE'], registry).grants(annsOwn, bob, request)).toBe(false);
    expect(await compileGuard(['LATE', 'SEE'], registry).grants(annsOwn, ann, request)).toBe(true);
    expect(await compileGuard(['LATE'], registry).grants(annsOwn, bob, request)).toBe(false);
    expect(await compileGuard(['LATE', 'SEE'], registry).grants(annsOwn, bob, request)).toBe(false);
  });
});
