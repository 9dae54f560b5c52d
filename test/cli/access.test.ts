import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { makeTemporary } from '../support/temporary.ts';
import { fullApplication, smallApplication } from './applications.ts';
import { call } from './call.ts';

const temporary = makeTemporary('access');
afterAll(temporary.remove);
const example = join(import.meta.dirname, '..', '..', 'examples', 'courses');
const escapeCharacter = '\u001b';

describe('declarest access', () => {
  test('prints a table, with the fields read and written below each row', async () => {
    const { code, out, err } = await call(['access', fullApplication()]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out.trimEnd().split('\n')).toMatchInlineSnapshot(`
      [
        "METHODS   PATH                                              ROLES                                               RESTRICTED BY",
        "GET,HEAD  /api/person.{_format}                             PUBLIC",
        "          read   id, name",
        "POST      /api/person.{_format}                             ROLE_EDITOR (RoleVoter)",
        "          read   id, name",
        "          write  name",
        "GET,HEAD  /api/person/{id}/details.{_format}                PUBLIC",
        "          read   id, name",
        "GET,HEAD  /api/{region}/course/{id}.{_format}               COURSE_SEE (CourseVoter)",
        "          read   id",
        "PATCH     /api/{region}/course/{id}.{_format}               COURSE_SEE (CourseVoter) + ROLE_EDITOR (RoleVoter)",
        "          read   id",
        "DELETE    /api/{region}/course/{id}.{_format}               COURSE_SEE (CourseVoter) + ROLE_ADMIN (RoleVoter)",
        "GET,HEAD  /api/{region}/course.{_format}                    COURSE_SEE (CourseVoter)",
        "          read   id",
        "GET       /api/{region}/course/mine.{_format}               COURSE_SEE (CourseVoter)",
        "          read   decided by CourseController.mineApi",
        "POST      /api/{region}/course/{id}/participants.{_format}  COURSE_SEE (CourseVoter)",
        "          read   decided by Course.addParticipant",
        "          write  -> Person",
        "DELETE    /api/{region}/course/{id}/participants.{_format}  COURSE_SEE (CourseVoter)",
        "          read   decided by Course.removeParticipant",
        "          write  -> Person",
        "POST      /api/{region}/course/{id}/shut-down.{_format}     COURSE_SEE (CourseVoter)",
        "          read   decided by CourseController.shut",
        "          write  decided by CourseController.shut",
        "GET       /status.{_format}                                 ROLE_USER (RoleVoter)",
        "          read   decided by status_routes.handler",
        "",
        "4 methods are PUBLIC: nothing is asked.",
        "Where code decides, its models are shown in the group read, unless the code names other groups.",
        "Votes are combined by the strategy affirmative.",
      ]
    `);
  });

  test('prints only the columns that fit on a narrow terminal', async () => {
    const { out } = await call(['access', example], { isTTY: true, columns: 80, env: { NO_COLOR: '1' } });
    const lines = out.split('\n');
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(out).toContain('roles  PERSON_SEE + PERSON_CREATE (PersonVoter)');
    expect(out).toContain('rows   restricted by PersonController.customizeQuery');
  });

  test('colours PUBLIC on a terminal, and nothing elsewhere', async () => {
    const directory = smallApplication();
    const painted = await call(['access', directory], { isTTY: true, columns: 200 });
    const plain = await call(['access', directory]);
    expect(painted.out).toContain(`${escapeCharacter}[33mPUBLIC${escapeCharacter}[39m`);
    expect(plain.out).not.toContain(escapeCharacter);
    expect(stripVTControlCharacters(painted.out)).toBe(plain.out);
  });

  test('prints the whole matrix as JSON', async () => {
    const directory = smallApplication();
    const { code, out } = await call(['access', directory, '--json']);
    const { routes, models, settings } = JSON.parse(out);
    expect(code).toBe(0);
    expect(routes[0]).toMatchObject({
      method: 'GET',
      path: '/api/person.{_format}',
      public: true,
      place: 'config/app_main.yaml:6:44',
    });
    expect(models[0]).toMatchObject({ model: 'Person', place: 'src/models/person.ts:3' });
    expect(settings.strategy.value).toBe('affirmative');
    expect((await call(['access', directory, '--format', 'json'])).out).toBe(out);
  });

  test('prints a table in Markdown', async () => {
    const { code, out } = await call(['access', smallApplication(), '--format', 'markdown']);
    expect(code).toBe(0);
    expect(out.split('\n').slice(0, 4)).toEqual([
      '| Methods | Path | Roles | Restricted by | Reads | Writes |',
      '| --- | --- | --- | --- | --- | --- |',
      '| GET | `/api/person.{_format}` | **PUBLIC** |  | `id, name` |  |',
      '| POST | `/api/person.{_format}` | **PUBLIC** |  | `id, name` | `name` |',
    ]);
  });

  test.each([
    [['--format', 'xml'], '--format must be one of text, markdown, json, not "xml"'],
    [['--format', 'text', '--json'], '--json and --format exclude each other'],
    [['--save', '--diff'], '--save and --diff exclude each other'],
    [['--save', '.'], '. is a directory; name the file of the baseline'],
    [['--difff'], 'did you mean "--diff"'],
  ])('rejects %j', async (options, message) => {
    const { code, err } = await call(['access', smallApplication(), ...options]);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });
});

describe('declarest access --save and --diff', () => {
  test('save to the directory of the application and compare with that file', async () => {
    const directory = smallApplication();
    const file = join(directory, 'access.baseline');
    expect(await call(['access', directory, '--save'])).toMatchObject({ code: 0, out: expect.stringContaining(`to ${file}`) });
    expect(readFileSync(file, 'utf8')).toContain('\n/api/person.{_format} GET PUBLIC\n');
    const same = { code: 0, out: `nothing was opened or closed since ${file}\n`, err: '' };
    expect(await call(['access', directory, '--diff'])).toEqual(same);
    // a directory is the application's, wherever it stands
    expect(await call(['access', '--diff', directory])).toEqual(same);
  });

  test('accept another file name, relative to the current directory', async () => {
    const directory = smallApplication();
    const world = { cwd: temporary.directory };
    expect((await call(['access', directory, '--save', 'mine.txt'], world)).out).toMatch(/^saved \d+ facts to mine\.txt\n$/);
    expect(existsSync(join(temporary.directory, 'mine.txt'))).toBe(true);
    for (const option of [['--diff', 'mine.txt'], ['--diff=mine.txt']])
      expect(await call(['access', directory, ...option], world)).toMatchObject({ code: 0, err: '' });
  });

  test('exit with 2 and a remedy if the baseline is missing or invalid', async () => {
    const directory = smallApplication();
    const missing = await call(['access', directory, '--diff']);
    expect(missing).toMatchObject({ code: 2, out: '' });
    expect(missing.err).toContain(
      `the baseline ${join(directory, 'access.baseline')} does not exist; create it with: declarest access ${directory} --save`,
    );
    writeFileSync(join(directory, 'access.baseline'), 'something else\n');
    const broken = await call(['access', directory, '--diff']);
    expect(broken.code).toBe(2);
    expect(broken.err).toContain('is not a valid baseline: line 1');
  });

  test('warn if only one of the two was made in production', async () => {
    const directory = smallApplication();
    await call(['access', directory, '--save']);
    const { err } = await call(['access', directory, '--diff'], {
      env: { NODE_ENV: 'production' },
    });
    expect(err).toContain('was saved outside production');
  });

  test('print JSON and Markdown', async () => {
    const directory = smallApplication();
    await call(['access', directory, '--save']);
    edit(directory, 'config/app_main.yaml', '_entity: null', '_entity: { methods: { GET: true, HEAD: true, DELETE: true } }');
    const change = { direction: 'opened', subject: 'DELETE /api/person/{id}.{_format}', text: 'is new: is PUBLIC' };
    const json = await call(['access', directory, '--diff', '--json']);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({ opened: [change], closed: [] });
    const { out, code } = await call(['access', directory, '--diff', '--format', 'markdown']);
    expect(code).toBe(1);
    expect(out).toContain('\n  - `DELETE /api/person/{id}.{_format} is new: is PUBLIC`\n');
  });
});

function edit(directory: string, file: string, from: string, to: string): number {
  const text = readFileSync(join(directory, file), 'utf8');
  expect(text.split(from)).toHaveLength(2);
  writeFileSync(join(directory, file), text.replace(from, to));
  return text.slice(0, text.indexOf(from)).split('\n').length;
}

/** One line of the example, edited: file, what stands there, what is written instead, what is said, whether something was opened. */
const edits: [string, string, string, string, string, boolean][] = [
  [
    'a field',
    'src/models/person.ts',
    'nationalNumber: p.string().length(20).nullable()',
    "nationalNumber: p.string().length(20).nullable().groups('read')",
    'GET,PUT,PATCH /api/person/{id}.{_format} reads nationalNumber',
    true,
  ],
  [
    'a field to writers',
    'src/models/course.ts',
    "opened: p.date().groups('read')",
    "opened: p.date().groups('read', 'write')",
    'PATCH /api/course/{id}.{_format} writes opened',
    true,
  ],
  [
    'an association',
    'src/models/course.ts',
    'course: () => p.manyToOne(Course)',
    "course: () => p.manyToOne(Course).groups('read')",
    'GET /api/course.{_format} reads participations[].course with 1 field',
    true,
  ],
  [
    'a further class',
    'src/models/course.ts',
    'p.manyToOne([Person, ThirdParty])',
    'p.manyToOne([Person, ThirdParty, User])',
    'PATCH /api/course/{id}.{_format} writes requestor -> User',
    true,
  ],
  [
    'a method',
    'config/apis.yaml',
    'methods: { GET: true, HEAD: true, PATCH: true }',
    'methods: { GET: true, HEAD: true, PATCH: true, DELETE: true }',
    'DELETE /api/course/{id}.{_format} is new: requires COURSE_SEE',
    true,
  ],
  [
    'a role',
    'config/apis.yaml',
    'roles: { PATCH: COURSE_UPDATE }',
    'roles: { PATCH: ~ }',
    'PATCH /api/course/{id}.{_format} no longer requires COURSE_UPDATE',
    true,
  ],
  [
    'a base role',
    'config/apis.yaml',
    'base_role: COURSE_SEE',
    'base_role: ~',
    'GET,HEAD /api/course/mine.{_format} is PUBLIC now, required COURSE_SEE',
    true,
  ],
  [
    'a requirement',
    'config/apis.yaml',
    "requirements: { id: '[a-z]+(?:-[a-z]+)*' }",
    "requirements: { id: '[^/.]+' }",
    'GET,HEAD /api/tag/{id}.{_format} accepts [^/.]+ as id, accepted [a-z]+(?:-[a-z]+)* before',
    true,
  ],
  [
    'a path',
    'config/apis.yaml',
    'path: tags',
    'path: labels',
    'POST,DELETE /api/course/{id}/labels.{_format} is new: requires COURSE_SEE + COURSE_UPDATE, reads 2 fields, writes 1 field',
    true,
  ],
  [
    'the hierarchy',
    'config/app.yaml',
    'ROLE_SUPERVISOR: [ROLE_USER]',
    'ROLE_SUPERVISOR: [ROLE_USER, ROLE_OWNER]',
    'users with the role ROLE_ADMIN have ROLE_OWNER as well now',
    true,
  ],
  ['the issuer', 'config/app.yaml', 'issuer: courses', 'issuer: ~', 'tokens may have any issuer now, had to have courses', true],
  [
    'a declaration in TypeScript',
    'config/users.ts',
    "base_role: 'ROLE_ADMIN'",
    "base_role: 'ROLE_USER'",
    'GET,HEAD /api/user.{_format} no longer requires ROLE_ADMIN',
    true,
  ],
  [
    'a route of a service',
    'src/services/status-routes.ts',
    "roles: 'ROLE_USER'",
    "roles: 'ROLE_GUEST'",
    'GET /api/status.{_format} no longer requires ROLE_USER',
    true,
  ],
  [
    'a voter',
    'src/voters/person-voter.ts',
    "static override roles = ['PERSON_SEE', 'PERSON_CREATE', 'PERSON_UPDATE']",
    "static override roles = ['PERSON_SEE', 'PERSON_CREATE', 'PERSON_UPDATE', 'COURSE_SEE']",
    'the role COURSE_SEE is judged by CourseVoter, PersonVoter now, was by CourseVoter',
    true,
  ],
  [
    'a field closed',
    'src/models/third-party.ts',
    "telephone: p.string().length(30).nullable().groups('read')",
    'telephone: p.string().length(30).nullable()',
    'GET /api/third-party.{_format} no longer reads telephone',
    false,
  ],
  [
    'a role more',
    'config/apis.yaml',
    'roles: { POST: PERSON_CREATE }',
    'roles: { POST: PERSON_CREATE, GET: ROLE_USER }',
    'GET,HEAD /api/person.{_format} requires ROLE_USER now',
    false,
  ],
];

describe('one edited line in the example', () => {
  test.each(edits)('%s is reported with the edited line', async (name, file, from, to, said, opens) => {
    const directory = join(temporary.directory, name.replaceAll(' ', '-'));
    cpSync(example, directory, { recursive: true, filter: (path) => !path.endsWith('/var') });
    const line = edit(directory, file, from, to);
    const { code, out, err } = await call(['access', directory, '--diff']);
    expect({ code, err }).toEqual({ code: opens ? 1 : 0, err: '' });
    const [, ...parts] = out.split(/^(?:opened|closed) since .*\n/m);
    const told = parts[0] as string;
    const place = new RegExp(`^ {2}${file.replace(/\W/g, '\\$&')}:${line}(?::\\d+)?$`);
    const heading = told
      .slice(0, told.indexOf(`    ${said}\n`))
      .trimEnd()
      .split('\n')
      .findLast((text) => /^ {2}\S/.test(text));
    expect(told).toContain(`    ${said}\n`);
    expect(heading).toMatch(place);
  });

  test('a removed restriction is reported with its controller', async () => {
    const directory = join(temporary.directory, 'restriction');
    cpSync(example, directory, { recursive: true, filter: (path) => !path.endsWith('/var') });
    edit(directory, 'src/controllers/person-controller.ts', 'override customizeQuery', 'restrict');
    const { code, out } = await call(['access', directory, '--diff']);
    expect(code).toBe(1);
    expect(out).toContain('  src/controllers/person-controller.ts:6\n    GET,HEAD /api/person.{_format} is no longer restricted');
  });
});
