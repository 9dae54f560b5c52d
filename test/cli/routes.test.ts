import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { fullApplication, smallApplication } from './applications.ts';
import { call } from './call.ts';
import { run } from './spawned.ts';

const example = join(import.meta.dirname, '..', '..', 'examples', 'courses');
const escapeCharacter = '\u001b';

test('the table has aligned columns, in matching order', async () => {
  const { code, out, err } = await call(['routes', fullApplication()]);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out.trimEnd().split('\n')).toMatchInlineSnapshot(`
    [
      "METHODS                PATH                                              NAME                                HANDLER                        ROLES",
      "GET,HEAD,POST          /api/person.{_format}                             app_api_single_person__index        ApiController.indexApi         GET,HEAD: PUBLIC; POST: ROLE_EDITOR",
      "GET,HEAD               /api/person/{id}/details.{_format}                app_api_single_person__entity       ApiController.entityApi        PUBLIC",
      "GET,HEAD,PATCH,DELETE  /api/{region}/course/{id}.{_format}               app_api_single_course__entity       CourseController.entityApi     GET,HEAD: COURSE_SEE; PATCH: COURSE_SEE + ROLE_EDITOR; DELETE: COURSE_SEE + ROLE_ADMIN",
      "GET,HEAD               /api/{region}/course.{_format}                    app_api_single_course__index        CourseController.indexApi      COURSE_SEE",
      "GET                    /api/{region}/course/mine.{_format}               app_api_single_course_mine          CourseController.mineApi       COURSE_SEE",
      "POST,DELETE            /api/{region}/course/{id}/participants.{_format}  app_api_single_course_participants  CourseController.addRemoveApi  COURSE_SEE",
      "POST                   /api/{region}/course/{id}/shut-down.{_format}     app_api_single_course_close         CourseController.shut          COURSE_SEE",
      "GET                    /status.{_format}                                 status                              status_routes.handler          ROLE_USER",
    ]
  `);
});

test('the JSON has every route in matching order, with every documented key', async () => {
  const { code, out, err } = await run(['routes', fullApplication(), '--json'], { fromSource: true });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const course = { controller: 'CourseController' };
  expect(JSON.parse(out)).toEqual([
    {
      name: 'app_api_single_person__index',
      methods: ['GET', 'HEAD', 'POST'],
      path: '/api/person.{_format}',
      requirements: {},
      controller: 'ApiController',
      handler: 'indexApi',
      roles: { GET: [], HEAD: [], POST: ['ROLE_EDITOR'] },
    },
    {
      name: 'app_api_single_person__entity',
      methods: ['GET', 'HEAD'],
      path: '/api/person/{id}/details.{_format}',
      requirements: { id: '\\d+' },
      controller: 'ApiController',
      handler: 'entityApi',
      roles: { GET: [], HEAD: [] },
    },
    {
      ...course,
      name: 'app_api_single_course__entity',
      methods: ['GET', 'HEAD', 'PATCH', 'DELETE'],
      path: '/api/{region}/course/{id}.{_format}',
      requirements: { region: '[a-z]{2}', id: '[1-9]\\d*' },
      handler: 'entityApi',
      roles: {
        GET: ['COURSE_SEE'],
        HEAD: ['COURSE_SEE'],
        PATCH: ['COURSE_SEE', 'ROLE_EDITOR'],
        DELETE: ['COURSE_SEE', 'ROLE_ADMIN'],
      },
    },
    {
      ...course,
      name: 'app_api_single_course__index',
      methods: ['GET', 'HEAD'],
      path: '/api/{region}/course.{_format}',
      requirements: { region: '[a-z]{2}' },
      handler: 'indexApi',
      roles: { GET: ['COURSE_SEE'], HEAD: ['COURSE_SEE'] },
    },
    {
      ...course,
      name: 'app_api_single_course_mine',
      methods: ['GET'],
      path: '/api/{region}/course/mine.{_format}',
      requirements: {},
      handler: 'mineApi',
      roles: { GET: ['COURSE_SEE'] },
    },
    {
      ...course,
      name: 'app_api_single_course_participants',
      methods: ['POST', 'DELETE'],
      path: '/api/{region}/course/{id}/participants.{_format}',
      requirements: { id: '\\d+' },
      handler: 'addRemoveApi',
      roles: { POST: ['COURSE_SEE'], DELETE: ['COURSE_SEE'] },
    },
    {
      ...course,
      name: 'app_api_single_course_close',
      methods: ['POST'],
      path: '/api/{region}/course/{id}/shut-down.{_format}',
      requirements: { id: '\\d+' },
      handler: 'shut',
      roles: { POST: ['COURSE_SEE'] },
    },
    {
      name: 'status',
      methods: ['GET'],
      path: '/status.{_format}',
      requirements: {},
      controller: 'status_routes',
      handler: 'handler',
      roles: { GET: ['ROLE_USER'] },
    },
  ]);
});

test('colours are used on a terminal, and elsewhere only on request', async () => {
  const application = smallApplication();
  const coloured = async (world: Parameters<typeof call>[1]) =>
    (await call(['routes', application], world)).out.includes(escapeCharacter);
  expect(await coloured({ isTTY: true })).toBe(true);
  expect(await coloured({})).toBe(false);
  expect(await coloured({ isTTY: true, env: { NO_COLOR: '1' } })).toBe(false);
  expect(await coloured({ isTTY: true, env: { TERM: 'dumb' } })).toBe(false);
  expect(await coloured({ isTTY: true, env: { FORCE_COLOR: '0' } })).toBe(false);
  expect(await coloured({ env: { FORCE_COLOR: '1' } })).toBe(true);
  expect(await coloured({ env: { FORCE_COLOR: '1', NO_COLOR: '1' } })).toBe(true);
});

test('colours do not change the column alignment', async () => {
  const application = smallApplication();
  const { out: plain } = await call(['routes', application]);
  const { out: painted } = await call(['routes', application], { isTTY: true, columns: 200 });
  expect(painted).not.toBe(plain);
  expect(stripVTControlCharacters(painted)).toBe(plain);
});

test('JSON has no colours on a terminal either', async () => {
  const { out } = await call(['routes', smallApplication(), '--json'], { isTTY: true });
  expect(JSON.parse(out)).toHaveLength(2);
});

test('the table shows the declared queries of lists', async () => {
  const { code, out } = await call(['routes', example]);
  expect(code).toBe(0);
  expect(out).toMatch(/^METHODS .* ROLES +RESULT +QUERY\n/);
  expect(out).toMatch(
    / app_api_single_course__index .* title\[contains\], opened\[gte\], opened\[lt\], closed\[exists\], center\.id, center\.id\[in\], tags\.id, tags\.id\[in\]; sort: title, opened, center\.name; q: title\n/,
  );
  expect(out).toMatch(/ app_api_single_center__index .* PUBLIC\n/);
});

test.each([80, 120])('a terminal of %i columns gets one block per route', async (columns) => {
  const { out } = await call(['routes', example], { isTTY: true, columns, env: { NO_COLOR: '1' } });
  expect(out.split('\n').filter((line) => line.length > columns)).toEqual([]);
  expect(out).toMatch(/^GET,HEAD {2}\/api\/center\.\{_format\}\n {2}name {5}app_api_single_center__index\n/m);
  expect(out).toMatch(/^ {2}roles {4}PUBLIC$/m);
  expect(out).toMatch(/^ {2}query {4}title\[contains\], /m);
});

test('every route is one line if the output is not a terminal', async () => {
  const { out } = await call(['routes', example]);
  const { out: json } = await call(['routes', example, '--json']);
  expect(out.trimEnd().split('\n')).toHaveLength(1 + JSON.parse(json).length);
});
