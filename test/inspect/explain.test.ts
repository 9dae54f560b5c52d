import { defineEntity, p } from '@mikro-orm/core';
import { beforeEach, describe, expect } from 'vitest';
import { ApiController, type ApiRequest, problem } from '../../src/index.ts';
import { useApplication } from '../spec/fixtures/use-application.ts';
import { databases, freshDatabase } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { type CheckStep, type Explanation, type StatementStep, startApplication } from '../support/testing.ts';
import { apiKey, calls, notebook } from './notebook.ts';

const ada = { id: 1, roles: ['ROLE_USER'] };
const admin = { id: 9, roles: ['ROLE_ADMIN'] };

function statements({ steps }: Explanation): StatementStep[] {
  return steps.filter((step) => step.kind === 'statement');
}

function checks({ steps }: Explanation): CheckStep[] {
  return steps.filter((step) => step.kind === 'check');
}

describe.each(databases)('the explanation of a request on %s', (kind) => {
  const application = useApplication(kind, notebook);
  const explain: typeof application.app.explain = (...args) => application.app.explain(...args);
  beforeEach(() => {
    calls.length = 0;
  });

  test('of an entity shows the route, the caller, checks and statements in order, and the fields', async () => {
    const explained = await explain('GET', '/note/1.json', { as: ada });
    expect(explained).toMatchObject({
      method: 'GET',
      path: '/note/1.json',
      outcome: 'answered',
      status: 200,
      reason: null,
      database: { is: 'existing' },
      route: {
        name: 'app_api_single_note__entity',
        path: '/note/{id}.{_format}',
        params: { id: '1' },
        format: 'json',
        controller: 'NoteController',
        handler: 'entityApi',
        roles: ['NOTE_SEE'],
        compiled: true,
        needsEntity: null,
      },
      others: [],
      caller: { by: 'credential', user: { id: '1', roles: ['ROLE_USER'] }, refused: null },
      fields: { read: ['id', 'title', 'labels[].id', 'labels[].text'], sent: ['id', 'title', 'labels[]'], write: null },
      next: [],
    });
    expect(explained.steps.map(({ kind: step }) => step)).toEqual(['call', 'statement', 'check', 'statement']);
    expect(explained.steps[0]).toEqual({ kind: 'call', name: 'NoteController.customizeQuery', replied: false, threw: false });
    expect(checks(explained)).toEqual([
      {
        kind: 'check',
        isForGroups: false,
        subject: 'Note 1',
        strategy: 'affirmative',
        roles: [{ role: 'NOTE_SEE', votes: [{ voter: 'NoteVoter', vote: 'grant' }], granted: true }],
        granted: true,
      },
    ]);
  });

  test('shows the statements of a real request, with their parameters', async () => {
    application.app.statements.length = 0;
    await application.request('GET', '/note/1.json', { as: ada });
    const served = [...application.app.statements];
    const explained = await explain('GET', '/note/1.json', { as: ada });
    expect(statements(explained).map(({ sql }) => sql)).toEqual(served);
    expect(statements(explained)[0]?.parameters.map(String)).toContain('1');
    expect(application.app.statements).toEqual(served);
  });

  test('of a list checks access without a subject before any statement', async () => {
    const explained = await explain('GET', '/note.json?page=1', { user: ada });
    expect(explained).toMatchObject({ status: 200, caller: { by: 'given', user: { id: 1 } } });
    expect(explained.steps[0]).toMatchObject({ kind: 'check', subject: null, granted: true });
    expect(explained.fields.sent).toEqual(['id', 'title', 'labels[]']);
  });

  test('of HEAD is the explanation of GET without response fields', async () => {
    const explained = await explain('HEAD', '/note/1.json', { user: ada });
    expect(explained).toMatchObject({
      status: 200,
      fields: { read: ['id', 'title', 'labels[].id', 'labels[].text'], sent: null },
    });
    expect(checks(explained)).toMatchObject([{ subject: 'Note 1', granted: true }]);
  });

  test('of a custom action names the handler and the statements that it sends', async () => {
    const explained = await explain('GET', '/note/first.json', { user: ada });
    expect(explained).toMatchObject({ status: 200, route: { handler: 'firstApi', compiled: null }, fields: { read: null } });
    expect(explained.steps.map((step) => (step.kind === 'call' ? step.name : step.kind))).toEqual([
      'check',
      'NoteController.firstApi',
      'statement',
      // how many labels there are
      ...(kind === 'sqlite' ? ['statement'] : []),
      'statement',
    ]);
    expect(statements(explained)[0]?.by).toBe('NoteController.firstApi');
    expect(explained.fields.sent).toEqual(['id', 'title', 'labels[]']);
  });

  test('of a wrong token gives that as the reason and stops', async () => {
    const explained = await explain('GET', '/note/1.json', { as: 'abc.def.ghijklmnop' });
    expect(explained).toMatchObject({
      outcome: 'refused',
      status: 401,
      reason: { code: 'invalid_credentials' },
      caller: { by: 'credential', user: null },
      steps: [],
    });
    expect(explained.caller.refused).toMatch(/token/);
    expect(JSON.stringify(explained)).not.toContain('ghijklmnop');
  });

  test('accepts an API key', async () => {
    const explained = await explain('GET', '/tag.json', { as: apiKey });
    expect(explained).toMatchObject({ status: 200, caller: { user: { id: 'robot', roles: ['ROLE_ADMIN'] } } });
    expect(JSON.stringify(explained)).not.toContain(apiKey);
    expect(await explain('GET', '/tag.json', { as: 'another-key' })).toMatchObject({ status: 401, steps: [] });
  });

  test('passes a custom header to the authenticator of the application', async () => {
    const explained = await explain('GET', '/note.json', { headers: { 'x-session': 'session-of-7' } });
    expect(explained).toMatchObject({ status: 200, caller: { by: 'credential', user: { id: 7 } } });
  });

  test('of an anonymous request names the voter that denied it', async () => {
    const explained = await explain('GET', '/note.json');
    expect(explained).toMatchObject({
      status: 401,
      caller: { by: 'nobody', user: null, refused: null },
      reason: {
        code: 'authentication_required',
        message: 'NOTE_SEE: NoteVoter voted deny; the request is anonymous',
        remedy: 'authenticate: send a token (--as TOKEN), or run as a user (--user JSON)',
      },
    });
    expect(statements(explained)).toEqual([]);
  });

  test('of a denied request does not check the roles after the denied one', async () => {
    const explained = await explain('PATCH', '/note/4.json', { user: ada });
    expect(explained).toMatchObject({ outcome: 'refused', status: 403, reason: { code: 'access_denied' }, next: [] });
    expect(explained.reason?.message).toBe('NOTE_CHANGE: NoteVoter voted deny on Note 4');
    expect(checks(explained)[0]).toMatchObject({
      granted: false,
      roles: [
        { role: 'NOTE_SEE', granted: true },
        { role: 'NOTE_CHANGE', granted: false },
      ],
    });
    const early = await explain('PATCH', '/note/1.json');
    expect(checks(early)[0]?.roles).toEqual([
      { role: 'NOTE_SEE', votes: [{ voter: 'NoteVoter', vote: 'deny' }], granted: false },
      { role: 'NOTE_CHANGE', votes: [], granted: null },
    ]);
  });

  test('reports if every voter abstains', async () => {
    const explained = await explain('GET', '/label.json', { user: ada });
    expect(explained).toMatchObject({
      status: 403,
      reason: {
        message: 'LABEL_SEE: UndecidedVoter abstained, and no other voter handles it',
        remedy: 'have a voter grant LABEL_SEE: access is denied if all abstain',
      },
    });
  });

  test('of a role that the user lacks lists the roles that include it', async () => {
    const explained = await explain('GET', '/tag/1.json', { user: ada });
    expect(explained.reason).toEqual({
      code: 'access_denied',
      message: 'ROLE_EDITOR: RoleVoter voted deny',
      remedy: 'the user needs ROLE_EDITOR, or one that includes it (ROLE_ADMIN), and has ROLE_USER',
    });
  });

  test('names a voter that throws, with its error', async () => {
    const explained = await explain('PATCH', '/label/1.json', { user: ada });
    expect(explained).toMatchObject({ outcome: 'failed', status: 500 });
    expect(explained.reason?.message).toBe('the voter BrokenVoter failed for the role "LABEL_COUNT": the tables are gone');
    expect(checks(explained)[0]).toMatchObject({ granted: null, roles: [{ votes: [{ voter: 'BrokenVoter', vote: 'failed' }] }] });
  });

  test.each([
    ['/note/99.json', 'the row Note 99 does not exist'],
    ['/note/2.json', 'Note 2 is hidden by NoteController.customizeQuery'],
    ['/note/3.json', 'Note 3 is hidden by the filter alive of the model'],
    ['/note/99999999999999999999.json', 'no Note can have the id "99999999999999999999": its column cannot hold it'],
    ['/note/1/gone.json', 'no page has this id: NoteController.goneApi threw it'],
  ])('of the 404 of %s gives the reason: %s', async (path, message) => {
    const explained = await explain('GET', path, { user: ada });
    expect(explained).toMatchObject({ outcome: 'refused', status: 404, reason: { code: 'entity_not_found', message } });
    expect(await application.request('GET', path, { as: ada })).toMatchObject({ status: 404 });
  });

  test('does not list its own search for the row among the steps', async () => {
    const hidden = await explain('GET', '/note/2.json', { user: ada });
    expect(statements(hidden)).toHaveLength(1);
    expect(checks(hidden)).toEqual([]);
  });

  test.each([
    ['PUT', '/label.json', 405, 'method_not_allowed'],
    ['GET', '/label.xml', 404, 'unknown_format'],
    ['GET', '/nothing.json', 404, 'not_found'],
  ])('without a matching route for %s %s gives the reason for each route', async (method, path, status, code) => {
    const explained = await explain(method, path, { user: ada });
    expect(explained).toMatchObject({ status, route: null, reason: { code }, steps: [] });
    expect(explained.others).toHaveLength(application.app.application.records.length);
  });

  test('shows request errors at the step of the failure', async () => {
    const parameter = await explain('GET', '/note.json?pag=1', { user: ada });
    expect(parameter).toMatchObject({ status: 400, reason: { code: 'unknown_parameter' } });
    expect(parameter.reason?.message).toContain('"pag"');
    expect(checks(parameter)).toMatchObject([{ granted: true }]);
    const method = await explain('PUT', '/note.json', { user: ada });
    expect(method).toMatchObject({ status: 400, reason: { code: 'method_not_supported' } });
    expect(await explain('PATCH', '/note/1.json?x=1', { user: ada })).toMatchObject({ reason: { code: 'unknown_parameter' } });
  });

  test('attributes a response with its own status to the hook or handler', async () => {
    const early = await explain('GET', '/label/1.json', { headers: { 'x-early': 'yes' } });
    expect(early).toMatchObject({
      status: 403,
      reason: { message: expect.stringContaining('LabelController.afterAccessCheck replied') },
    });
    const handled = await explain('GET', '/note/early.json', { user: ada });
    expect(handled).toMatchObject({
      status: 425,
      reason: { message: expect.stringContaining('NoteController.earlyApi replied') },
    });
  });

  describe('of a write', () => {
    const rows = () => application.rows('select id, title, owner from note order by id');

    test.each([
      ['POST', '/note.json', 201, ['title', 'owner']],
      ['PATCH', '/note/1.json', 200, ['title', 'owner']],
      ['PUT', '/note/1.json', 200, ['title', 'owner']],
      ['DELETE', '/note/1.json', 204, null],
      ['POST', '/note/1/labels.json', 200, null],
      ['DELETE', '/note/1/labels.json', 200, null],
    ])('%s %s stops before the change', async (method, path, status, write) => {
      const before = await rows();
      const explained = await explain(method, path, { user: ada });
      expect(explained).toMatchObject({ outcome: 'stopped', status, reason: null, fields: { write, sent: null } });
      expect(checks(explained)).toMatchObject([{ subject: path.startsWith('/note/1') ? 'Note 1' : null, granted: true }]);
      expect(explained.next.at(-1)).toContain(`return ${status}`);
      expect(explained.next.includes('NoteController.afterValidation')).toBe(status !== 204);
      expect(await rows()).toEqual(before);
      expect(calls).toEqual([]);
    });

    test('reads and validates the body, and writes nothing', async () => {
      const before = await rows();
      const fine = await explain('PATCH', '/note/1.json', { user: ada, json: { title: 'new' } });
      expect(fine).toMatchObject({ outcome: 'stopped', status: 200 });
      expect(fine.next[0]).toBe('NoteController.afterValidation');
      expect(await explain('POST', '/note.json', { user: ada, json: { title: 'new', owner: 1 } })).toMatchObject({ status: 201 });
      const refusals = [
        ['PATCH', '/note/1.json', { title: 'forbidden' }, 422, 'validation_failed'],
        ['PATCH', '/note/1.json', { secret: 'x' }, 400, 'unknown_field'],
        ['POST', '/note.json', {}, 422, 'validation_failed'],
        ['PATCH', '/note/1.json', [], 400, 'invalid_body'],
      ] as const;
      for (const [method, path, json, status, code] of refusals)
        expect(await explain(method, path, { user: ada, json })).toMatchObject({ outcome: 'refused', status, reason: { code } });
      expect(await rows()).toEqual(before);
      expect(calls).toEqual([]);
    });

    test('that adds an item looks it up and stops', async () => {
      const links = () => application.rows('select * from note_labels');
      const fine = await explain('POST', '/note/1/labels.json', { user: admin, json: { id: 1 } });
      expect(fine).toMatchObject({ status: 403 });
      const before = await links();
      expect(await explain('POST', '/note/1/labels.json', { user: ada, json: { id: 1 } })).toMatchObject({
        outcome: 'stopped',
        status: 200,
        next: ['NoteController.afterValidation', 'write the changes, and commit', 'return 200 with the item in the group read'],
      });
      expect(await explain('POST', '/note/1/labels.json', { user: ada, json: { id: 77 } })).toMatchObject({
        status: 400,
        reason: { code: 'reference_not_found', message: 'label id not found' },
      });
      expect(await links()).toEqual(before);
    });

    test('does not run a handler of the application', async () => {
      const explained = await explain('POST', '/note/1/send.json', { user: ada, json: { title: 'x' } });
      expect(explained).toMatchObject({ outcome: 'stopped', status: null, reason: null });
      expect(explained.next).toEqual(['NoteController.sendApi, which is not run: it may do more than write']);
      expect(calls).toEqual([]);
      // and it is refused as ever
      expect(await explain('POST', '/note/2/send.json', { user: ada })).toMatchObject({ status: 404 });
      expect(await explain('POST', '/note/1/send.json')).toMatchObject({ status: 401 });
    });

    test('lets the database stop a handler that writes during a read', async () => {
      const before = await rows();
      const explained = await explain('GET', '/note/count.json', { user: ada });
      expect(explained).toMatchObject({ outcome: 'failed', status: null });
      expect(explained.reason?.message).toMatch(/^NoteController\.countApi changes the database/);
      expect(await rows()).toEqual(before);
      expect((await application.request('GET', '/note/count.json', { as: ada })).status).toBe(200);
      expect(await rows()).not.toEqual(before);
    });
  });

  test('sees rows that were just written', async () => {
    const { status } = await application.request('POST', '/note.json', { as: ada, json: { title: 'fresh', owner: 1 } });
    expect(status).toBe(201);
    const id = (await application.rows('select max(id) as id from note'))[0]?.id;
    expect(await explain('GET', `/note/${id}.json`, { user: ada })).toMatchObject({ status: 200 });
  });

  test('does not interfere with concurrent explanations', async () => {
    const paths = ['/note/1.json', '/note/2.json', '/note/4.json', '/note.json', '/note/99.json'];
    const explained = await Promise.all(paths.map((path) => explain('GET', path, { user: ada })));
    expect(explained.map(({ path, status }) => [path, status])).toEqual(
      paths.map((path, i) => [path, [200, 404, 200, 200, 404][i]]),
    );
    expect(explained.map((one) => checks(one).length)).toEqual([1, 0, 1, 1, 0]);
  });
});

test('the explanation of a request copies an in-memory database, and again after a change', async () => {
  const app = await startApplication({ ...notebook, databaseUrl: 'sqlite::memory:' });
  try {
    expect(await app.explain('GET', '/note/5.json', { user: ada })).toMatchObject({
      status: 404,
      database: { address: 'sqlite::memory:', is: 'copy' },
    });
    await app.request('POST', '/note.json', { as: ada, json: { title: 'fifth', owner: 1 } });
    expect(await app.explain('GET', '/note/5.json', { user: ada })).toMatchObject({ status: 200 });
    expect(await app.explain('DELETE', '/note/5.json', { user: ada })).toMatchObject({ outcome: 'stopped', status: 204 });
    expect((await app.request('GET', '/note/5.json', { as: ada })).status).toBe(200);
  } finally {
    await app.close();
  }
});

test('the explanation of a request names overrides that deny access', async () => {
  const Crate = defineEntity({ name: 'Crate', properties: { id: p.integer().primary().groups('read') } });
  class CrateController extends ApiController<{ id: number }> {
    override async checkAccess(action: string, request: ApiRequest, crate: { id: number } | null): Promise<void> {
      await super.checkAccess(action, request, crate);
      if (crate?.id === 2) throw problem('access_denied');
    }
    override async getEntity(action: string, id: unknown, request: ApiRequest): Promise<{ id: number }> {
      if (id === 3) throw problem('entity_not_found', { model: 'crate' });
      return super.getEntity(action, id, request);
    }
  }
  const fresh = await freshDatabase('sqlite');
  const app = await startApplication({
    app_main: {
      apis: {
        crate: {
          class: Crate,
          base_path: '/crate',
          controller: CrateController,
          actions: { _entity: { requirements: { id: '[a-z0-9]+' } } },
        },
      },
      database: { url: fresh.url },
    },
    models: [Crate],
    controllers: [CrateController],
    seed: (em) => {
      for (const id of [1, 2, 3]) em.create(Crate, { id });
      return em.flush();
    },
  });
  try {
    expect(await app.explain('GET', '/crate/1.json')).toMatchObject({ status: 200, reason: null });
    expect(await app.explain('GET', '/crate/2.json')).toMatchObject({
      status: 403,
      reason: { code: 'access_denied', message: expect.stringMatching(/: CrateController\.checkAccess threw it$/) },
    });
    expect(await app.explain('GET', '/crate/3.json')).toMatchObject({
      status: 404,
      reason: { message: 'Crate 3 exists, but CrateController.getEntity did not return it' },
    });
    for (const id of ['4', 'four'])
      expect(await app.explain('GET', `/crate/${id}.json`)).toMatchObject({
        status: 404,
        reason: { message: `CrateController.getEntity returned no Crate for "${id}"` },
      });
  } finally {
    await app.close();
    await fresh.drop();
  }
});
