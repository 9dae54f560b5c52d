import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { explainMatch } from '../../src/route/explain-match.ts';
import { allowedMethods, classifyMiss, findMatch, matchPath } from '../../src/route/match.ts';
import { orderRecords } from '../../src/route/order.ts';
import type { RouteRecord } from '../../src/route/record.ts';
import { cpuTime } from '../support/cpu-time.ts';
import { action, api, records, route, serve } from './fixtures.ts';

const person = records(
  [
    api('person', [
      action('_index', { methods: ['GET', 'HEAD', 'POST'] }),
      action('_entity', { methods: ['GET', 'PATCH'] }),
      action('join', { methods: ['POST', 'DELETE'] }),
      action('new', { single: false, methods: ['GET'] }),
    ]),
  ],
  ['json', 'xml'],
);

const pathsOf = (made: readonly RouteRecord[]) => made.map(({ path }) => path);

describe('matching order', () => {
  test('puts static segments before dynamic ones, one segment after the other', () => {
    const paths = ['/a/{id}/{x}', '/a/{id}/b', '/a/{id}.{_format}', '/a/b.{_format}', '/a/b/{x}', '/{y}/b/c', '/a'];
    expect(pathsOf(orderRecords(paths.map((path) => route(path))))).toEqual([
      '/a',
      '/a/b.{_format}',
      '/a/b/{x}',
      '/a/{id}.{_format}',
      '/a/{id}/b',
      '/a/{id}/{x}',
      '/{y}/b/c',
    ]);
  });

  test('puts a placeholder with a requirement before one without', () => {
    const made = [route('/{a}/x'), route('/{b}/{z}', ['GET'], { b: '\\d+' })];
    expect(pathsOf(orderRecords(made))).toEqual(['/{b}/{z}', '/{a}/x']);
  });

  test('keeps the order of declaration otherwise', () => {
    const made = [route('/b'), route('/a'), route('/{x}/1', ['GET'], { x: 'b' }), route('/{x}/2', ['GET'], { x: 'a' })];
    expect(pathsOf(orderRecords(made))).toEqual(['/b', '/a', '/{x}/1', '/{x}/2']);
  });

  test('does not depend on the declaration order if static and dynamic segments decide', () => {
    const paths = ['/a/{id}/b', '/a/{id}/{x}', '/a/{id}.{_format}', '/a/b.{_format}'];
    const expected = ['/a/b.{_format}', '/a/{id}.{_format}', '/a/{id}/b', '/a/{id}/{x}'];
    fc.assert(
      fc.property(fc.shuffledSubarray(paths, { minLength: paths.length }), (shuffled) => {
        expect(pathsOf(orderRecords(shuffled.map((path) => route(path))))).toEqual(expected);
      }),
    );
  });

  test('does not change the given list', () => {
    const made = [route('/{a}'), route('/b')];
    orderRecords(made);
    expect(pathsOf(made)).toEqual(['/{a}', '/b']);
  });
});

describe('a path', () => {
  test.each([
    ['/api/person.json', 'app_api_single_person__index', 'json', {}],
    ['/api/person.xml?a=/b.json', 'app_api_single_person__index', 'xml', {}],
    ['/api/person/12.json#x', 'app_api_single_person__entity', 'json', { id: '12' }],
    ['/api/person/%312.xml', 'app_api_single_person__entity', 'xml', { id: '12' }],
    ['/api/person/1/join.json', 'app_api_single_person_join', 'json', { id: '1' }],
    ['https://example.org/api/person/1.json', 'app_api_single_person__entity', 'json', { id: '1' }],
  ])('%s matches its record', (path, name, format, params) => {
    expect(matchPath(person, path).map((match) => ({ ...match, record: match.record.name }))).toEqual([
      { record: name, format, params },
    ]);
  });

  test.each([
    '',
    'api/person.json',
    'http://example.org',
    'ftp://example.org/api/person.json',
    '/',
    '/api/person',
    '/api/persons.json',
    '/api/person.json/',
    '/API/person.json',
    '/api/person/.json',
    '/api/person/x.json',
    '/api/person/1%2e2.json',
    '/api/person/%',
    '/api/person/%zz.json',
    '/api/person/%c3%28.json',
    '/api/person/1\n.json',
    `/api/person/${'1'.repeat(101)}.json`,
  ])('%j matches nothing', (path) => {
    expect(matchPath(person, path)).toEqual([]);
  });

  test('matches all fitting records, static ones first', () => {
    const made = [route('/a/{id}', ['POST'], { id: '\\w+' }), route('/a/new')];
    expect(pathsOf(matchPath(made, '/a/new').map(({ record }) => record))).toEqual(['/a/new', '/a/{id}']);
    expect(findMatch(made, 'POST', '/a/new')?.record.path).toBe('/a/{id}');
    expect(findMatch(made, 'GET', '/a/new')?.record.path).toBe('/a/new');
    expect(findMatch(made, 'PUT', '/a/new')).toBe(null);
    expect(allowedMethods(made, '/a/new')).toEqual(['GET', 'POST']);
  });

  test('is decoded once', () => {
    const made = [route('/a/{id}', ['GET'], { id: '.+' })];
    expect(matchPath(made, '/a/%2531%2F%40')[0]?.params).toEqual({ id: '%31/@' });
  });

  test('with an encoded slash does not match a placeholder without requirement', () => {
    expect(matchPath([route('/a/{x}')], '/a/b%2Fc')).toEqual([]);
    expect(matchPath([route('/a/{x}')], '/a/b%3Ac')[0]?.params).toEqual({ x: 'b:c' });
  });

  test('matches the format that leaves a valid value, if one format ends like another', () => {
    const made = records([api('p', [action('_entity', { requirements: { id: '[a-z]+' } })])], ['json', 'ld.json']);
    expect(matchPath(made, '/api/p/a.ld.json')[0]).toMatchObject({ format: 'ld.json', params: { id: 'a' } });
    expect(matchPath(made, '/api/p/a.json')[0]).toMatchObject({ format: 'json', params: { id: 'a' } });
    expect(matchPath(made, '/api/p/1.ld.json')).toEqual([]);
  });

  test('is matched against the current list, unless the list is frozen', () => {
    const made = [route('/a')];
    expect(matchPath(made, '/b')).toEqual([]);
    made.push(route('/b'));
    expect(matchPath(made, '/b')).toHaveLength(1);
  });

  test('of any text is matched without an error', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('/', '.', '%', '2', 'f', '1', 'json', 'api', 'person', '?', '#', 'é', '\ud800') }),
        (text) => {
          for (const path of [text, `/api/person/${text}`]) {
            matchPath(person, path);
            classifyMiss(person, 'GET', path);
            explainMatch(person, 'GET', path);
          }
        },
      ),
    );
  });

  test('of 100,000 characters is matched within milliseconds', () => {
    const made = [...person, ...records([api('slow', [action('_entity', { requirements: { id: '\\d*\\d*\\d*x' } })])])];
    matchPath(made, '/api/person/1.json');
    for (const base of ['/api/person/', '/api/slow/', '']) {
      for (const tail of [
        '1.'.repeat(50_000),
        '1'.repeat(100_000),
        '/'.repeat(100_000),
        '%25'.repeat(30_000),
        '%'.repeat(100_000),
      ]) {
        const start = cpuTime();
        expect(classifyMiss(made, 'GET', `${base}${tail}`).kind).not.toBe('method');
        explainMatch(made, 'GET', `${base}${tail}`);
        expect(cpuTime() - start).toBeLessThan(2000);
      }
    }
  });
});

describe('an unmatched request', () => {
  test.each([
    ['PUT', '/api/person.json', { kind: 'method', allowed: ['GET', 'HEAD', 'POST'] }],
    ['GET', '/api/person/1/join.xml', { kind: 'method', allowed: ['POST', 'DELETE'] }],
    ['GET', '/api/person.yaml', { kind: 'format', format: 'yaml', known: ['json', 'xml'] }],
    ['GET', '/api/person/1.yaml', { kind: 'format', format: 'yaml', known: ['json', 'xml'] }],
    ['DELETE', '/api/person/1/join.yaml', { kind: 'format', format: 'yaml', known: ['json', 'xml'] }],
    ['GET', '/api/person', { kind: 'format', format: '', known: ['json', 'xml'] }],
    ['GET', '/api/person/1', { kind: 'format', format: '', known: ['json', 'xml'] }],
    ['GET', '/api/person.', { kind: 'format', format: '', known: ['json', 'xml'] }],
    ['GET', '/api/person/abc.yaml', { kind: 'nothing' }],
    ['GET', '/api/person/abc', { kind: 'nothing' }],
    ['GET', '/api/person.json.yaml', { kind: 'nothing' }],
    ['GET', '/api/personnel.json', { kind: 'nothing' }],
    ['GET', '/api/person/%', { kind: 'nothing' }],
    ['GET', '/elsewhere', { kind: 'nothing' }],
  ])('%s %s', (method, path, expected) => {
    expect(classifyMiss(person, method, path)).toEqual(expected);
  });

  test('names the suffix if value and suffix could also be a value without suffix', () => {
    const made = records([api('file', [action('_entity', { requirements: { id: '[a-z.]+' } })])]);
    expect(classifyMiss(made, 'GET', '/api/file/a.b')).toEqual({ kind: 'format', format: 'b', known: ['json'] });
    expect(classifyMiss(made, 'GET', '/api/file/.b')).toEqual({ kind: 'format', format: '', known: ['json'] });
  });

  test('of a route without format is not a format error', () => {
    expect(classifyMiss([route('/health')], 'GET', '/health.xml')).toEqual({ kind: 'nothing' });
  });

  test('is not reported if the path matches', () => {
    expect(classifyMiss(person, 'GET', '/api/person.json')).toEqual({ kind: 'nothing' });
  });
});

describe('an explanation', () => {
  const explained = (method: string, path: string, made: readonly RouteRecord[] = person) => {
    const { match, others } = explainMatch(made, method, path);
    return [
      match?.record.name ?? null,
      Object.fromEntries(others.map(({ record, reason }) => [record.name.split('person_').pop(), reason])),
    ];
  };

  test('names the matching record and why each other one does not match', () => {
    expect(explained('GET', '/api/person/12.json')).toEqual([
      'app_api_single_person__entity',
      { _index: 'path differs', new: 'path differs', join: 'path differs' },
    ]);
    expect(explained('POST', '/api/person/12.json')[1]).toMatchObject({
      _entity: 'method POST not enabled (allowed: GET, PATCH)',
    });
    expect(explained('GET', '/api/person/abc.json')[1]).toMatchObject({ _entity: 'requirement id: "abc" does not match \\d+' });
    expect(explained('GET', '/api/person/1.yaml')[1]).toMatchObject({ _entity: 'format "yaml" unknown (known: json, xml)' });
    expect(explained('GET', '/api/person')[1]).toMatchObject({ _index: 'format missing (known: json, xml)' });
    expect(explained('GET', '/api/person/.json')[1]).toMatchObject({ _entity: 'requirement id: the value is empty' });
    expect(explained('GET', `/api/person/${'1'.repeat(101)}.json`)[1]).toMatchObject({
      _entity: 'requirement id: the value is longer than 100 characters',
    });
    expect(explained('GET', '/%')).toEqual([
      null,
      { _index: 'path differs', new: 'path differs', join: 'path differs', _entity: 'path differs' },
    ]);
  });

  test('explains precedence, and the values of a placeholder without requirement', () => {
    const made = [route('/a/{x}'), route('/a/b')];
    expect(explained('GET', '/a/b', made)).toEqual(['/a/b', { '/a/{x}': 'matches too, but /a/b comes first' }]);
    expect(explained('GET', '/a/b%2Fc', made)[1]).toMatchObject({
      '/a/{x}': 'requirement x: "b/c" does not match a segment without "/"',
    });
  });

  test('lists every record exactly once', () => {
    const { match, others } = explainMatch(person, 'GET', '/api/person/1.json');
    expect(new Set([match?.record, ...others.map(({ record }) => record)])).toEqual(new Set(person));
    expect(others).toHaveLength(person.length - 1);
  });
});

describe('compared with the router', () => {
  const closing: (() => Promise<unknown>)[] = [];
  afterAll(() => Promise.all(closing.map((close) => close())));

  const segment = fc.constantFrom('a', 'b', '1', '{x}', '{y}', '{z}');
  const path = fc
    .tuple(fc.array(segment, { minLength: 1, maxLength: 3 }), fc.boolean())
    .map(
      ([parts, formatted]) =>
        `/${parts.map((part, index) => (part.startsWith('{') ? `{p${index}}` : part)).join('/')}${formatted ? '.{_format}' : ''}`,
    );
  const methods = fc.subarray(['GET', 'POST'] as const, { minLength: 1 });
  const requirement = fc.constantFrom(undefined, '\\d+', '[ab]+', '[a1.]+');
  const given = fc.tuple(path, methods, requirement, requirement, requirement).map(([of, enabled, ...constraints]) => {
    const requirements = Object.fromEntries(
      constraints.flatMap((constraint, index) => (constraint && of.includes(`{p${index}}`) ? [[`p${index}`, constraint]] : [])),
    );
    return route(of, enabled, requirements);
  });
  const set = fc.uniqueArray(given, { selector: ({ path: of }) => of.replace(/\{p\d\}/g, '{}'), minLength: 1, maxLength: 8 });
  const requested = fc
    .tuple(
      fc.array(fc.constantFrom('a', 'b', '1', 'a1', 'a.json', '1.json', '%61', 'c', ''), { minLength: 1, maxLength: 3 }),
      fc.boolean(),
    )
    .map(([parts, json]) => `/${parts.join('/')}${json ? '.json' : ''}`);

  test('the same record matches with the same params', async () => {
    await fc.assert(
      fc.asyncProperty(set, fc.array(requested, { minLength: 10, maxLength: 20 }), async (made, urls) => {
        const app = await serve(made);
        closing.push(() => app.close());
        for (const url of urls) {
          for (const method of ['GET', 'POST', 'PUT'] as const) {
            const expected = findMatch(made, method, url);
            const answer = await app.inject({ method, url });
            if (expected) {
              expect(answer.json()).toMatchObject({
                name: expected.record.name,
                params: expected.params,
                format: expected.format,
              });
            } else {
              const allowed = allowedMethods(made, url);
              // A requirement that only some of the methods at a path have leaves the others to the host.
              if (method === 'PUT') expect(answer.statusCode).toBe(allowed.length > 0 ? 405 : 404);
              else expect(answer.statusCode).toBeGreaterThanOrEqual(404);
            }
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});
