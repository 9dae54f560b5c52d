import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApplication, type TestApplication } from '../support/testing.ts';

const directory = join(import.meta.dirname, '../../examples/courses');

describe('the extensions of the document', () => {
  let app: TestApplication;
  let document: any;

  beforeAll(async () => {
    app = await startApplication({ directory, databaseUrl: 'sqlite::memory:', env: { NODE_ENV: 'development' } });
    document = await (await fetch(`${app.url}/openapi.json`)).json();
  });
  afterAll(() => app.close());

  test('name the action of each operation, and the property of an association', () => {
    const { paths } = document;
    expect(paths['/api/person.csv'].get).toMatchObject({ 'x-action': '_index' });
    expect(paths['/api/person/{id}.json'].patch).toMatchObject({ 'x-action': '_entity' });
    expect(paths['/api/course/{id}/close.json'].post).toMatchObject({ 'x-action': 'close' });
    expect(paths['/api/course/{id}/close.json'].post).not.toHaveProperty('x-association');
    expect(paths['/api/course/{id}/tags.json'].delete).toMatchObject({ 'x-action': 'tag', 'x-association': 'tags' });
    expect(paths['/api/status.json'].get).not.toHaveProperty('x-action');
  });

  test('name the model of responses and references, but not of embedded objects', () => {
    const { schemas } = document.components;
    expect(schemas.Person['x-model']).toBe('Person');
    expect(schemas.Document['x-model']).toBe('Document');
    expect(schemas.CenterReference['x-model']).toBe('Center');
    expect(schemas.Address).not.toHaveProperty('x-model');
  });
});
