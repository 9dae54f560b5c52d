import { defineEntity, p } from '@mikro-orm/core';
import { beforeAll, describe, expect, test } from 'vitest';
import { loadApplication } from '../../src/application.ts';
import { clientSource } from '../../src/openapi/client/client.ts';
import { openApiDocument } from '../../src/openapi/document.ts';
import { clinic, clinicYaml } from '../support/clinic.ts';

async function described(yaml = clinicYaml) {
  const application = await loadApplication({
    directory: clinic({ 'config/app_main.yaml': yaml }),
    databaseUrl: 'sqlite::memory:',
  });
  try {
    const document = openApiDocument(application, { title: 'clinic', version: '1.0.0' }) as any;
    return { document, client: clientSource(document, application.records) };
  } finally {
    await application.mapper.close();
  }
}

describe('fields by role in the OpenAPI document', () => {
  let document: any;
  let client: string;
  let schemas: any;
  beforeAll(async () => {
    ({ document, client } = await described());
    schemas = document.components.schemas;
  });

  test('are optional, and name the role', () => {
    expect(schemas.Person.required).toEqual(['id', 'name', 'center']);
    expect(schemas.Person.properties.diagnosis).toEqual({
      type: ['string', 'null'],
      description: 'Only for callers with the role PERSON_MEDICAL.',
      'x-role': 'PERSON_MEDICAL',
    });
    expect(schemas.Person.properties.name).not.toHaveProperty('x-role');
  });

  test('are optional in embedded rows', () => {
    const { anyOf } = schemas.Person.properties.center;
    const center = schemas[anyOf[0].$ref.split('/').at(-1)];
    expect(center.required).toEqual(['id', 'name']);
    expect(center.properties.budget).toMatchObject({ 'x-role': 'ROLE_FINANCE' });
  });

  test('are optional in bodies', () => {
    expect(schemas.PersonCreate.properties.diagnosis).toMatchObject({ 'x-role': 'PERSON_MEDICAL' });
    expect(schemas.PersonCreate.required).toEqual(['name']);
    expect(schemas.PersonReplace.required).toEqual(['name']);
  });

  test('cannot be the discriminator, because rows without it match the schemas of several classes', async () => {
    const unionFor = async (group: string) => {
      const Paper = defineEntity({
        name: 'Paper',
        discriminatorColumn: 'type',
        discriminatorValue: 'paper',
        properties: { id: p.integer().primary().groups('read', 'kinds'), type: p.string().groups(group) },
      });
      const Letter = defineEntity({ name: 'Letter', extends: Paper, discriminatorValue: 'letter', properties: {} });
      const application = await loadApplication({
        app_main: {
          groups: { kinds: { role: 'ROLE_KINDS' } },
          apis: { paper: { class: Paper, base_path: '/paper', groups: { read: ['read', 'kinds'] }, actions: { _entity: null } } },
          database: { url: 'sqlite::memory:' },
        },
        models: [Paper, Letter],
      } as never);
      const document = openApiDocument(application, { title: 'papers', version: '1.0.0' }) as any;
      await application.mapper.close();
      return document.components.schemas.AnyPaper;
    };
    expect(Object.keys(await unionFor('read'))).toEqual(expect.arrayContaining(['oneOf', 'discriminator']));
    const union = await unionFor('kinds');
    expect(union.anyOf).toHaveLength(2);
    expect(union).not.toHaveProperty('discriminator');
  });

  test('are optional in bodies even if the model requires them', async () => {
    const application = await loadApplication({
      directory: clinic({
        'src/models/models.ts': `import { defineEntity, p } from '@mikro-orm/core';
export const Center = defineEntity({ name: 'Center', properties: { id: p.integer().primary().groups('read', 'short') } });
export const Person = defineEntity({
  name: 'Person',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    diagnosis: p.string().groups('read:medical', 'write:medical'),
    fee: p.integer().default(0).groups('read:finance'),
  },
});`,
      }),
      databaseUrl: 'sqlite::memory:',
    });
    const { components } = openApiDocument(application, { title: 'clinic', version: '1.0.0' }) as any;
    await application.mapper.close();
    expect(components.schemas.PersonCreate.required).toEqual(['name']);
  });

  test('are parameters that name the role', () => {
    const { parameters } = document.paths['/api/person.json'].get;
    const named = (name: string) => parameters.find((parameter: any) => parameter.name === name);
    expect(named('diagnosis')).toMatchObject({
      description: expect.stringMatching(/ Only for callers with the role PERSON_MEDICAL\.$/),
      'x-role': 'PERSON_MEDICAL',
    });
    expect(named('name')).not.toHaveProperty('x-role');
    expect(named('sort')).toMatchObject({
      description: expect.stringMatching(/ `diagnosis` is only for callers with the role PERSON_MEDICAL\.$/),
      'x-role-of': { diagnosis: 'PERSON_MEDICAL' },
    });
    expect(named('q').description).toBe(
      'Words to search for in name, diagnosis. `diagnosis` is only for callers with the role PERSON_MEDICAL.',
    );
  });

  test('are optional in the typed client', () => {
    const [person = ''] = /export (?:interface|type) Person\b[^}]*\}/.exec(client) ?? [];
    expect(person).toMatch(/\bdiagnosis\?: /);
    expect(person).toMatch(/\bname: string/);
  });

  test('an action with groups of its own has schemas of its own', () => {
    const list = document.paths['/api/center.json'].get.responses['200'].content['application/json'].schema;
    const { items } = schemas[list.$ref.split('/').at(-1)].properties.results;
    expect(items.$ref).toBe('#/components/schemas/CenterShort');
    expect(Object.keys(schemas.CenterShort.properties)).toEqual(['id', 'code']);
    const entity = document.paths['/api/center/{id}.json'].get.responses['200'].content['application/json'].schema;
    expect(entity.$ref).toBe('#/components/schemas/Center');
    expect(Object.keys(schemas.Center.properties)).toEqual(['id', 'name']);
  });

  test('an API without groups has the names and schemas of the default groups', async () => {
    const { document: plain } = await described(
      clinicYaml
        .replace(/ {2}groups:\n(?: {4}.*\n)+/, '')
        .replace(/ {6}groups:\n(?: {8}.*\n)+/, '')
        .replace(/ {10}groups: .*\n/, '          methods: { GET: true }\n')
        .replace(/, diagnosis(?:: \[.*?\])?/g, ''),
    );
    expect(Object.keys(plain.components.schemas).filter((name) => /^(?:Person|Center)/.test(name))).toEqual([
      'Center',
      'CenterCollection',
      'CenterReference',
      'Person',
      'PersonCollection',
      'PersonCreate',
      'PersonPatch',
      'PersonReplace',
    ]);
    expect(JSON.stringify(plain)).not.toContain('x-role"');
  });
});
