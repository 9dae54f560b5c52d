// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Guard } from '../../src/access/guard.ts';
import {
  ApiController,
  type ApiRequest,
  type CodeOptions,
  type ModelQuery,
  problem,
  type User,
  type Vote,
  Voter,
} from '../../src/index.ts';
import { databases, freshDatabase } from '../support/databases.ts';
import { takeObjections } from '../support/documents/watch-responses.ts';
import { type AccessSuiteOptions, accessSuite } from '../support/testing.ts';

// a suite starts the application anew after every write

/** What is wrong with the framework in a test: the suite of an application has to find it. */
const faults = vi.hoisted(() => ({
  guard: null as ((guard: Guard) => Guard) | null,
  rolesOfHead: true,
  restriction: true,
  everybodyIs: null as User | null,
}));

vi.mock('../../src/access/guard.ts', async (original) => {
  const real = await original<typeof import('../../src/access/guard.ts')>();
  return {
    ...real,
    compileGuard: (...given: Parameters<typeof real.compileGuard>) => {
      const guard = real.compileGuard(...given);
      return faults.guard ? faults.guard(guard) : guard;
    },
    rolesFor: (...given: Parameters<typeof real.rolesFor>) =>
      given[2] === 'HEAD' && !faults.rolesOfHead ? [] : real.rolesFor(...given),
  };
});
vi.mock('../../src/actions/restriction.ts', async (original) => {
  const real = await original<typeof import('../../src/actions/restriction.ts')>();
  const restrictionOf: typeof real.restrictionOf = (...given) => (faults.restriction ? real.restrictionOf(...given) : null);
  return { ...real, restrictionOf };
});
vi.mock('../../src/access/authenticator.ts', async (original) => {
  const real = await original<typeof import('../../src/access/authenticator.ts')>();
  const authenticateWith: typeof real.authenticateWith = (...given) => faults.everybodyIs ?? real.authenticateWith(...given);
  return { ...real, authenticateWith };
});

const Author = defineEntity({
  name: 'Author',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read'),
    salary: p.integer().default(1000),
  },
});
const reportSchema = defineEntity({
  name: 'Report',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().groups('read', 'write'),
    owner: p.string().groups('read'),
    details: p.json().nullable().groups('read'),
    archived: p.boolean().default(false),
    draft: p.string().default('the draft'),
    author: () => p.manyToOne(Author).groups('read'),
    readers: () => p.manyToMany(Author).groups('read'),
  },
});
class Report extends reportSchema.class {}
reportSchema.setClass(Report);

class ReportVoter extends Voter<Report> {
  static override roles = ['REPORT_SEE', 'REPORT_SIGN'];
  async vote(_role: string, report: Report | null, user: User | null): Promise<Vote> {
    if (user === null) return 'deny';
    return report === null || report.owner === user.id ? 'grant' : 'deny';
  }
}

class ReportController extends ApiController<Report> {
  override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Report>): void {
    if (!request.user?.roles.includes('ROLE_ADMIN')) query.andWhere({ archived: false });
  }
  async signApi(id: number, request: ApiRequest): Promise<unknown> {
    const report = await this.getEntity('sign', id, request);
    report.title = 'signed';
    await this.em.flush();
    return report;
  }
  peek(): unknown {
    return { title: 'peeked at' };
  }
  summaryApi(): unknown {
    return { total: 3, by: { owner: 2 }, of: [{ id: 1, name: 'Ada' }] };
  }
  latestApi(request: ApiRequest): unknown {
    return this.paginate('latest', request, this.em.createQueryBuilder(Report, 'r').where({ archived: false }));
  }
}

const application: CodeOptions = {
  app_main: {
    apis: {
      report: {
        class: Report,
        base_path: '/report',
        controller: ReportController,
        base_role: 'REPORT_SEE',
        actions: {
          _index: { methods: { GET: true, HEAD: true, POST: true }, roles: { POST: 'ROLE_EDITOR' } },
          _entity: {
            methods: { GET: true, HEAD: true, PUT: true, PATCH: true, DELETE: true },
            roles: { PUT: 'ROLE_EDITOR', PATCH: 'ROLE_EDITOR', DELETE: 'ROLE_ADMIN' },
          },
          sign: { methods: { POST: true }, roles: { POST: 'REPORT_SIGN' } },
          summary: { methods: { GET: true }, 'single-collection': 'collection' },
          latest: { methods: { GET: true }, 'single-collection': 'collection', roles: { GET: 'ROLE_EDITOR' } },
          readers: { association: { property: 'readers' } },
          peek: {
            methods: { GET: true, HEAD: true },
            roles: { GET: 'ROLE_EDITOR', HEAD: null },
            controller_action: 'peek',
          },
        },
      },
      author: { class: Author, base_path: '/author', actions: { _index: null, _entity: null } },
    },
    security: {
      jwt: { secret: 'a-secret-of-more-than-thirty-two-characters' },
      role_hierarchy: { ROLE_ADMIN: ['ROLE_EDITOR'] },
    },
  },
  models: [Author, Report],
  controllers: [ReportController],
  voters: [ReportVoter],
  seed: async (em) => {
    const author = em.create(Author, { name: 'Ada' });
    for (const [owner, archived] of [
      ['ada', false],
      ['ben', false],
      ['ada', true],
    ] as const)
      em.create(Report, { title: `Of ${owner}`, owner, archived, author, details: { free: { of: 'form' } } });
    await em.flush();
  },
};

const actors = { Ada: { id: 'ada', roles: ['ROLE_ADMIN'] }, Ben: { id: 'ben', roles: ['ROLE_EDITOR'] }, Cleo: { id: 'cleo' } };
const fields = { app_api_single_report_summary: ['total', 'by.owner', 'of'] };

interface Outcome {
  readonly titles: readonly string[];
  /** What was said of the tests that failed, by their titles. */
  readonly failures: Readonly<Record<string, string>>;
}

/** Runs the suite of an application as a test runner would: all tests of it, or those whose titles begin with one of some texts. */
async function run(options: Partial<CodeOptions & AccessSuiteOptions>, only: readonly string[] = ['']): Promise<Outcome> {
  const tests: { title: string; work: () => Promise<void> }[] = [];
  const ends: (() => Promise<void>)[] = [];
  await accessSuite({
    ...application,
    actors,
    fields,
    ...options,
    test: (title, work) => tests.push({ title, work }),
    afterAll: (end) => ends.push(end),
  } as AccessSuiteOptions);
  const failures: Record<string, string> = {};
  const asked = tests.filter(({ title }) => only.some((start) => title.startsWith(start)));
  for (const { title, work } of asked) await work().catch((error: Error) => Object.assign(failures, { [title]: error.message }));
  for (const end of ends) await end();
  return { titles: tests.map(({ title }) => title), failures };
}

const coverage = 'every route with roles was granted to one caller and denied to another';
const apart = 'voters with a subject decide differently for different rows';
/** What neither writes nor takes long, and what looks back at the end. */
const reads = ['GET ', 'HEAD ', coverage, apart];
const rows = ['GET /report/{id}.', coverage, apart];

describe.each(databases)('the access suite on %s', (kind) => {
  let opened = 0;
  let dropped = 0;
  const database = async () => {
    const fresh = await freshDatabase(kind);
    opened++;
    const drop = async () => {
      await fresh.drop();
      dropped++;
    };
    return { url: fresh.url, drop };
  };

  beforeEach(() => {
    Object.assign(faults, { guard: null, rolesOfHead: true, restriction: true, everybodyIs: null });
    opened = 0;
    dropped = 0;
  });
  afterEach(() => {
    // whatever was made for the suite was removed by it
    expect(dropped).toBe(opened);
  });

  test('passes for an application that behaves as declared, and tries every method as every actor', async () => {
    const { titles, failures } = await run({ database });
    expect(failures).toEqual({});
    const people = ['anonymous', 'a user with REPORT_SEE alone', 'a user with ROLE_ADMIN alone', 'a user with all roles', 'Ada'];
    for (const who of people) {
      expect(titles).toContain(`HEAD /report/{id}.{_format} as ${who}`);
      expect(titles).toContain(`DELETE /report/{id}/readers.{_format} as ${who}`);
      expect(titles).toContain(`GET /author.{_format} as ${who}`);
    }
    expect(titles).toContain('DELETE /author.{_format} is not enabled');
    expect(titles.slice(-2)).toEqual([coverage, apart]);
    expect(new Set(titles).size).toBe(titles.length);
    // the first one, and one after each write: two handlers and a removal
    expect(opened).toBe(4);
  });

  test('applies the decisions of checkAccess and getEntity overrides', async () => {
    class OverridingController extends ReportController {
      override async checkAccess(action: string, request: ApiRequest, subject: Report | null): Promise<void> {
        await super.checkAccess(action, request, subject);
        if (subject?.id === 2) throw problem('access_denied');
      }
      override async getEntity(action: string, id: unknown, request: ApiRequest): Promise<Report> {
        if (id === 3) throw problem('entity_not_found', { model: 'report' });
        return super.getEntity(action, id, request);
      }
    }
    const { report, author } = (application.app_main?.apis ?? {}) as Record<string, object>;
    const app_main = { ...application.app_main, apis: { report: { ...report, controller: OverridingController }, author } };
    const reading = { database, app_main, controllers: [OverridingController] } as never;
    expect((await run(reading, ['GET /report/{id}.', 'GET /report.'])).failures).toEqual({});
    faults.guard = (guard) => ({ ...guard, check: () => undefined });
    const { failures } = await run(reading, ['GET /report/{id}.']);
    expect(Object.values(failures).join()).toContain('200');
  });

  test('requests rows by the ids that getEntity accepts', async () => {
    class NamedController extends ReportController {
      override async getEntity(action: string, id: unknown, request: ApiRequest): Promise<Report> {
        return super.getEntity(action, /^no-(\d+)$/.exec(String(id))?.[1], request);
      }
    }
    const { report, author } = (application.app_main?.apis ?? {}) as Record<string, any>;
    const actions = { _entity: { ...report.actions._entity, requirements: { id: '[a-z0-9-]+' } } };
    const optionsFor = (controller: unknown) => ({
      database,
      app_main: { ...application.app_main, apis: { report: { ...report, controller, actions }, author } },
      controllers: [controller],
    });
    expect((await run(optionsFor(NamedController) as never)).failures[coverage]).toContain(
      'NamedController.getEntity returned none of the rows; if it does not accept keys, set what it accepts: ids: { report: (row) => … }',
    );
    const named = { ...optionsFor(NamedController), ids: { report: ({ id }: Report) => `no-${id}` } } as never;
    expect((await run(named)).failures).toEqual((await run(optionsFor(ReportController) as never)).failures);
    faults.guard = (guard) => ({ ...guard, check: () => undefined });
    expect(Object.values((await run(named, ['GET /report/{id}.'])).failures).join()).toContain('200');
  });

  test('finds a voter that reads unloaded properties', async () => {
    class ReadingVoter extends ReportVoter {
      override async vote(role: string, report: Report | null, user: User | null): Promise<Vote> {
        return report && (report as { author?: { name?: string } }).author?.name === 'Eve'
          ? 'deny'
          : super.vote(role, report, user);
      }
    }
    const { failures } = await run({ database, voters: [ReadingVoter] }, ['GET /report/{id}.']);
    expect(Object.values(failures).join()).toMatch(/Author.name was not loaded/);
    class LoadingVoter extends ReadingVoter {
      static override loads = ['author'];
    }
    expect((await run({ database, voters: [LoadingVoter] }, ['GET /report/{id}.'])).failures).toEqual({});
  });

  // what it finds does not depend on the database
  if (kind !== 'sqlite') return;

  test('finds missing guards', async () => {
    faults.guard = (guard) => ({ ...guard, check: () => undefined });
    const { failures } = await run({ database }, [...reads, 'DELETE /report/{id}.{_format} as Ben']);
    expect(failures).toMatchObject({
      'GET /report.{_format} as anonymous': expect.stringMatching(/returned 200, but must return 401: REPORT_SEE/),
      'GET /report/{id}.{_format} as Cleo': expect.stringMatching(/returned 200, but must return 403: REPORT_SEE/),
      'DELETE /report/{id}.{_format} as Ben': expect.stringMatching(/returned 204, but must return 403/),
    });
  });

  test('finds that only the first of several roles is checked', async () => {
    faults.guard = (guard) => ({
      ...guard,
      check: async (subject, user, request) => {
        const [first] = guard.roles;
        if (first === 'REPORT_SEE' && (await new ReportVoter().vote(first, subject as Report, user)) === 'grant') return;
        await guard.check(subject, user, request);
      },
    });
    const { failures } = await run({ database }, [...reads, 'DELETE /report/{id}.{_format} as Ben']);
    expect(failures['DELETE /report/{id}.{_format} as Ben']).toMatch(
      /returned 204, but must return 403: ROLE_ADMIN is not granted/,
    );
    expect(failures).not.toHaveProperty('GET /report/{id}.{_format} as Ben');
  });

  test('finds that HEAD is not guarded like GET', async () => {
    faults.rolesOfHead = false;
    const { failures } = await run({ database }, reads);
    expect(failures['HEAD /report.{_format} as anonymous']).toMatch(/returned 200, but must return 401/);
    expect(failures['HEAD /report/{id}.{_format} as Cleo']).toMatch(/returned 200, but must return 403/);
    expect(failures).not.toHaveProperty('GET /report.{_format} as anonymous');
  });

  test('finds that voters do not get the row as subject', async () => {
    faults.guard = (guard) => ({ ...guard, check: (_, user, request) => guard.check(null, user, request) });
    const { failures } = await run({ database }, reads);
    expect(failures['GET /report/{id}.{_format} as Ben']).toMatch(/report\/1\.json as Ben: returned 200, but must return 403/);
  });

  test('fails if a response shows rows that customizeQuery hides', async () => {
    faults.restriction = false;
    const { failures } = await run({ database }, reads);
    expect(failures['GET /report/{id}.{_format} as Ben']).toMatch(/report\/3\.json as Ben: returned 403, but must return 404/);
    expect(failures['GET /report.{_format} as Ben']).toMatch(/counted 3 rows, but the caller can see 2/);
    expect(failures).not.toHaveProperty('GET /report.{_format} as Ada');
  });

  test('finds that callers are authenticated as another user', async () => {
    faults.everybodyIs = { id: 'ada', roles: ['ROLE_ADMIN'] };
    const { failures } = await run({ database }, reads);
    expect(failures['GET /author.{_format} as anonymous']).toMatch(/the caller was authenticated as "ada"/);
    expect(failures).not.toHaveProperty('GET /author.{_format} as Ada');
  });

  test.each([
    ['a group of its own', (report: Report, { json }: Leaky) => json(report, { groups: ['read', 'extra'] })],
    ['a copy', (report: Report) => ({ id: report.id, title: report.title, draft: report.draft })],
    ['a list', (report: Report) => [{ id: report.id }, { draft: report.draft }]],
    ['an embedded row', (report: Report) => ({ id: report.id, author: { id: 1, draft: 'the draft' } })],
    ['a row below a key that it may have', (report: Report) => ({ total: { id: report.id, draft: report.draft } })],
    ['a collection', (report: Report) => ({ count: 1, results: [{ draft: report.draft }], pagination: {} })],
    ['a collection with more to it', () => ({ count: 1, results: [], pagination: {}, draft: 'the draft' })],
  ])('finds a handler that leaks fields by %s', async (_title, leak) => {
    const Leaking = defineEntity({
      name: 'Report',
      properties: {
        id: p.integer().primary().groups('read'),
        title: p.string().groups('read', 'write'),
        owner: p.string().groups('read'),
        draft: p.string().default('the draft').groups('extra'),
        author: () => p.manyToOne(Author).nullable().groups('read'),
      },
    });
    class LeakController extends ApiController {
      async signApi(id: number, request: ApiRequest): Promise<unknown> {
        return leak(await this.getEntity('sign', id, request), { json: (value, options) => this.json(value, options) });
      }
    }
    const { failures } = await run(
      {
        database,
        fields: { app_api_single_report_sign: ['total'] },
        models: [Author, Leaking],
        controllers: [LeakController],
        app_main: {
          ...application.app_main,
          apis: {
            report: {
              class: Leaking,
              base_path: '/report',
              controller: LeakController,
              base_role: 'REPORT_SEE',
              actions: { _entity: null, sign: { methods: { POST: true } } },
            },
          },
        },
        seed: async (em) => {
          for (const owner of ['ada', 'ben']) em.create(Leaking, { title: 'T', owner } as never);
          await em.flush();
        },
      },
      ['POST '],
    );
    expect(Object.keys(failures)).toEqual(['POST /report/{id}/sign.{_format} as Ada', 'POST /report/{id}/sign.{_format} as Ben']);
    expect(Object.values(failures)[0]).toMatch(
      /returned fields that it must not return: (?:author\.|total\.)?draft; if this is intended, allow it/,
    );
  });

  test('finds fields that a hook adds to a default action', async () => {
    class HookController extends ReportController {
      override beforeSerialize(action: string, _request: ApiRequest, value: unknown): unknown {
        if (action !== '_entity' || !(value instanceof Report)) return undefined;
        return this.json({ id: value.id, draft: value.draft });
      }
    }
    const { failures } = await run({ database, ...withController(HookController) }, reads);
    expect(failures['GET /report/{id}.{_format} as Ben']).toMatch(/returned fields that it must not return: draft$/);
    expect(failures).not.toHaveProperty('GET /report.{_format} as Ben');
    // the document does not know of it either
    expect(await takeObjections()).toContainEqual(expect.stringContaining("must have required property 'title'"));
  });

  test('finds a voter that ignores the row, unless that is declared', async () => {
    class CarelessVoter extends Voter {
      static override roles = ['REPORT_SEE', 'REPORT_SIGN'];
      vote(_role: string, _subject: unknown, user: User | null): Vote {
        return user === null ? 'deny' : 'grant';
      }
    }
    const careless = await run({ database, voters: [CarelessVoter] }, rows);
    expect(careless.failures).toEqual({
      [apart]: expect.stringMatching(/same decision on REPORT_SEE for all rows.*sameForEveryRow: \["REPORT_SEE"\]/),
    });
    const meant = await run({ database, voters: [CarelessVoter], sameForEveryRow: ['REPORT_SEE'] }, rows);
    expect(meant.failures).toEqual({});
  });

  test('fails if a handler returns 500', async () => {
    class FailingController extends ReportController {
      override summaryApi(): unknown {
        throw new Error('broken');
      }
    }
    const { failures } = await run({ database, ...withController(FailingController) }, reads);
    expect(failures['GET /report/summary.{_format} as Ada']).toMatch(/returned 500/);
    expect(failures).not.toHaveProperty('GET /report/summary.{_format} as anonymous');
  });

  test('fails for routes without a granted and a denied caller, and for tables without rows', async () => {
    const nobody = await run({ database, actors: {} }, reads);
    expect(Object.keys(nobody.failures)).toEqual([coverage, apart]);
    expect(nobody.failures[coverage]).toMatch(
      /GET \/report\/\{id\}\.\{_format\}: no caller was granted REPORT_SEE \(ReportVoter\); add a user/,
    );
    expect(nobody.failures[coverage]).not.toMatch(/GET \/report\.\{_format\}/);

    class LenientVoter extends Voter {
      static override roles = ['REPORT_SEE', 'REPORT_SIGN'];
      vote(): Vote {
        return 'grant';
      }
    }
    const lenient = await run({ database, voters: [LenientVoter] }, reads);
    expect(lenient.failures[coverage]).toMatch(/GET \/report\.\{_format\}: no caller was denied REPORT_SEE \(LenientVoter\)/);
    expect(lenient.failures[coverage]).not.toMatch(/author/);
    const all = { sameForEveryRow: ['REPORT_SEE'], neverRefused: ['GET app_api_single_report__index'] };
    const meant = await run({ database, voters: [LenientVoter], ...all }, ['GET /report.', coverage, apart]);
    expect(meant.failures).toEqual({});

    const empty = await run({ database, seed: () => undefined }, reads);
    expect(empty.failures[coverage]).toMatch(/GET \/author\/\{id\}\.\{_format\}: Author has no row; add one/);
    const prepare = application.seed as NonNullable<CodeOptions['seed']>;
    const prepared = await run({ database, seed: () => undefined, prepare }, reads);
    expect(prepared.failures).toEqual({});
  });
});

interface Leaky {
  json(value: unknown, options: { groups: readonly string[] }): unknown;
}

function withController(controller: typeof ReportController): Pick<CodeOptions, 'app_main' | 'controllers'> {
  const { apis, ...others } = application.app_main;
  const { report, author } = apis as Record<'report' | 'author', object>;
  return {
    controllers: [controller],
    app_main: { ...others, apis: { report: { ...report, controller }, author } as never },
  };
}

describe('the access suite', () => {
  beforeEach(() => {
    Object.assign(faults, { guard: null, rolesOfHead: true, restriction: true, everybodyIs: null });
  });

  const keys = {
    app_main: {
      apis: {
        author: {
          class: Author,
          base_path: '/of/{country}/author',
          base_role: 'ROLE_ADMIN',
          actions: { _index: { methods: { GET: true, POST: true } } },
        },
      },
      security: { api_keys: { robot: { key: 'the-key-of-the-robot', roles: ['ROLE_ADMIN'] } } },
    },
    controllers: [],
    voters: [],
    actors: {},
  } as const;
  const robot = (user: { readonly roles?: readonly string[] }) =>
    user.roles?.includes('ROLE_ADMIN') ? { 'x-api-key': 'the-key-of-the-robot' } : { 'x-api-key': 'another' };

  test('names the missing settings: placeholders and credentials', async () => {
    const untold = await run(keys);
    expect(untold.failures['GET /of/{country}/author.{_format} as anonymous']).toMatch(/set parameters: { country: … }/);
    const tokens = await run({ ...keys, parameters: { country: 'x' } });
    expect(tokens.failures['GET /of/{country}/author.{_format} as a user with ROLE_ADMIN alone']).toMatch(/headersFor/);
  });

  test('sends required query parameters, which voters and customizeQuery receive', async () => {
    class ShelfController extends ReportController {
      override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Report>): void {
        if (request.parameters.owner !== undefined) query.andWhere({ owner: request.parameters.owner as string });
      }
    }
    const { apis, ...others } = application.app_main;
    const { report, author } = apis as unknown as Record<'report' | 'author', { actions: { _index: object; _entity: object } }>;
    const parameters = { owner: { required: true } };
    const actions = { _index: { ...report.actions._index, parameters }, _entity: { ...report.actions._entity, parameters } };
    const asking = {
      controllers: [ShelfController],
      app_main: { ...others, apis: { report: { ...report, controller: ShelfController, actions }, author } as never },
    };
    const untold = await run(asking, ['GET /report']);
    expect(untold.failures['GET /report.{_format} as Ada']).toMatch(/set parameters: { owner: … }/);
    expect((await run({ ...asking, parameters: { owner: 'ada' } }, ['GET ', 'HEAD ', 'PATCH '])).failures).toEqual({});
  });

  test('supports credentials of another kind and sends the given bodies', async () => {
    const sent = { ...keys, parameters: { country: 'a b' }, headersFor: robot, userId: 'robot' };
    expect((await run(sent)).failures).toEqual({});
    const bodies = { 'POST app_api_single_author__index': { name: 'New', salary: 1 } };
    expect((await run({ ...sent, bodies })).failures).toEqual({});
  });

  test('runs one test at a time, whatever the runner does', async () => {
    const tests: (() => Promise<void>)[] = [];
    const ends: (() => Promise<void>)[] = [];
    await accessSuite({
      ...application,
      actors,
      fields,
      test: (_, work) => tests.push(work),
      afterAll: (end) => ends.push(end),
    });
    await expect(Promise.all(tests.map((work) => work()))).resolves.toHaveLength(tests.length);
    for (const end of ends) await end();
  });
});
