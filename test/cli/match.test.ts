import { describe, expect, test } from 'vitest';
import { fullApplication, smallApplication } from './applications.ts';
import { call } from './call.ts';
import { run } from './spawned.ts';

describe('declarest match', () => {
  const application = fullApplication();

  test('names the route that answers, and for each of the others why it does not', async () => {
    const { code, out, err } = await run(['match', 'PATCH', '/api/de/course/5.json', application], { fromSource: true });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out.trimEnd().split('\n')).toMatchInlineSnapshot(`
      [
        "app_api_single_course__entity answers",
        "  path     /api/{region}/course/{id}.{_format}",
        "  values   region = de, id = 5, _format = json",
        "  handler  CourseController.entityApi",
        "  roles    COURSE_SEE + ROLE_EDITOR",
        "the others do not:",
        "  app_api_single_person__index        /api/person.{_format}                             path differs",
        "  app_api_single_person__entity       /api/person/{id}/details.{_format}                path differs",
        "  app_api_single_course__index        /api/{region}/course.{_format}                    path differs",
        "  app_api_single_course_mine          /api/{region}/course/mine.{_format}               path differs",
        "  app_api_single_course_participants  /api/{region}/course/{id}/participants.{_format}  path differs",
        "  app_api_single_course_close         /api/{region}/course/{id}/shut-down.{_format}     path differs",
        "  status                              /status.{_format}                                 path differs",
      ]
    `);
  });

  test('takes the method in small letters, and the current directory where none is given', async () => {
    const { code, out } = await call(['match', 'get', '/api/person.json?page=2'], { cwd: application });
    expect(code).toBe(0);
    expect(out).toMatch(/^app_api_single_person__index answers\n/);
    expect(out).toMatch(/^ {2}roles {4}PUBLIC$/m);
  });

  test.each([
    ['GET', '/api/nothing.json', 'no route answers GET /api/nothing.json: 404'],
    ['PUT', '/api/person.json', 'no route answers PUT /api/person.json: 405, allowed: GET, HEAD, POST'],
    ['OPTIONS', '/api/person.json', 'no route answers OPTIONS /api/person.json: 405, allowed: GET, HEAD, POST'],
    ['GET', '/api/person.xml', 'no route answers GET /api/person.xml: 404, known formats: json'],
    ['GET', '/api/person', 'no route answers GET /api/person: 404, known formats: json'],
  ])('exits with 1 where nothing answers %s %s, and says how such a request ends', async (method, path, line) => {
    const { code, out, err } = await call(['match', method, path, application]);
    expect({ code, err }).toEqual({ code: 1, err: '' });
    expect(out.split('\n')[0]).toBe(line);
    expect(out.split('\n')[1]).toBe('because:');
  });

  test('explains a value that does not meet its requirement', async () => {
    const { out } = await call(['match', 'GET', '/api/de/course/0.json', application]);
    expect(out).toContain('requirement id: "0" does not match [1-9]\\d*\n');
  });

  test('answers as JSON', async () => {
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
  ])('refuses the call %j', async (argv, err) => {
    expect(await call(argv)).toEqual({ code: 2, out: '', err });
  });
});
