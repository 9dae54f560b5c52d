import { describe, expect, test } from 'vitest';
import type { Path } from '../../src/declaration/types.ts';
import { checkRoutes } from '../../src/route/check-routes.ts';
import type { RouteRecord } from '../../src/route/record.ts';
import { action, api, definition, records, route } from './fixtures.ts';

function errorsOf(made: readonly RouteRecord[]): [string, string][] {
  const errors: [string, string][] = [];
  checkRoutes(made, { add: (path: Path, message: string) => void errors.push([path.join('.'), message]) });
  return errors;
}

test('routes that do not conflict are accepted', () => {
  const actions = [action('_index'), action('_entity'), action('join'), action('stats', { single: false })];
  expect(errorsOf(records([api('a', actions), api('b', actions), api('c', actions, { basePath: '/api/{tenant}/c' })]))).toEqual(
    [],
  );
  expect(errorsOf([definition('/'), definition('/health')])).toEqual([]);
});

describe('names', () => {
  test('must be unique', () => {
    const errors = errorsOf(records([api('a_b', [action('c')]), api('a', [action('b_c')])]));
    expect(errors).toEqual([
      [
        'app_main.apis.x.actions.b_c',
        'the route name "app_api_single_a_b_c" is already taken by the route at /api/a_b/{id}/c.{_format}; rename the API, the action or the route',
      ],
    ]);
  });
});

describe('paths', () => {
  test('that differ only in placeholder names must not share a method', () => {
    const errors = errorsOf([
      route('/a/{x}', ['GET', 'HEAD', 'POST'], { x: '\\d+' }),
      route('/a/{y}', ['HEAD', 'GET', 'PUT'], { y: '[a-z]+' }),
    ]);
    expect(errors).toEqual([
      [
        'mine.resource',
        'HEAD, GET /a/{y} of the route "/a/{y}" is already handled by the route "/a/{x}" (/a/{x}), because names of placeholders do not matter; ' +
          'change a path or disable the method on one of them',
      ],
    ]);
  });

  test('that differ in methods or static segments may coexist', () => {
    expect(
      errorsOf([route('/a/{x}', ['GET']), route('/a/{y}', ['POST']), route('/a/b', ['GET']), route('/{x}/b', ['GET'])]),
    ).toEqual([]);
  });

  test('conflict if another path spells out one of their formats', () => {
    const made = [...records([api('a', [action('_index')])], ['json', 'xml']), definition('/api/a.xml')];
    expect(errorsOf(made).map(([, message]) => message)).toEqual([expect.stringContaining('GET /api/a.xml')]);
    expect(errorsOf([...records([api('a', [action('_index')])]), definition('/api/a.xml')])).toEqual([]);
  });

  test('are reported once, however many formats conflict', () => {
    const made = records([api('a', [action('_index')]), api('b', [action('_index')], { basePath: '/api/a/' })], ['json', 'xml']);
    expect(errorsOf(made)).toHaveLength(1);
  });

  test.each([
    ['api/x', 'must start with "/"'],
    ['.{_format}', 'must start with "/"'],
    ['/api//x', 'empty segment'],
    ['/api/x/', 'empty segment'],
    ['/api/../x', 'the segment ".."'],
    ['/api/./x', 'the segment "."'],
    ['/api/v{n}', 'must fill a whole segment'],
    ['/api/{a-b}', 'must fill a whole segment'],
    ['/api/{', 'must fill a whole segment'],
    ['/api/{a}/{a}', 'the placeholder {a} twice'],
    ['/api/{_format}', 'only at its end'],
    ['/api/a*', 'contains "*"'],
    ['/api/a?', 'contains "?"'],
    ['/api/a#', 'contains "#"'],
    ['/api/%20', 'contains "%"'],
    ['/api/a b', 'contains " "'],
    ['/api/a\u0000', 'contains "\\u0000"'],
  ])('%j is rejected', (path, message) => {
    expect(errorsOf([route(path)]).map(([, told]) => told)).toEqual([expect.stringContaining(message)]);
  });
});

describe('requirements', () => {
  const withRequirements = (requirements: Record<string, string>) =>
    errorsOf(records([api('a', [action('_entity', { requirements })], { basePath: '/api/{tenant}/a' })]));

  test('that are invalid or catastrophic are reported at their place', () => {
    const errors = withRequirements({ id: '(a+)+', tenant: '[a' });
    expect(errors).toEqual([
      [
        'app_main.apis.x.actions._entity.requirements.id',
        expect.stringMatching(/^the requirement "\(a\+\)\+" of \{id\} can backtrack/),
      ],
      [
        'app_main.apis.x.actions._entity.requirements.tenant',
        expect.stringMatching(/^the requirement "\[a" of \{tenant\} is not a valid/),
      ],
    ]);
  });

  test('that are invalid in a route-loading service are reported at its entry', () => {
    expect(errorsOf([definition('/x/{a}', { requirements: { a: '(' } })])).toEqual([
      ['mine.resource', expect.stringContaining('not a valid regular expression')],
    ]);
  });

  test('must belong to a placeholder', () => {
    expect(withRequirements({ idd: '\\d+' })).toEqual([
      [
        'app_main.apis.x.actions._entity.requirements.idd',
        'unknown placeholder {idd} in "requirements"; /api/{tenant}/a/{id}.{_format} has: {tenant}, {id}',
      ],
    ]);
    expect(errorsOf([definition('/x', { requirements: { a: 'b' } })])[0]?.[1]).toContain('/x has: none');
  });

  test('shared by many routes are checked once, and reported for each', () => {
    const costly = Array.from({ length: 12 }, (_, i) => `[a-${'bcdefghijklm'[i]}]{1,9}`).join('');
    const entity = action('_entity', { requirements: { id: costly } });
    const timeOf = (amount: number) => {
      const made = records(Array.from({ length: amount }, (_, i) => api(`a${i}`, [entity])));
      const begun = performance.now();
      expect(errorsOf(made)).toHaveLength(amount);
      return performance.now() - begun;
    };
    timeOf(1);
    const one = timeOf(1);
    expect(one).toBeGreaterThan(0.1);
    expect(timeOf(200)).toBeLessThan(one * 20 + 50);
  });

  test('of id are ignored if the path has no id', () => {
    expect(errorsOf(records([api('a', [action('_index', { requirements: { id: '\\d+' } })])]))).toEqual([]);
  });

  test('of the format follow the same rules', () => {
    expect(withRequirements({ _format: 'json' })).toEqual([]);
    expect(withRequirements({ _format: '(j+)+' })[0]?.[1]).toContain('catastrophically');
  });
});
