import { describe, expect, test } from 'vitest';
import { checkHeadRoles, checkLoadedRoutes, checkPublic, checkRoles, type LoadedRoute } from '../../src/access/check-roles.ts';
import { type Vote, Voter } from '../../src/access/voter.ts';
import { createVoterRegistry } from '../../src/access/voter-registry.ts';
import type { ActionDeclaration, ApiDeclaration, Path } from '../../src/declaration/types.ts';

class PersonVoter extends Voter {
  static override roles = ['PERSON_SEE'];
  vote(): Vote {
    return 'grant';
  }
}
const registry = createVoterRegistry({ voters: [new PersonVoter()], strategy: 'affirmative', roleHierarchy: {} });

const root = ['app_main', 'apis', 'person'];

function api(baseRole: string | null, action: Pick<ActionDeclaration, 'methods' | 'roles'>): ApiDeclaration {
  const path = [...root, 'actions', '_index'];
  return {
    name: 'person',
    baseRole,
    nested: [],
    path: root,
    actions: [{ name: '_index', path, ...action }],
  } as unknown as ApiDeclaration;
}

function findings(run: (findings: { add(path: Path, message: string): void }) => void): [string, string][] {
  const all: [string, string][] = [];
  run({ add: (path, message) => all.push([path.join('.'), message]) });
  return all;
}

const rolesFound = (...apis: ApiDeclaration[]) => findings((report) => checkRoles(apis, registry, report));
const loadedFound = (required: boolean, roles: LoadedRoute['roles']) =>
  findings((report) =>
    checkLoadedRoutes([{ name: 'app_status', roles, source: ['routes', 'status'] }], registry, required, report),
  );
const publicFound = (required: boolean, ...apis: ApiDeclaration[]) => findings((report) => checkPublic(apis, required, report));

describe('checkRoles', () => {
  test('accepts roles with a voter, ROLE_ names and actions without a role', () => {
    expect(rolesFound(api('PERSON_SEE', { methods: ['GET', 'POST'], roles: { GET: 'ROLE_ANY' } }))).toEqual([]);
    expect(rolesFound(api(null, { methods: ['GET'], roles: {} }))).toEqual([]);
  });

  test('reports a base role and a method role without a voter, each at its place', () => {
    const found = rolesFound(api('BASE', { methods: ['GET', 'POST'], roles: { GET: 'PERSON_SEE', POST: 'PERSON_SE' } }));
    expect(found.map(([path]) => path)).toEqual([
      'app_main.apis.person.base_role',
      'app_main.apis.person.actions._index.roles.POST',
    ]);
    expect(found[1]?.[1]).toBe(
      'no voter judges the role "PERSON_SE"; did you mean "PERSON_SEE"? known: PERSON_SEE. Write one in src/voters: ' +
        "a class that extends Voter, with static roles = ['PERSON_SE']; or use a name that starts with ROLE_",
    );
  });

  test('reports the role of a nested API without a voter', () => {
    const path = [...root, 'nested', 'pets'];
    expect(rolesFound({ ...api(null, { methods: [], roles: {} }), nested: [{ path, role: 'NOBODY' }] } as never)).toEqual([
      ['app_main.apis.person.nested.pets.role', expect.stringContaining('"NOBODY"')],
    ]);
  });

  test('ignores the role of GET if only HEAD with a role of its own, or another method, is enabled', () => {
    expect(rolesFound(api(null, { methods: ['HEAD'], roles: { GET: 'NOBODY', HEAD: 'PERSON_SEE' } }))).toEqual([]);
    expect(rolesFound(api(null, { methods: ['POST'], roles: { GET: 'NOBODY' } }))).toEqual([]);
  });

  test('ignores the role of a method that is not enabled', () => {
    expect(rolesFound(api(null, { methods: ['GET'], roles: { DELETE: 'NOBODY' } }))).toEqual([]);
  });

  test('reports the role of GET if only HEAD is enabled, and only once if both are', () => {
    const only = rolesFound(api(null, { methods: ['HEAD'], roles: { GET: 'NOBODY' } }));
    const both = rolesFound(api(null, { methods: ['GET', 'HEAD'], roles: { GET: 'NOBODY' } }));
    expect(only.map(([path]) => path)).toEqual(['app_main.apis.person.actions._index.roles.GET']);
    expect(both).toEqual(only);
  });
});

describe('checkHeadRoles', () => {
  const warnings = (baseRole: string | null, action: Pick<ActionDeclaration, 'methods' | 'roles'>) =>
    findings(({ add }) => checkHeadRoles([api(baseRole, action)], add));

  test('warns of a HEAD that requires less than GET', () => {
    expect(warnings('BASE', { methods: ['GET', 'HEAD'], roles: { GET: 'PERSON_SEE', HEAD: null } })).toEqual([
      [
        'app_main.apis.person.actions._index.roles.HEAD',
        'HEAD does not require "PERSON_SEE" as GET does: without that role, callers get the status, length and ETag of what GET would return; ' +
          'leave out "HEAD: null" to guard HEAD like GET',
      ],
    ]);
  });

  test.each<[string, Pick<ActionDeclaration, 'methods' | 'roles'>]>([
    ['is not enabled', { methods: ['GET'], roles: { GET: 'PERSON_SEE', HEAD: null } }],
    ['requires the role of GET', { methods: ['GET', 'HEAD'], roles: { GET: 'PERSON_SEE' } }],
    ['requires another role', { methods: ['GET', 'HEAD'], roles: { GET: 'PERSON_SEE', HEAD: 'ROLE_A' } }],
    ['requires the base role, as GET does', { methods: ['GET', 'HEAD'], roles: { GET: 'BASE', HEAD: null } }],
  ])('accepts a HEAD that %s', (_, action) => {
    expect(warnings('BASE', action)).toEqual([]);
  });
});

describe('checkPublic', () => {
  const open = api(null, { methods: ['GET', 'HEAD', 'POST'], roles: { POST: 'PERSON_SEE' } });

  test('reports the methods without a role at the action if roles are required', () => {
    expect(publicFound(true, open)).toEqual([
      [
        'app_main.apis.person.actions._index',
        'security.require_role is on, and the action "_index" is public for GET, HEAD; ' +
          'set base_role on the API, or a role for each of these methods',
      ],
    ]);
  });

  test('accepts public methods if roles are not required', () => {
    expect(publicFound(false, open)).toEqual([]);
  });

  test('accepts a base role, or a role for each method', () => {
    expect(publicFound(true, api('PERSON_SEE', { methods: ['GET', 'PUT'], roles: {} }))).toEqual([]);
    expect(publicFound(true, api(null, { methods: ['GET', 'HEAD'], roles: { GET: 'PERSON_SEE' } }))).toEqual([]);
  });
});

describe('checkLoadedRoutes', () => {
  test('accepts roles with a voter, and public methods if roles are not required', () => {
    expect(loadedFound(true, { GET: ['PERSON_SEE'], POST: ['ROLE_ANY', 'PERSON_SEE'] })).toEqual([]);
    expect(loadedFound(false, { GET: [], POST: ['PERSON_SEE'] })).toEqual([]);
  });

  test('reports every role without a voter once, at the route name', () => {
    const found = loadedFound(true, { GET: ['NOBODY'], POST: ['NOBODY', 'PERSON_SEE', 'NEITHER'] });
    expect(found.map(([path]) => path)).toEqual(['routes.status', 'routes.status']);
    expect(found[0]?.[1]).toMatch(/^no voter judges the role "NOBODY";/);
    expect(found[1]?.[1]).toMatch(/^no voter judges the role "NEITHER";/);
  });

  test('reports the methods without a role if roles are required', () => {
    expect(loadedFound(true, { GET: [], POST: ['PERSON_SEE'], DELETE: [] })).toEqual([
      [
        'routes.status',
        'security.require_role is on, and the route "app_status" is public for GET, DELETE; give it roles: one for all methods, or one for each',
      ],
    ]);
  });
});
