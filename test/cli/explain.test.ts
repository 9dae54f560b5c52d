import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { smallApplication, write } from './applications.ts';
import { call } from './call.ts';
import { run } from './spawned.ts';

const library = JSON.stringify(join(import.meta.dirname, '..', '..', 'src', 'index.ts'));

/** People whom only their own voter lets anybody see, in a file that may be there. */
function application(changes: Record<string, string> = {}): string {
  return smallApplication({
    'config/app_main.yaml': `app_main:
  security: { jwt: { secret: 'a secret of people, which is long enough' } }
  apis:
    person:
      class: Person
      base_path: /api/person
      base_role: PERSON_SEE
      actions:
        _index: { methods: { GET: true, POST: true } }
        _entity: { methods: { GET: true, PATCH: true, DELETE: true }, roles: { DELETE: ROLE_ADMIN } }
`,
    'src/voters/person-voter.ts': `import { Voter } from ${library};
export class PersonVoter extends Voter {
  static override roles = ['PERSON_SEE'];
  vote(role, person, user) { return user === null || person?.name === 'Eve' ? 'deny' : 'grant'; }
}
`,
    'src/seed.ts': `export default async (em) => {
  for (const name of ['Ada', 'Eve']) em.create('Person', { name });
};
`,
    ...changes,
  });
}

const user = '{"id": 1, "roles": ["ROLE_USER"]}';

describe('declarest explain', () => {
  test('prints in plain text how a request is handled, and why', async () => {
    const directory = application();
    const { code, out, err } = await run(['explain', 'GET', '/api/person/2.json', directory, '--user', user], {
      fromSource: true,
    });
    expect({ code, err }).toEqual({ code: 1, err: '' });
    expect(out.trimEnd().split('\n')).toMatchInlineSnapshot(`
      [
        "GET /api/person/2.json  403 access_denied",
        "  PERSON_SEE: PersonVoter voted deny on Person 2",
        "",
        "route     app_api_single_person__entity",
        "          /api/person/{id}.{_format}  id = 2, _format = json",
        "          ApiController.entityApi, compiled",
        "          requires PERSON_SEE",
        "caller    user 1 (ROLE_USER), from --user",
        "database  a fresh in-memory database with schema and seed, because sqlite:var/app.db does not exist yet",
        "",
        "steps",
        "   1  sql     select e.\`id\`, e.\`name\` from \`person\` as e where e.\`id\` = ?1",
        "              with "2"",
        "   2  check   on Person 2: denied",
        "              PERSON_SEE  PersonVoter deny",
        "",
        "readable  id, name",
      ]
    `);
    // nothing was made for the sake of looking
    expect(existsSync(join(directory, 'var'))).toBe(false);
  });

  test('exits with 0 if a read succeeds and if a write would proceed', async () => {
    const directory = application();
    const read = await call(['explain', 'get', '/api/person.json?page=1', directory, '--user', user]);
    expect(read).toMatchObject({ code: 0, err: '' });
    expect(read.out).toMatch(/^GET \/api\/person\.json\?page=1 {2}200\n/);
    expect(read.out).toMatch(/^sent {6}all readable fields$/m);
    const write = await call(['explain', 'PATCH', '/api/person/1.json', directory, '--user', user, '--body', '{"name": "Adam"}']);
    expect(write).toMatchObject({ code: 0, err: '' });
    expect(write.out).toContain('would succeed: 200; stopped before the change');
    expect(write.out).toMatch(/would follow\n {2}update the row, in one transaction\n/);
    const refused = await call([
      'explain',
      'PATCH',
      '/api/person/1.json',
      directory,
      '--user',
      user,
      '--body',
      '{"nam": "Adam"}',
    ]);
    expect(refused.code).toBe(1);
    expect(refused.out).toContain('400 unknown_field');
  });

  test('reads an existing database without changing its data or schema', async () => {
    const directory = application();
    write(directory, 'var/.keep', '');
    const file = join(directory, 'var', 'app.db');
    const db = new DatabaseSync(file);
    db.exec('pragma journal_mode = wal');
    db.exec(
      "create table person (id integer primary key, name text not null, old text); insert into person values (7, 'Bob', 'x')",
    );
    db.close();
    const before = statSync(file).mtimeMs;
    const { code, out } = await call(['explain', 'GET', '/api/person/7.json', directory, '--user', user]);
    expect(out).toContain('database  sqlite:var/app.db, read only\n');
    expect(code).toBe(0);
    expect(
      (await call(['explain', 'DELETE', '/api/person/7.json', directory, '--user', '{"id": 1, "roles": ["ROLE_ADMIN"]}'])).code,
    ).toBe(0);
    expect(statSync(file).mtimeMs).toBe(before);
    expect(readdirSync(join(directory, 'var'))).toEqual(['.keep', 'app.db']);
  });

  test('accepts a token of the application, explains why another is invalid, and prints neither', async () => {
    const directory = application();
    const token = (await call(['token', directory, '--sub', '5', '--roles', 'ROLE_ADMIN'])).out.trim();
    const fine = await call(['explain', 'GET', '/api/person/1.json', directory, '--as', token]);
    expect(fine).toMatchObject({ code: 0 });
    expect(fine.out).toContain('caller    user 5 (ROLE_ADMIN), from the credential\n');
    const wrong = `${token.slice(0, -8)}AAAAAAAA`;
    const refused = await call(['explain', 'GET', '/api/person/1.json', directory, '--as', wrong]);
    expect(refused.code).toBe(1);
    expect(refused.out).toMatch(/^GET \/api\/person\/1\.json {2}401 invalid_credentials\n/);
    expect(refused.out).toContain('steps     none: no check was made and no statement was sent\n');
    expect(fine.out + refused.out).not.toContain(token.split('.')[2]);
    expect(fine.out + refused.out).not.toContain('a secret of people');
  });

  test('prints the explanation as JSON', async () => {
    const { code, out } = await call(['explain', 'GET', '/api/person/9.json', application(), '--user', user, '--json']);
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      method: 'GET',
      path: '/api/person/9.json',
      outcome: 'refused',
      status: 404,
      reason: { code: 'entity_not_found', message: 'the row Person 9 does not exist', remedy: null },
      database: { address: 'sqlite:var/app.db', is: 'fresh' },
    });
  });

  test('lists the nearest routes if no route matches', async () => {
    const { code, out } = await call(['explain', 'PUT', '/api/person/1.json', application()]);
    expect(code).toBe(1);
    expect(out).toContain('405 method_not_allowed\n');
    expect(out).toContain('method PUT not enabled (allowed: GET, PATCH, DELETE)\n');
  });

  test.each([80, 120])('fits a terminal of %i columns', async (columns) => {
    const example = join(import.meta.dirname, '..', '..', 'examples', 'courses');
    const caller = '{"id": 1, "roles": ["ROLE_USER"], "centers": [1, 2]}';
    for (const [method, path] of [
      ['GET', '/api/person.json?lastName[contains]=a'],
      ['GET', '/api/course/1.json'],
      ['PUT', '/api/center.json'],
    ] as const) {
      const argv = ['explain', method, path, example, '--user', caller];
      const { out } = await call(argv, { isTTY: true, columns, env: { NO_COLOR: '1', DATABASE_URL: 'sqlite::memory:' } });
      expect(out.split('\n').filter((line) => line.length > columns)).toEqual([]);
      const painted = await call(argv, { isTTY: true, columns, env: { DATABASE_URL: 'sqlite::memory:' } });
      expect(stripVTControlCharacters(painted.out)).toBe(out);
    }
  });

  test('uses colours on a terminal only', async () => {
    const argv = ['explain', 'GET', '/api/person/1.json', application()];
    expect((await call(argv, { isTTY: true })).out).toContain('\u001b[31m401 authentication_required\u001b[39m');
    expect((await call(argv)).out).not.toContain('\u001b');
  });

  test('encodes characters that a request line cannot contain', async () => {
    const { code, out } = await call(['explain', 'GET', '/api/person/é 1.json', application(), '--user', user]);
    expect(code).toBe(1);
    expect(out).toMatch(/^GET \/api\/person\/%C3%A9%201\.json {2}404/);
  });

  test('an unreachable database is reported as unreachable', async () => {
    const yaml =
      "app_main:\n  database: { url: 'postgresql://nobody:pass@127.0.0.1:1/none' }\n  apis: { person: { class: Person, base_path: /p, actions: { _index: null } } }\n";
    const { code, err } = await call(['explain', 'GET', '/p.json', smallApplication({ 'config/app_main.yaml': yaml })]);
    expect(code).toBe(1);
    expect(err).toMatch(/^declarest: cannot explain: .*ECONNREFUSED/);
    expect(err).not.toContain('pass');
  });

  test.each([
    [['explain'], 'METHOD is missing'],
    [['explain', 'GTE', '/a'], 'unknown HTTP method "GTE"'],
    [['explain', 'GET', 'api'], 'must begin with a slash'],
    [['explain', 'GET', '/a', '--user', '{"roles": []}'], '--user must be a JSON object with an id'],
    [['explain', 'GET', '/a', '--user', '[1]'], '--user must be a JSON object with an id'],
    [['explain', 'GET', '/a', '--user', user, '--as', 'abc'], '--as and --user exclude each other'],
    [['explain', 'GET', '/a', '--as', 'a b'], '--as must be a token'],
    [['explain', 'GET', '/a', '--header', 'nothing'], '--header must be NAME:VALUE'],
    [['explain', 'GET', '/a', '/no/such/directory'], 'does not exist; give the directory'],
  ])('rejects the arguments %j', async (argv, message) => {
    const { code, out, err } = await call(argv);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(message);
  });
});
