import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { referenceText } from '../../src/declaration/reference.ts';
import { root, routes } from '../../src/declaration/schema/schema.ts';
import type { Shape } from '../../src/declaration/shape.ts';
import { fromCode, fromYaml, personApi } from './application.ts';

const text = referenceText();
const keys = () =>
  new Map([...keysIn(root), ...keysIn(routes)].map(([name, doc]) => [`${name} ${doc}`, [name, doc] as const])).values();

/** Every declared key in the schema with its documentation. */
function keysIn(shape: Shape): [string, string][] {
  if (shape.kind === 'either') return shape.options.flatMap(keysIn);
  if (shape.kind === 'list' || shape.kind === 'map') return keysIn(shape.of);
  if (shape.kind !== 'object') return [];
  return Object.entries(shape.keys).flatMap(([name, key]) => [[name, key.doc], ...keysIn(key.shape)] as [string, string][]);
}

describe('the reference', () => {
  test('is YAML that yields the defaults when read as configuration', () => {
    const { declaration, lines } = fromYaml(text);
    expect(lines).toEqual([]);
    // groups know where they were written
    const withoutPlaces = (given: unknown) => JSON.parse(JSON.stringify(given, (key, value) => (key === 'path' ? 0 : value)));
    expect(withoutPlaces(declaration)).toEqual(withoutPlaces(fromCode({ apis: { person: personApi() } }).declaration));
  });

  test.each([...keys()])('shows the key %s with "%s"', (name, doc) => {
    const line = text
      .split('\n')
      .find((candidate) => candidate.includes(`${name}:`) && candidate.includes(`# `) && candidate.includes(doc));
    expect(line).toBeDefined();
  });

  test('has no key without documentation', () => {
    for (const [, doc] of keys()) expect(doc).toMatch(/^\S.*[.…]$/);
  });

  test('shows valid commented keys too', () => {
    const uncommented = text
      .split('\n')
      .filter((line) => !/^#|^$/.test(line))
      .map((line) =>
        line
          .replace(
            /: (?:null|false|\{\}|\[\]|exact)( +# (?:Adds to|Lists of rows|To-many associations|Query parameters|Regular|Roles that|Groups that apply|Public keys|Keys for|Users that|How items|How often|What the action does|The operation id in|Metrics for|Which pages|Whether responses are compressed|Whether \/explorer|Counts, sums|Fields that (?:a list|\?q)))/,
            ':$1',
          )
          .replace(/^( +)# /, '$1'),
      )
      .join('\n');
    const { app_main } = parse(uncommented);
    expect(app_main.apis.person.actions._index.association).toEqual({ property: 'participants', types: [] });
    expect(app_main.apis.person.actions._index.requirements).toEqual({ id: '\\d+' });
    expect(app_main.apis.person.actions._index.parameters.season).toMatchObject({ type: 'string', required: false });
    expect(app_main.security.role_hierarchy).toEqual({ ROLE_ADMIN: ['ROLE_USER'] });
    expect(app_main.security.api_keys).toEqual({ reporting: { key: 'sha256:…', roles: [] } });
    expect(app_main.security.sample_users).toEqual({ Ada: { id: 1, roles: [], claims: {} } });
    expect(app_main.groups).toEqual({ 'read:medical': { role: 'PERSON_MEDICAL' } });
    expect(app_main.security.jwt.jwks).toEqual({ keys: [] });
    expect(app_main.server.rate_limit).toEqual({ limit: 600, window: 60, by: 'user', store: 'memory' });
    expect(app_main.server.cors).toMatchObject({ origins: 'https://app.example.org', credentials: false });
    expect(app_main.server.compress).toEqual({ threshold: 1024, encodings: ['br', 'gzip'] });
    expect(app_main.pagination.count).toEqual({ capped: 10000 });
    expect(app_main.apis.person.filters).toEqual({ lastName: ['eq', 'contains'] });
    expect(app_main.apis.person.aggregate).toMatchObject({ by: [], of: { amount: ['sum', 'avg'] }, max_groups: 1000 });
    expect(app_main.apis.person.actions._index.description).toMatchObject({ GET: null });
    expect(app_main.apis.person.actions._index.operation_id).toMatchObject({ GET: null });
    expect(app_main.apis.person.search).toEqual({ fields: ['lastName'], using: 'like' });
  });

  test('aligns its comments in one column', () => {
    const columns = text
      .slice(text.indexOf('app_main:'), text.indexOf('# Blocks'))
      .split('\n')
      .filter((line) => line.includes('# '))
      .map((line) => line.search(/(?<=\S {2,})# /));
    expect(new Set(columns).size).toBe(1);
  });
});
