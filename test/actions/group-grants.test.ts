import { describe, expect, test } from 'vitest';
import type { Guard } from '../../src/access/guard.ts';
import type { ApiRequest, User } from '../../src/access/user.ts';
import { type Granting, GroupGrants, perGroups, subjectOf } from '../../src/actions/group-grants.ts';
import type { Mapper } from '../../src/database/mapper.ts';
import type { DeclaredGroup } from '../../src/declaration/types.ts';
import type { ActiveGroups } from '../../src/model/groups.ts';
import { FoundEntity } from '../../src/store/entity-store.ts';
import { RequestState } from '../../src/store/request-state.ts';
import { Random, seed } from '../support/random.ts';

const mapper = {} as Mapper;
const row = {};

/** The voters judge the first roles. The others depend on the roles of the user alone. */
const voterRoles = ['OWNER', 'AREA', 'SHIFT'];
const roles = [...voterRoles, 'ROLE_STAFF', 'ROLE_ADMIN'];

/** The decision about each role, without a row and with one. */
type Decisions = Readonly<Record<string, { readonly inside: boolean; readonly own: boolean }>>;

interface Case {
  readonly declared: { readonly read: readonly DeclaredGroup[]; readonly write: readonly DeclaredGroup[] };
  readonly decisions: Decisions;
  readonly used: readonly string[];
  readonly request: ApiRequest;
  /** The calls of voters: role, and whether there was a row. */
  readonly calls: string[];
  readonly granting: Granting;
}

function randomCase(number: number): Case {
  const random = new Random(seed + number);
  const used = random.some(roles);
  const group = (name: string, role: string | null): DeclaredGroup => ({ name, role, path: null });
  const lists = (verb: string) => [group(verb, null), ...random.some(used).map((role) => group(`${verb}:${role}`, role))];
  const declared = { read: lists('read'), write: lists('write') };
  const decisions: Record<string, { inside: boolean; own: boolean }> = {};
  for (const role of roles) {
    const inside = random.chance(0.5);
    decisions[role] = { inside, own: voterRoles.includes(role) ? random.chance(0.5) : inside };
  }
  const user: User = { id: 'anna', roles: [] };
  const request = { user } as unknown as ApiRequest;
  const calls: string[] = [];
  const isLate = random.chance(0.5);
  const guardFor = (names: readonly string[]): Guard => {
    const [role = ''] = names;
    expect(names).toEqual([role]);
    const readsSubject = voterRoles.includes(role);
    const grants = (subject: unknown, given: User | null, by: unknown) => {
      expect([given, by]).toEqual([user, request]);
      if (!readsSubject) expect(subject).toBeNull();
      else calls.push(`${role} ${subject === null ? 'null' : 'row'}`);
      const granted = decisions[role]?.[subject === null ? 'inside' : 'own'] as boolean;
      return isLate && readsSubject ? Promise.resolve(granted) : granted;
    };
    return { roles: names, public: false, readsSubject, loads: readsSubject ? [role.toLowerCase()] : [], grants, check() {} };
  };
  const bound = roles.map((role) => ({ name: `read:${role}`, role, path: [] as never }));
  const inUse = roles.filter((role) => [...declared.read, ...declared.write].some((each) => each.role === role));
  return { declared, decisions, used: inUse, request, calls, granting: { mapper, guardFor, bound } };
}

/** The groups if some roles are granted for the row, and some inside the response. */
function groupsWith({ declared }: Pick<Case, 'declared'>, own: (role: string) => boolean, inside = own): ActiveGroups {
  const names = (list: readonly DeclaredGroup[], isGranted: (role: string) => boolean) =>
    list.filter(({ role }) => role === null || isGranted(role)).map(({ name }) => name);
  const read = names(declared.read, own);
  const withheld = declared.read.map(({ name }) => name).filter((name) => !read.includes(name));
  return { read, embedded: names(declared.read, inside), write: names(declared.write, own), withheld };
}

const isVoted = (role: string) => voterRoles.includes(role);

describe.each([true, false])('the groups of a caller, if roles are asked inside: %s', (asksInside) => {
  test('are those whose roles are granted, for every declaration and decision', async () => {
    for (let number = 0; number < 200; number++) {
      const given = randomCase(number);
      const { calls, decisions, declared, granting, request, used } = given;
      const grants = new GroupGrants(declared, granting, asksInside);
      const own = (role: string) => decisions[role]?.own === true;
      const inside = (role: string) => decisions[role]?.inside === true;

      expect(grants.all).toEqual(groupsWith(given, () => true));
      expect(grants.fixed).toBe(used.length === 0 ? grants.all : null);
      expect(grants.readsSubject).toBe(used.some(isVoted));
      expect([...grants.loads].sort()).toEqual(
        used
          .filter(isVoted)
          .map((role) => role.toLowerCase())
          .sort(),
      );

      const ofAnyRow = grants.ofAnyRow(request);
      expect(ofAnyRow).toEqual(groupsWith(given, (role) => !isVoted(role) && inside(role)));
      expect(calls).toEqual([]);

      const before = await grants.beforeRow(request);
      const mayOwn = (role: string) => isVoted(role) || inside(role);
      expect(before).toEqual(groupsWith(given, mayOwn, asksInside ? inside : mayOwn));
      const ofCollection = await grants.ofCollection(request);
      expect(ofCollection).toEqual(groupsWith(given, inside));
      const ofEntity = await grants.ofEntity(request, row);
      expect(ofEntity).toEqual(groupsWith(given, own, asksInside ? inside : own));

      const within = grants.within(before);
      expect(within).toContain(ofEntity);
      expect(within).toHaveLength(2 ** used.filter(isVoted).length);
      expect(new Set(within).size).toBe(within.length);

      const state = new RequestState(request, mapper);
      expect(await grants.ofRequest(request, state)).toBe(ofCollection);
      state.admitted = { action: '_entity', id: '1', entity: row };
      expect(await grants.ofRequest(request, state)).toBe(ofEntity);

      // a repeated decision returns the same object, and calls no voter again
      expect([await grants.ofCollection(request), await grants.ofEntity(request, row)]).toEqual([ofCollection, ofEntity]);
      expect(await grants.ofEntity(request, row)).toBe(ofEntity);
      expect(await grants.beforeRow(request)).toBe(before);
      expect([...calls].sort()).toEqual([...new Set(calls)].sort());
      expect(new Set(calls.map((call) => call.split(' ')[0]))).toEqual(new Set(used.filter(isVoted)));
    }
  });
});

test('groups that code names depend on the roles that they are bound to', async () => {
  for (let number = 0; number < 50; number++) {
    const given = randomCase(number);
    const { decisions, declared, granting, request } = given;
    const grants = new GroupGrants(declared, granting);
    const random = new Random(seed + number);
    const names = ['read', 'other', ...random.some(roles).map((role) => `read:${role}`)];
    const named = grants.named(names);
    const list = names.map((name): DeclaredGroup => ({ name, role: name.split(':')[1] ?? null, path: null }));
    const own = (role: string) => decisions[role]?.own === true;
    const inside = (role: string) => decisions[role]?.inside === true;
    expect(await named.ofEntity(request, row)).toEqual(groupsWith({ declared: { read: list, write: list } }, own, inside));
    expect(grants.named([...names])).toBe(named);
    expect(grants.named([...names, 'more'])).not.toBe(named);
  }
});

test('the subject of a request is its admitted entity, or the entity that was found', () => {
  const request = {} as ApiRequest;
  const state = new RequestState(request, mapper);
  expect(subjectOf(state)).toBeNull();
  const other = {};
  const admission = { action: '_entity', key: 1, restriction: null };
  state.admission = { ...admission, found: null };
  expect(subjectOf(state)).toBeNull();
  state.admission = { ...admission, found: { entity: other } as never };
  expect(subjectOf(state)).toBeNull();
  state.admission = { ...admission, found: new FoundEntity(other, {} as never, null) };
  expect(subjectOf(state)).toBe(other);
  state.admitted = { action: '_entity', id: '1', entity: row };
  expect(subjectOf(state)).toBe(row);
});

test('something for each set of groups is made once', () => {
  const sets = [1, 2].map((): ActiveGroups => ({ read: [], embedded: [], write: [] }));
  const made: ActiveGroups[] = [];
  const makeFor = perGroups((groups) => {
    made.push(groups);
    return sets.indexOf(groups);
  });
  expect([...sets, ...sets].map(makeFor)).toEqual([0, 1, 0, 1]);
  expect(made).toEqual(sets);
});
