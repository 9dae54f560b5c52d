import { describe, expect, test } from 'vitest';
import { RoleVoter } from '../../src/access/role-voter.ts';
import { isVoterClass, type Vote, Voter } from '../../src/access/voter.ts';

describe('a voter', () => {
  test('votes on no role unless its class names one', () => {
    expect(Voter.roles).toEqual([]);
  });
});

describe('isVoterClass', () => {
  test('accepts direct and indirect subclasses of Voter', () => {
    class Near extends Voter {
      vote(): Vote {
        return 'abstain';
      }
    }
    class Far extends Near {}
    expect(isVoterClass(Near)).toBe(true);
    expect(isVoterClass(Far)).toBe(true);
  });

  test.each([Voter, class {}, () => 'grant', { vote: () => 'grant' }, 'Voter', null, undefined])('rejects %s', (value) => {
    expect(isVoterClass(value)).toBe(false);
  });
});

describe('the built-in role voter', () => {
  const voter = new RoleVoter({
    ROLE_ADMIN: ['ROLE_EDITOR'],
    ROLE_EDITOR: ['ROLE_READER'],
    ROLE_A: ['ROLE_B'],
    ROLE_B: ['ROLE_A'],
    ROLE_SELF: ['ROLE_SELF'],
    STAFF: ['ROLE_READER'],
  });
  const vote = (role: string, ...roles: string[]) => voter.vote(role, null, { id: 1, roles });

  test('denies anonymous callers', () => {
    expect(voter.vote('ROLE_READER', null, null)).toBe('deny');
  });

  test('grants a role that the user has, whether or not the hierarchy contains it', () => {
    expect(vote('ROLE_EDITOR', 'ROLE_EDITOR')).toBe('grant');
    expect(vote('ROLE_OTHER', 'ROLE_X', 'ROLE_OTHER')).toBe('grant');
  });

  test('grants roles included in a role of the user, over several steps', () => {
    expect(vote('ROLE_EDITOR', 'ROLE_ADMIN')).toBe('grant');
    expect(vote('ROLE_READER', 'ROLE_ADMIN')).toBe('grant');
    expect(vote('ROLE_READER', 'STAFF')).toBe('grant');
  });

  test('never grants an including role, and grants nothing to users without roles', () => {
    expect(vote('ROLE_ADMIN', 'ROLE_EDITOR', 'ROLE_READER')).toBe('deny');
    expect(vote('ROLE_READER')).toBe('deny');
    expect(vote('ROLE_OTHER', 'ROLE_ADMIN')).toBe('deny');
  });

  test('treats a cycle as roles that include each other', () => {
    expect(vote('ROLE_A', 'ROLE_B')).toBe('grant');
    expect(vote('ROLE_B', 'ROLE_A')).toBe('grant');
    expect(vote('ROLE_SELF', 'ROLE_A')).toBe('deny');
  });

  test('treats names of Object.prototype as plain names', () => {
    expect(vote('ROLE_READER', '__proto__', 'constructor', 'toString')).toBe('deny');
  });

  test('compares names exactly', () => {
    expect(vote('ROLE_ADMIN', 'role_admin', 'ROLE_ADMIN ')).toBe('deny');
  });
});
