import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineEntity, p } from '@mikro-orm/core';
import { beforeAll, describe, expect, test } from 'vitest';
import { type CodeOptions, loadApplication } from '../../src/application.ts';
import { ApiController, Denormalizer, Voter } from '../../src/index.ts';
import { baselineText, readBaseline } from '../../src/inspect/compare/baseline.ts';
import { compareAccess } from '../../src/inspect/compare/compare.ts';
import { type AccessMatrix, accessMatrix } from '../../src/inspect/compare/matrix.ts';

const example = join(import.meta.dirname, '..', '..', 'examples', 'courses');

interface Variation {
  readonly api?: object;
  readonly index?: object;
  readonly entity?: object;
  readonly actions?: object;
  readonly security?: object;
  readonly apis?: object;
  readonly voters?: unknown[];
  readonly routes?: object[];
  readonly denormalizers?: unknown[];
  /** The groups of properties, by their names. */
  readonly groups?: Record<string, string[]>;
  readonly model?: object;
  readonly polymorphic?: boolean;
  readonly subclass?: boolean;
}

class SeeVoter extends Voter {
  static override roles = ['SEE', 'EDIT'];
  override vote() {
    return 'grant' as const;
  }
}
class LaterVoter extends Voter {
  static override roles = ['SEE'];
  override vote() {
    return 'grant' as const;
  }
}
class Restricting extends ApiController {
  override customizeQuery() {}
  archiveApi() {
    return null;
  }
}
class Other extends ApiController {
  override customizeQuery() {}
  archiveApi() {
    return null;
  }
}
class Hooked extends Restricting {
  override beforeSerialize() {}
}
Object.defineProperty(Hooked, 'name', { value: 'Restricting' });
class Plain extends ApiController {
  archiveApi() {
    return null;
  }
  otherApi() {
    return null;
  }
}
class OwnerDenormalizer extends Denormalizer {
  static override properties = ['Item.owner'];
  override denormalize() {
    return null;
  }
}

/** An application with everything that can be opened, and one thing about it changed. */
async function matrixOf(variation: Variation = {}): Promise<AccessMatrix> {
  const { groups = {} } = variation;
  const in_ = (name: string, usual: string[]) => groups[name] ?? usual;
  const Owner = defineEntity({
    name: 'Owner',
    properties: { id: p.integer().primary().groups('read'), name: p.string().groups(...in_('Owner.name', ['read'])) },
  });
  const Company = defineEntity({
    name: 'Company',
    properties: { id: p.integer().primary().groups('read'), title: p.string().groups('read') },
  });
  const owners = variation.polymorphic ? [Owner, Company] : Owner;
  const Item = defineEntity({
    name: 'Item',
    ...(variation.subclass && { discriminatorColumn: 'kind', discriminatorValue: 'item' }),
    ...variation.model,
    properties: {
      id: p.integer().primary().groups('read'),
      title: p.string().groups(...in_('title', ['read', 'write'])),
      ...(variation.subclass && { kind: p.string() }),
      secret: in_('secret', []).length > 0 ? p.string().groups(...in_('secret', [])) : p.string(),
      owner: () => {
        const association = p.manyToOne(owners as never).nullable() as unknown as { groups(...names: string[]): never };
        return in_('owner', ['write']).length > 0 ? association.groups(...in_('owner', ['write'])) : (association as never);
      },
    },
  } as never);
  const Special = defineEntity({
    name: 'Special',
    extends: Item,
    discriminatorValue: 'special',
    properties: { extra: p.string().nullable().groups('read') },
  } as never);
  const options: CodeOptions = {
    models: [Item, Owner, Company, ...(variation.subclass ? [Special] : [])],
    controllers: [Restricting, Other, Hooked, Plain],
    voters: (variation.voters as never) ?? [SeeVoter],
    denormalizers: (variation.denormalizers as never) ?? [],
    services: { own: { load: () => variation.routes ?? [] } },
    routes: {
      app_cruds: { resource: 'app_main_crud_route_loader:load', type: 'service' },
      own: { resource: 'own:load', type: 'service' },
    },
    app_main: {
      database: { url: 'sqlite::memory:' },
      security: {
        strategy: 'affirmative',
        role_hierarchy: { ROLE_ADMIN: ['ROLE_USER'] },
        jwt: { issuer: 'tests', audience: 'people' },
        ...variation.security,
      },
      apis: {
        item: {
          class: Item,
          base_path: '/item',
          base_role: 'SEE',
          controller: Restricting,
          filters: { title: ['eq'] },
          ...variation.api,
          actions: {
            _index: { methods: { GET: true, HEAD: true, POST: true }, roles: { POST: 'EDIT' }, ...variation.index },
            _entity: { methods: { GET: true, PATCH: true }, roles: { PATCH: 'EDIT' }, ...variation.entity },
            archive: { methods: { POST: true } },
            ...variation.actions,
          },
        },
        ...variation.apis,
      },
    } as never,
  };
  return accessMatrix(await loadApplication({ ...options, env: {} }));
}

const title = '# Access rules, written by `declarest access --save` and compared by `declarest access --diff`.\n';

let usual: AccessMatrix;
beforeAll(async () => {
  usual = await matrixOf();
});

/** What one says of the change from one application to another, as `place: subject text`. */
async function changes(from: Variation, to: Variation) {
  const { opened, closed } = compareAccess(readBaseline(baselineText(await matrixOf(from))), await matrixOf(to));
  const told = (list: typeof opened) => list.map(({ place, subject, text }) => `${place}: ${subject} ${text}`);
  return { opened: told(opened), closed: told(closed) };
}

const at = 'app_main.apis.item';

/** Opens something one way and closes it the other: what is told of each. */
const reversible: [string, Variation, string[], string[]][] = [
  [
    'a method',
    { entity: { methods: { GET: true, PATCH: true, DELETE: true } } },
    [`${at}.actions._entity.methods.DELETE: DELETE /item/{id}.{_format} is new: requires SEE`],
    [`${at}.actions._entity.methods.GET: DELETE /item/{id}.{_format} was removed`],
  ],
  [
    'the role of a method',
    { entity: { methods: { GET: true, PATCH: true }, roles: {} } },
    [`${at}.actions._entity.roles.PATCH: PATCH /item/{id}.{_format} no longer requires EDIT`],
    [`${at}.actions._entity.roles.PATCH: PATCH /item/{id}.{_format} requires EDIT now`],
  ],
  [
    'a field to readers',
    { groups: { secret: ['read'] } },
    [
      'Item.secret: Item.secret is in the group read now',
      'Item.secret: GET,POST /item.{_format} reads secret',
      'Item.secret: GET,PATCH /item/{id}.{_format} reads secret',
    ],
    [
      'Item.secret: Item.secret is no longer in the group read',
      'Item.secret: GET,POST /item.{_format} no longer reads secret',
      'Item.secret: GET,PATCH /item/{id}.{_format} no longer reads secret',
    ],
  ],
  [
    'a field to writers',
    { groups: { secret: ['write'] } },
    [
      'Item.secret: Item.secret is in the group write now',
      'Item.secret: POST /item.{_format} writes secret',
      'Item.secret: PATCH /item/{id}.{_format} writes secret',
    ],
    [
      'Item.secret: Item.secret is no longer in the group write',
      'Item.secret: POST /item.{_format} no longer writes secret',
      'Item.secret: PATCH /item/{id}.{_format} no longer writes secret',
    ],
  ],
  [
    'a field in a group that only handlers name',
    { groups: { secret: ['export'] } },
    ['Item.secret: Item.secret is in the group export now'],
    ['Item.secret: Item.secret is no longer in the group export'],
  ],
  [
    'an association, and with it the fields of what it points to',
    { groups: { owner: ['read', 'write'] } },
    [
      'Item.owner: Item.owner is in the group read now',
      'Item.owner: GET,POST /item.{_format} reads owner with 2 fields',
      'Item.owner: GET,PATCH /item/{id}.{_format} reads owner with 2 fields',
    ],
    [
      'Item.owner: Item.owner is no longer in the group read',
      'Item.owner: GET,POST /item.{_format} no longer reads owner',
      'null: GET,POST /item.{_format} no longer reads owner.id, owner.name',
      'Item.owner: GET,PATCH /item/{id}.{_format} no longer reads owner',
      'null: GET,PATCH /item/{id}.{_format} no longer reads owner.id, owner.name',
    ],
  ],
  [
    'the role hierarchy',
    { security: { role_hierarchy: { ROLE_ADMIN: ['ROLE_USER'], ROLE_USER: ['ROLE_GUEST'] } } },
    [
      'app_main.security.role_hierarchy.ROLE_USER.0: users with the role ROLE_ADMIN have ROLE_GUEST as well now',
      'app_main.security.role_hierarchy.ROLE_USER.0: users with the role ROLE_USER have ROLE_GUEST as well now',
    ],
    [
      'null: users with the role ROLE_ADMIN no longer have ROLE_GUEST',
      'null: users with the role ROLE_USER no longer have ROLE_GUEST',
    ],
  ],
  [
    'another API key',
    { security: { api_keys: { robot: { key: 'k'.repeat(32), roles: ['ROLE_USER'] } } } },
    [
      'app_main.security.api_keys.robot: callers can authenticate with the API key robot now',
      'app_main.security.api_keys.robot.roles: callers can authenticate with the API key robot with the role ROLE_USER now',
    ],
    [
      'null: callers can no longer authenticate with the API key robot',
      'null: callers can no longer authenticate with the API key robot with the role ROLE_USER',
    ],
  ],
  [
    'one more voice among those of which one is enough',
    { voters: [SeeVoter, LaterVoter] },
    ['LaterVoter: the role SEE is judged by LaterVoter, SeeVoter now, was by SeeVoter'],
    ['SeeVoter: the role SEE is judged by SeeVoter now, was by LaterVoter, SeeVoter'],
  ],
  [
    'the issuer of tokens',
    { security: { jwt: { audience: 'people' } } },
    ['app_main.security.jwt.issuer: tokens may have any issuer now, had to have tests'],
    ['app_main.security.jwt.issuer: tokens must have the issuer tests now'],
  ],
  [
    'a filter of a list',
    { api: { filters: { title: ['eq', 'contains'] } } },
    [`${at}.filters.title: GET /item.{_format} can be filtered by title contains now`],
    ['null: GET /item.{_format} can no longer be filtered by title contains'],
  ],
  [
    'a format of an action',
    { index: { methods: { GET: true, HEAD: true, POST: true }, roles: { POST: 'EDIT' }, formats: ['json', 'csv'] } },
    [`${at}.actions._index.formats.1: GET,POST /item.{_format} can be requested as csv now`],
    ['null: GET,POST /item.{_format} can no longer be requested as csv'],
  ],
  [
    'a format of an API',
    { api: { formats: ['json', 'xml'] } },
    [
      `${at}.formats.1: GET,POST /item.{_format} can be requested as xml now`,
      `${at}.formats.1: GET,PATCH /item/{id}.{_format} can be requested as xml now`,
      `${at}.formats.1: POST /item/{id}/archive.{_format} can be requested as xml now`,
    ],
    [
      'null: GET,POST /item.{_format} can no longer be requested as xml',
      'null: GET,PATCH /item/{id}.{_format} can no longer be requested as xml',
      'null: POST /item/{id}/archive.{_format} can no longer be requested as xml',
    ],
  ],
  [
    'a route of a service',
    { routes: [{ name: 'free', path: '/free.{_format}', methods: ['GET'], handler: () => null }] },
    ['routes.own: GET /free.{_format} is new: is PUBLIC, reads fields decided by own.handler'],
    ['null: GET /free.{_format} was removed'],
  ],
];

describe('changes that open access', () => {
  test.each(reversible)('%s', async (_, variation, opened) => {
    expect(await changes({}, variation)).toEqual({ opened, closed: [] });
  });

  test('HEAD, if its own role becomes null', async () => {
    const index = (roles: object) => ({
      index: { methods: { GET: true, HEAD: true, POST: true }, roles: { POST: 'EDIT', GET: 'ROLE_USER', ...roles } },
    });
    expect(await changes(index({}), index({ HEAD: null }))).toEqual({
      opened: [`${at}.actions._index.roles.HEAD: HEAD /item.{_format} no longer requires ROLE_USER`],
      closed: [],
    });
  });

  test('the base role, reported once if it applied everywhere', async () => {
    const { opened, closed } = await changes({}, { api: { base_role: null } });
    expect(opened).toEqual([
      `${at}.base_role: GET,HEAD /item.{_format} is PUBLIC now, required SEE`,
      `${at}.base_role: POST /item.{_format} no longer requires SEE`,
      `${at}.base_role: GET /item/{id}.{_format} is PUBLIC now, required SEE`,
      `${at}.base_role: PATCH /item/{id}.{_format} no longer requires SEE`,
      `${at}.base_role: POST /item/{id}/archive.{_format} is PUBLIC now, required SEE`,
    ]);
    expect(closed).toEqual([]);
  });

  test('a role replaced by another', async () => {
    const { opened, closed } = await changes(
      {},
      { entity: { methods: { GET: true, PATCH: true }, roles: { PATCH: 'ROLE_USER' } } },
    );
    expect(opened).toEqual([`${at}.actions._entity.roles.PATCH: PATCH /item/{id}.{_format} no longer requires EDIT`]);
    expect(closed).toEqual([`${at}.actions._entity.roles.PATCH: PATCH /item/{id}.{_format} requires ROLE_USER now`]);
  });

  test('a restriction that was removed, or is another one', async () => {
    const gone = await changes({}, { api: { controller: Plain } });
    expect(gone.opened).toContain(
      `${at}.controller: GET,HEAD /item.{_format} is no longer restricted by Restricting.customizeQuery`,
    );
    const other = await changes({}, { api: { controller: Other } });
    expect(other.opened).toContain(
      `${at}.controller: GET,HEAD /item.{_format} is restricted by Other.customizeQuery now, was by Restricting.customizeQuery`,
    );
    const back = await changes({ api: { controller: Plain } }, {});
    expect(back.closed).toContain(
      'Restricting.customizeQuery: GET,HEAD /item.{_format} is restricted by Restricting.customizeQuery now',
    );
  });

  test('a replaced handler', async () => {
    const { opened } = await changes(
      {},
      { actions: { archive: { methods: { POST: true }, controller_action: 'otherApi' } }, api: { controller: Plain } },
    );
    expect(opened).toContain(
      `${at}.controller: POST /item/{id}/archive.{_format} is "handler Plain.otherApi" now, was "handler Restricting.archiveApi"`,
    );
  });

  test('a hook that is added or removed', async () => {
    const come = await changes({}, { api: { controller: Hooked } });
    const gone = await changes({ api: { controller: Hooked } }, {});
    expect(come.opened[0]).toBe(
      'Restricting.beforeSerialize: GET,HEAD,POST /item.{_format} runs the hook Restricting.beforeSerialize now, which can change the response',
    );
    expect(gone.opened[0]).toBe('Restricting: GET,HEAD,POST /item.{_format} no longer runs the hook Restricting.beforeSerialize');
    expect([come.closed, gone.closed]).toEqual([[], []]);
  });

  test('a changed requirement', async () => {
    const wider = {
      entity: { methods: { GET: true, PATCH: true }, roles: { PATCH: 'EDIT' }, requirements: { id: '[1-9]\\d*' } },
    };
    const place = `${at}.actions._entity.requirements.id`;
    expect((await changes({}, wider)).opened).toEqual([
      `${place}: GET,PATCH /item/{id}.{_format} accepts [1-9]\\d* as id, accepted \\d+ before`,
    ]);
    expect((await changes(wider, {})).opened).toEqual([
      `${place}: GET,PATCH /item/{id}.{_format} accepts \\d+ as id, accepted [1-9]\\d* before`,
    ]);
  });

  test('the classes of a reference, and its denormalizer', async () => {
    const { opened } = await changes({}, { polymorphic: true, denormalizers: [OwnerDenormalizer] });
    expect(opened).toEqual([
      'Item.owner: POST /item.{_format} writes owner -> Company, owner by OwnerDenormalizer',
      'Item.owner: PATCH /item/{id}.{_format} writes owner -> Company, owner by OwnerDenormalizer',
    ]);
  });

  test('rows of a further class, reported by the association that can hold them', async () => {
    const groups = { owner: ['read', 'write'] };
    const { opened, closed } = await changes({ groups }, { groups, polymorphic: true });
    expect(opened).toContain(
      'Item.owner: GET,POST /item.{_format} reads owner.Company:id, owner.Company:title, owner.Owner:id, owner.Owner:name',
    );
    expect(closed).toEqual([]);
  });

  test('a new class that inherits from the model', async () => {
    const { opened, closed } = await changes({}, { subclass: true });
    expect(opened).toEqual(
      expect.arrayContaining([
        'Special: the model Special is new, with 3 in the group read and 2 in the group write',
        'Special: GET,POST /item.{_format} reads Special:extra, Special:id, Special:title',
      ]),
    );
    expect(closed).toEqual([]);
  });

  test('a new field of an embedded model, reported by its own line', async () => {
    const groups = { owner: ['read'] };
    const { opened } = await changes({ groups: { ...groups, 'Owner.name': ['other'] } }, { groups });
    expect(opened).toEqual([
      'Owner.name: Owner.name is in the group read now',
      'Owner.name: GET,POST /item.{_format} reads owner.name',
      'Owner.name: GET,PATCH /item/{id}.{_format} reads owner.name',
    ]);
  });

  test('a removed filter of the model', async () => {
    const filtered = { model: { filters: { kept: { name: 'kept', cond: { title: 'a' }, default: true } } } };
    expect((await changes(filtered, {})).opened).toEqual(['Item: rows of Item are no longer filtered by kept']);
    expect(await changes({}, filtered)).toEqual({ opened: [], closed: ['Item: rows of Item are filtered by kept now'] });
  });

  test('an API with another base path', async () => {
    const { opened, closed } = await changes({}, { api: { base_path: '/thing' } });
    expect(opened.map((text) => text.split(':')[0])).toEqual(opened.map(() => `${at}.base_path`));
    expect(opened[0]).toBe(`${at}.base_path: GET,HEAD /thing.{_format} is new: requires SEE, reads 2 fields`);
    expect(closed).toContain('null: GET,HEAD,POST /item.{_format} was removed');
  });

  test('routes without a role, now allowed', async () => {
    const required = { security: { require_role: true } };
    const place = 'app_main.security.require_role';
    expect((await changes(required, {})).opened).toEqual([`${place}: routes without a role are allowed now`]);
    expect(await changes({}, required)).toEqual({ opened: [], closed: [`${place}: routes without a role are an error now`] });
  });

  test('a changed issuer or audience', async () => {
    const { opened, closed } = await changes({}, { security: { jwt: { issuer: 'others', audience: 'people' } } });
    expect(opened).toEqual(['app_main.security.jwt.issuer: tokens must have the issuer others now, had to have tests']);
    expect(closed).toEqual([]);
  });
});

describe('changes that close access', () => {
  test.each(reversible)('%s', async (_, variation, __, closed) => {
    expect(await changes(variation, {})).toEqual({ opened: [], closed });
  });
});

describe('the strategy', () => {
  const told = async (from: string, to: string) => {
    const { opened, closed } = await changes({ security: { strategy: from } }, { security: { strategy: to } });
    return opened.length > 0 ? 'opened' : closed.length > 0 ? 'closed' : 'nothing';
  };

  test.each([
    ['affirmative', 'unanimous', 'closed'],
    ['affirmative', 'consensus', 'closed'],
    ['affirmative', 'priority', 'closed'],
    ['consensus', 'unanimous', 'closed'],
    ['unanimous', 'affirmative', 'opened'],
    ['unanimous', 'consensus', 'opened'],
    ['consensus', 'priority', 'opened'],
    ['priority', 'consensus', 'opened'],
    ['priority', 'affirmative', 'opened'],
    ['priority', 'priority', 'nothing'],
  ])('from %s to %s: %s', async (from, to, expected) => {
    expect(await told(from, to)).toBe(expected);
  });

  test.each([
    ['unanimous', [SeeVoter], [SeeVoter, LaterVoter], 'closed'],
    ['unanimous', [SeeVoter, LaterVoter], [SeeVoter], 'opened'],
    ['consensus', [SeeVoter], [SeeVoter, LaterVoter], 'opened'],
    ['consensus', [SeeVoter, LaterVoter], [SeeVoter], 'opened'],
    ['priority', [SeeVoter, LaterVoter], [LaterVoter, SeeVoter], 'opened'],
    ['affirmative', [SeeVoter, LaterVoter], [LaterVoter, SeeVoter], 'nothing'],
  ])('under %s, a change of voters: case %#', async (strategy, from, to, expected) => {
    const { opened, closed } = await changes({ security: { strategy }, voters: from }, { security: { strategy }, voters: to });
    expect([opened.length > 0, closed.length > 0]).toEqual([expected === 'opened', expected === 'closed']);
  });
});

describe('a baseline', () => {
  test('is sorted, has one fact per line and is read as it was written', () => {
    const lines = baselineText(usual)
      .trimEnd()
      .split('\n')
      .filter((line) => !line.startsWith('#'));
    expect(lines).toEqual([...new Set(lines)].sort());
    expect([...readBaseline(baselineText(usual)).facts.keys()]).toEqual(lines);
    expect(compareAccess(readBaseline(baselineText(usual)), usual)).toEqual({ opened: [], closed: [] });
  });

  test.each([true, false])('of an earlier version is read too, in production: %s', (production) => {
    const former = production ? '# As in production.' : '# As outside production.';
    const lines = baselineText(usual).split('\n').slice(2);
    const first = '# Who may do what: made by `declarest access --save`, compared by `declarest access --diff`.';
    const baseline = readBaseline([first, former, ...lines].join('\n'));
    expect(baseline.production).toBe(production);
    expect(baseline.facts).toEqual(readBaseline(baselineText(usual)).facts);
  });

  test('does not depend on the order of declarations', async () => {
    const turned = await matrixOf({
      entity: { roles: { PATCH: 'EDIT' }, methods: { PATCH: true, GET: true } },
      index: { roles: { POST: 'EDIT' }, methods: { POST: true, HEAD: true, GET: true } },
    });
    expect(baselineText(turned)).toBe(baselineText(usual));
  });

  test('contains no secret', async () => {
    const secret = 'a secret of the tests, long enough to sign';
    const text = baselineText(
      await matrixOf({ security: { jwt: { secret }, api_keys: { robot: { key: secret.toUpperCase(), roles: [] } } } }),
    );
    expect(text).toContain('the API key robot');
    expect(text.toLowerCase()).not.toContain(secret.toLowerCase());
  });

  test.each([
    ['', 'line 1'],
    ['app_main:\n', 'line 1'],
    [title, 'it contains no facts'],
    [`${title}/item.{_format} GET reads id\n`, 'line 2: unknown fact "/item.{_format} GET reads id"'],
    [`${title}model Item\n`, 'unknown fact'],
    [`${title}<<<<<<< HEAD\n`, 'unknown fact'],
  ])('that is invalid is rejected: case %#', (text, message) => {
    expect(() => readBaseline(text)).toThrow(message);
  });

  test('is read with the line endings of another system', () => {
    expect(readBaseline(baselineText(usual).replaceAll('\n', '\r\n')).facts.size).toBe(
      readBaseline(baselineText(usual)).facts.size,
    );
  });
});

describe('the baseline of the example', () => {
  test('matches the example; otherwise: npm run generate', async () => {
    const matrix = accessMatrix(await loadApplication({ directory: example, env: {} }));
    const saved = readFileSync(join(example, 'access.baseline'), 'utf8');
    expect(compareAccess(readBaseline(saved), matrix)).toEqual({ opened: [], closed: [] });
    expect(saved).toBe(baselineText(matrix));
  });
});
