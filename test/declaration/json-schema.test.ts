import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { catalogFromCode } from '../../src/declaration/modules/modules.ts';
import { referenceText } from '../../src/declaration/reference.ts';
import { jsonSchema, jsonSchemaText } from '../../src/declaration/schema/json-schema.ts';
import { Center, fromYaml, outcomeOf, Person, PersonController, yamlSource } from './application.ts';

const validate = new Ajv2020({ strict: false }).compile(jsonSchema());
const env = { PORT: '80', NAME: 'value', PATH_PREFIX: 'prefix', ON: 'true' };
const catalog = catalogFromCode({ models: [Person, Center], controllers: [PersonController], authenticators: [class Mine {}] });

const api = (rest: string) => `app_main: { apis: { person: { class: Person, base_path: /a, actions: { _index: }, ${rest} } } }`;
const action = (name: string, rest: string) =>
  `app_main: { apis: { person: { class: Person, base_path: '/a/{b}', actions: { ${name}: ${rest} } } } }`;

describe('the JSON Schema', () => {
  test.each([
    'app_main:',
    'app_main: {}',
    'app-main: {}',
    'when@prod: { app_main: { server: { port: 1 } } }',
    'when@dev:',
    'app_main: { apis: }',
    'app_main: { apis: [] }',
    'app_main: { apis: [{ name: a, class: Person, base_path: /a, actions: { _index: } }] }',
    api(''),
    api(
      'controller: PersonController, base_role: A, default_sort: [-a, b.c], pagination: { items-per-page: 5, max_items_per-page: 6 }',
    ),
    api('controller: null, base_role: null, default_sort: , pagination: '),
    'app_main: { apis: { person: { class: Person, base-path: "/a/{b}", actions: { _index: , x-y: { methods: { GET: true } } } } } }',
    "app_main: { apis: { person: { class: '%env(CLASS)%', base_path: '/%env(PATH_PREFIX)%/a', actions: { _index: } } } }",
    action('_index', '{ methods: , roles: , requirements: [] }'),
    action('_entity', '{ methods: { GET: true, HEAD: false }, roles: { GET: A, HEAD: null }, requirements: { id: x, b: y } }'),
    action('x', '{ single-collection: collection, methods: { POST: true }, controller_action: y, path: z/z }'),
    action('x', '{ single_collection: single, association: { property: p, types: [Person] } }'),
    "app_main: { server: { port: '%env(int:PORT)%', base_url: 'https://example.org/v1', host: '%env(NAME)%' } }",
    "app_main: { security: { require_role: '%env(bool:ON)%' } }",
    'app_main: { security: { jwt: null, role_hierarchy: { A: [B], C: }, strategy: priority, authenticator: Mine } }',
    `app_main: { security: { jwt: { secret: ${'s'.repeat(32)} }, api_keys: { a: { key: ${'k'.repeat(16)}, roles: [A] } } } }`,
    'app_main: { security: { jwt: { algorithm: RS256, jwks: { keys: [{ kty: RSA }] } } } }',
    'app_main: { security: { jwt: { algorithm: RS256, jwks: https://example.org/jwks } } }',
    'app_main: { formats: [json], database: { url: "sqlite::memory:", schema: none, pool: 1, connect-timeout: 1, statement_timeout: 0 } }',
  ])('accepts %s like the checker', (yaml) => {
    expect(fromYaml(yaml, { catalog, env: { ...env, CLASS: 'Person' } }).lines).toEqual([]);
    expect(validate(parse(yaml)), JSON.stringify(validate.errors)).toBe(true);
  });

  test.each([
    'app_mian: {}',
    'when@prd: {}',
    'when@prod: { app_mian: {} }',
    'app_main: text',
    'app_main: { apis: text }',
    'app_main: { apis: { person: } }',
    'app_main: { apis: [null] }',
    'app_main: { apis: { person: { base_path: /a, actions: { _index: } } } }',
    'app_main: { apis: { person: { class: Person, actions: { _index: } } } }',
    'app_main: { apis: { person: { class: Person, base_path: /a } } }',
    'app_main: { apis: { person: { class: Person, base_path: /a, actions: } } }',
    'app_main: { apis: { person: { class: Person, base_path: /a, actions: {} } } }',
    'app_main: { apis: { person: { class: Person, base_path: /a/, actions: { _index: } } } }',
    'app_main: { apis: { person: { class: Person, base_path: "/{id}", actions: { _index: } } } }',
    'app_main: { apis: { person: { class: "", base_path: /a, actions: { _index: } } } }',
    api('base_pth: 1'),
    api('base_role: ""'),
    api('base_role: 5'),
    api('name: a-b'),
    api('default_sort: [--a]'),
    api('default_sort: [a, a]'),
    api('pagination: { items_per_page: 0 }'),
    action('1indx', '{ methods: { GET: true } }'),
    action('1x', '{ methods: { GET: true } }'),
    action('_index', '{ methods: { get: true } }'),
    action('_index', '{ methods: { GET: yes } }'),
    action('_index', '{ roles: { GET: 1 } }'),
    action('_index', '{ requirements: [a] }'),
    action('_index', '{ path: /a }'),
    action('_index', '{ path: "{a}" }'),
    action('_index', '{ single-collection: both }'),
    action('x', '{ association: {} }'),
    action('x', '{ association: { property: p, types: Person } }'),
    'app_main: { server: { port: 65536 } }',
    'app_main: { server: { port: "80" } }',
    'app_main: { server: { port: } }',
    'app_main: { server: { base_url: /a/ } }',
    'app_main: { server: { base_url: x } }',
    'app_main: { database: { url: "mysql://x" } }',
    'app_main: { database: { schema: drop } }',
    'app_main: { database: { pool: 0 } }',
    'app_main: { formats: [] }',
    'app_main: { formats: [pdf] }',
    'app_main: { security: { jwt: { secret: short } } }',
    'app_main: { security: { jwt: { algorithm: none } } }',
    'app_main: { security: { jwt: { algorithm: RS256, jwks: { keys: [] } } } }',
    'app_main: { security: { jwt: { algorithm: RS256, jwks: 5 } } }',
    'app_main: { security: { api_keys: { a: } } }',
    'app_main: { security: { api_keys: { a: { key: "sha256:0123456789abcdef" } } } }',
    'app_main: { security: { role_hierarchy: { A: B } } }',
    'app_main: { security: { role_hierarchy: { "a b": [] } } }',
    'app_main: { security: { require_role: 1 } }',
  ])('rejects %s like the checker', (yaml) => {
    expect(fromYaml(yaml, { catalog, env }).lines).not.toEqual([]);
    expect(validate(parse(yaml))).toBe(false);
  });

  test.each([
    ["app_cruds: { resource: 'app_main_crud_route_loader:load', type: service }", true],
    ["app_cruds: { resource: 'app_main_crud_route_loader:load', type: service }\nwhen@dev: { app_main: {} }", true],
    ["app_cruds: { resource: 'app_main_crud_route_loader:load', type: other }", false],
    ["app_cruds: { resource: 'app_main_crud_route_loader', type: service }", false],
    ["app_cruds: { resource: 'app_main_crud_route_loader:load', type: service, x: 1 }", false],
    ['app_cruds: { type: service }', false],
    ['app_cruds:', false],
  ])('validates the routes %j like the checker', (yaml, accepted) => {
    expect(outcomeOf(yamlSource({ 'routes.yaml': yaml })).lines.length === 0).toBe(accepted);
    expect(validate(parse(yaml))).toBe(accepted);
  });

  test('accepts the reference', () => {
    expect(validate(parse(referenceText()))).toBe(true);
  });

  test('is the schema that the package ships', () => {
    const file = join(import.meta.dirname, '../../schema/app-main.schema.json');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(jsonSchema());
    expect(JSON.parse(jsonSchemaText())).toEqual(jsonSchema());
  });
});
