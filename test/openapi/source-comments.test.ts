import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadApplication } from '../../src/application.ts';
import { openApiDocument } from '../../src/openapi/document.ts';
import { makeTemporary } from '../support/temporary.ts';

const model = `
import { defineEntity, p } from ${JSON.stringify(import.meta.resolve('@mikro-orm/core'))};

/* no documentation */
export const Plain = defineEntity({
  name: 'Plain',
  properties: { id: p.integer().primary().groups('read') },
});

/**
 * A thing, of which
 * there are many; see {@link Plain}.
 *
 * Two paragraphs.
 * @internal nobody needs to know
 */
export const Thing = defineEntity({
  name: 'Thing',
  properties: {
    /** The number. */
    id: p.integer().primary().groups('read'),
    // not for others
    remark: p.string().groups('read'),
    size: p.integer().groups('read'), /** of the size, written after it */
    weight: p.integer().groups('read'),
    /** In the source. */
    colour: p.string().comment('In the model.').groups('read'),
    text: p.string().default('/** no comment */').groups('read'),
    /** Holds a comma, a { and a ' in it. */
    odd: p.string().default(\`/** { \`).groups('read'),
    /**
     * Secret.
     */
    hidden: p.string(),
    last: p.string().groups('read'),
  },
});

const childSchema = defineEntity({
  name: 'Child',
  properties: {
    id: p.integer().primary().groups('read'),
    /** Taller. */
    height: p.integer().groups('read'),
  },
});

/** A child. */
export class Child extends childSchema.class {}
childSchema.setClass(Child);
`;

const yaml = `
app_main:
  database: { url: 'sqlite::memory:' }
  apis:
${['Plain', 'Thing', 'Child'].map((name) => `    ${name}: { class: ${name}, base_path: /${name}, actions: { _index: ~ } }`).join('\n')}
`;

let schemas: Record<string, { description?: string; properties: Record<string, { description?: string }> }>;
const temporary = makeTemporary('comments');

beforeAll(async () => {
  const { directory } = temporary;
  mkdirSync(join(directory, 'config'), { recursive: true });
  mkdirSync(join(directory, 'src', 'models'), { recursive: true });
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(directory, 'config', 'app.yaml'), yaml);
  writeFileSync(
    join(directory, 'config', 'routes.yaml'),
    "app_cruds: { resource: 'app_main_crud_route_loader:load', type: service }\n",
  );
  writeFileSync(join(directory, 'src', 'models', 'all.ts'), model);
  const application = await loadApplication({ directory });
  const document = openApiDocument(application, { title: 'x', version: '1' });
  await application.mapper.close(true);
  schemas = (document.components as { schemas: typeof schemas }).schemas;
});
afterAll(temporary.remove);

test('models are described by their doc comments', () => {
  expect(schemas.Thing?.description).toBe('A thing, of which there are many; see Plain.\n\nTwo paragraphs.');
  expect(schemas.Child?.description).toBe('A child.');
  expect(schemas.Plain?.description).toBeUndefined();
});

test('properties are described by their doc comments unless the model has a description', () => {
  const said = Object.entries(schemas.Thing?.properties ?? {}).map(([name, { description }]) => [name, description]);
  expect(Object.fromEntries(said)).toEqual({
    id: 'The number.',
    remark: undefined,
    size: undefined,
    weight: undefined,
    colour: 'In the model.',
    text: undefined,
    odd: "Holds a comma, a { and a ' in it.",
    last: undefined,
  });
  expect(schemas.Child?.properties.height?.description).toBe('Taller.');
});
