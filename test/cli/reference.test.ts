import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { referenceText } from '../../src/declaration/reference.ts';
import { jsonSchema, jsonSchemaText } from '../../src/declaration/schema/json-schema.ts';
import { call } from './call.ts';
import { run, start } from './spawned.ts';

test('every key is printed with its default', async () => {
  for (const print of [run, call]) expect(await print(['reference'])).toEqual({ code: 0, out: referenceText(), err: '' });
});

test.each([80, 40])('comments are wrapped on a terminal of %i columns, and the text is the same', async (columns) => {
  const { out } = await call(['reference'], { isTTY: true, columns, env: { NO_COLOR: '1' } });
  if (columns === 80) expect(out.split('\n').filter((line) => line.length > columns)).toEqual([]);
  expect(parse(out)).toEqual(parse(referenceText()));
  const words = (text: string) => text.split(/[\s#]+/);
  expect(words(out)).toEqual(words(referenceText()));
});

test('--schema prints the JSON Schema', async () => {
  expect(await call(['reference', '--schema'])).toEqual({ code: 0, out: jsonSchemaText(), err: '' });
});

test('the schema of the package is up to date; otherwise: npm run generate', () => {
  const shipped = readFileSync(join(import.meta.dirname, '..', '..', 'schema', 'app-main.schema.json'), 'utf8');
  expect(JSON.parse(shipped)).toEqual(JSON.parse(JSON.stringify(jsonSchema())));
});

test('a directory argument is rejected', async () => {
  expect(await call(['reference', '.'])).toEqual({
    code: 2,
    out: '',
    err: 'declarest: unexpected argument "."; see: declarest reference --help\n',
  });
});

test('closing stdout early is not an error', async () => {
  const printing = start(['reference', '--schema']);
  printing.child.stdout?.destroy();
  expect(await printing.ended).toMatchObject({ code: 0, err: '' });
});
