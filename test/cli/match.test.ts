import { describe, expect, test } from 'vitest';
import { fullApplication, smallApplication } from './applications.ts';
import { call } from './call.ts';
import { run } from './spawned.ts';

describe('declarest match', () => {
  const application = fullApplication();

  test('names the matching route, and no route whose path differs', async () => {
    const { code, out, err } = await run(['match', 'PATCH', '/api/de/course/5.json', application], { fromSource: true });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out.trimEnd().split('\n')).toMatchInlineSnapshot(`
      [
        "app_api_single_course__entity matches",
        "  path     /api/{region}/course/{id}.{_format}",
        "  values   region = de, id = 5, _format = json",
        "  handler  CourseController.entityApi",
        "  roles    COURSE_SEE + ROLE_EDITOR",
      ]
    `);
  });

  test('accepts a lowercase method and defaults to the current directory', async () => {
    const { code, out } = await call(['match', 'get', '/api/person.json?page=2'], { cwd: application });
    expect(code).toBe(0);
    expect(out).toMatch(/^app_api_single_person__index matches\n/);
    expect(out).toMatch(/^ {2}roles {4}PUBLIC$/m);
  });

  test.each([
    ['PUT', '/api/person.json', 'no route matches PUT /api/person.json: 405, allowed: GET, HEAD, POST'],
    ['OPTIONS', '/api/person.json', 'no route matches OPTIONS /api/person.json: 405, allowed: GET, HEAD, POST'],
    ['GET', '/api/person.xml', 'no route matches GET /api/person.xml: 404, known formats: json'],
    ['GET', '/api/person', 'no route matches GET /api/person: 404, known formats: json'],
  ])('exits with 1 if no route matches %s %s, and shows the status', async (method, path, line) => {
    const { code, out, err } = await call(['match', method, path, application]);
    expect({ code, err }).toEqual({ code: 1, err: '' });
    expect(out.split('\n')[0]).toBe(line);
    expect(out.split('\n')[1]).toBe('near misses:');
  });

  test('shows routes with a similar path if nothing else comes near', async () => {
    const typo = await call(['match', 'GET', '/api/persn.json', application]);
    expect(typo.out.trimEnd().split('\n')).toEqual([
      'no route matches GET /api/persn.json: 404',
      'near misses:',
      '  app_api_single_person__index  /api/person.{_format}  path differs',
    ]);
    const strange = await call(['match', 'GET', '/nothing/at/all', application]);
    expect(strange).toEqual({
      code: 1,
      out: 'no route matches GET /nothing/at/all: 404\nno route has a similar path; list all routes: declarest routes\n',
      err: '',
    });
  });

  test('fits a narrow terminal', async () => {
    const world = { isTTY: true, columns: 60 };
    const { out } = await call(['match', 'PUT', '/api/de/course/5.json', application], world);
    expect(
      out
        .split('\n')
        .slice(1)
        .filter((line) => line.length > 60),
    ).toEqual([]);
    expect(out).toMatch(
      /^ {2}app_api_single_course__entity\n {4}\/api\/\{region\}\/course\/\{id\}\.\{_format\}\n {4}method PUT/m,
    );
  });

  test('explains a value that does not match its requirement', async () => {
    const { out } = await call(['match', 'GET', '/api/de/course/0.json', application]);
    expect(out).toContain('requirement id: "0" does not match [1-9]\\d*\n');
  });

  test('prints JSON', async () => {
    const small = smallApplication();
    const found = await call(['match', 'GET', '/api/person/7.json', small, '--json']);
    expect(found.code).toBe(0);
    expect(JSON.parse(found.out)).toEqual({
      method: 'GET',
      path: '/api/person/7.json',
      status: null,
      match: {
        name: 'app_api_single_person__entity',
        methods: ['GET', 'HEAD'],
        path: '/api/person/{id}.{_format}',
        requirements: { id: '\\d+' },
        controller: 'ApiController',
        handler: 'entityApi',
        roles: { GET: [], HEAD: [] },
        format: 'json',
        params: { id: '7' },
      },
      others: [{ name: 'app_api_single_person__index', path: '/api/person.{_format}', reason: 'path differs' }],
    });
    const missed = await call(['match', 'PUT', '/api/person/7.json', small, '--json']);
    expect(missed.code).toBe(1);
    expect(JSON.parse(missed.out)).toMatchObject({ status: 405, match: null, others: [{}, {}] });
  });

  test.each([
    [['match'], 'declarest: METHOD is missing: The HTTP method, such as GET. See: declarest match --help\n'],
    [['match', 'GET'], 'declarest: PATH is missing: The path, such as /api/person/1.json. See: declarest match --help\n'],
    [
      ['match', 'GTE', '/a'],
      'declarest: unknown HTTP method "GTE"; did you mean "GET"? use GET, HEAD, POST, PUT, PATCH or DELETE\n',
    ],
    [['match', 'GET', 'api'], 'declarest: the path "api" must begin with a slash, for example /api/person/1.json\n'],
    [['match', 'GET', '/a', '.', 'more'], 'declarest: unexpected argument "more"; see: declarest match --help\n'],
  ])('rejects the arguments %j', async (argv, err) => {
    expect(await call(argv)).toEqual({ code: 2, out: '', err });
  });
});
