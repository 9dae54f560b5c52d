import { describe, expect, test } from 'vitest';
import { RoleVoter } from '../../src/access/role-voter.ts';
import { type Vote, Voter } from '../../src/access/voter.ts';
import { createVoterRegistry } from '../../src/access/voter-registry.ts';

class First extends Voter {
  static override roles: readonly string[] = ['SEE', 'ROLE_EDITOR', 'SEE'];
  vote(): Vote {
    return 'abstain';
  }
}
class Second extends First {
  static override roles: readonly string[] = ['SEE', 'EDIT'];
}

const [first, second] = [new First(), new Second()];
const settings = { strategy: 'affirmative', roleHierarchy: {} } as const;

describe('the voter registry', () => {
  const registry = createVoterRegistry({
    voters: [second, first],
    strategy: 'priority',
    roleHierarchy: { ROLE_ADMIN: ['ROLE_EDITOR', 'SEE_ALL'] },
  });

  test('lists the voters of a role in the given order, each once', () => {
    expect(registry.votersFor('SEE')).toEqual([second, first]);
    expect(registry.votersFor('EDIT')).toEqual([second]);
    expect(registry.votersFor('NONE')).toEqual([]);
    expect(registry.strategy).toBe('priority');
  });

  test('calls the built-in voter for ROLE_ names after the voters of the application', () => {
    expect(registry.votersFor('ROLE_ANY')).toEqual([expect.any(RoleVoter)]);
    expect(registry.votersFor('ROLE_EDITOR')).toEqual([first, expect.any(RoleVoter)]);
    expect(registry.votersFor('role_any')).toEqual([]);
  });

  test('lists the roles of voters and the ROLE_ names of the hierarchy, sorted', () => {
    expect(registry.knownRoles()).toEqual(['EDIT', 'ROLE_ADMIN', 'ROLE_EDITOR', 'SEE']);
  });

  test('accepts a voter without roles, such as a base class, and never calls it', () => {
    class Base extends First {
      static override roles: readonly string[] = [];
    }
    expect(createVoterRegistry({ ...settings, voters: [new Base()] }).knownRoles()).toEqual([]);
  });

  test.each(['SEE', null, [''], [1], undefined])('rejects a voter whose roles are %j', (roles) => {
    class Wrong extends First {}
    Wrong.roles = roles as never;
    expect(() => createVoterRegistry({ ...settings, voters: [new Wrong()] })).toThrow('the voter Wrong must list its roles');
  });

  test.each(['any', '', 'toString', undefined])('rejects the strategy %s', (strategy) => {
    expect(() => createVoterRegistry({ ...settings, voters: [], strategy: strategy as never })).toThrow(
      'use one of: affirmative, consensus, unanimous, priority',
    );
  });
});
