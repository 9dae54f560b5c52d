import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { fullApplication } from './applications.ts';
import { call } from './call.ts';

test('the document has every route and is the same in YAML', async () => {
  const directory = fullApplication();
  const { code, out, err } = await call(['openapi', directory]);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const document = JSON.parse(out);
  expect(document.openapi).toBe('3.1.1');
  expect(Object.entries(document.paths).map(([path, methods]) => [path, Object.keys(methods as object)])).toEqual([
    ['/api/person.json', ['get', 'head', 'post']],
    ['/api/person/{id}/details.json', ['get', 'head']],
    ['/api/{region}/course/{id}.json', ['get', 'head', 'patch', 'delete']],
    ['/api/{region}/course.json', ['get', 'head']],
    ['/api/{region}/course/mine.json', ['get']],
    ['/api/{region}/course/{id}/participants.json', ['post', 'delete']],
    ['/api/{region}/course/{id}/shut-down.json', ['post']],
    ['/status.json', ['get']],
  ]);
  expect(document.paths['/api/{region}/course/{id}.json'].patch['x-roles']).toEqual(['COURSE_SEE', 'ROLE_EDITOR']);
  const yaml = await call(['openapi', directory, '--yaml']);
  expect(parse(yaml.out)).toEqual(document);
});

test('--out writes the document to a file, as YAML if its name says so', async () => {
  const directory = fullApplication();
  const { out: printed } = await call(['openapi', directory]);
  expect(await call(['openapi', directory, '--out', 'api.json'], { cwd: directory })).toEqual({
    code: 0,
    out: '',
    err: 'wrote api.json\n',
  });
  expect(readFileSync(join(directory, 'api.json'), 'utf8')).toBe(printed);
  await call(['openapi', directory, '--out', 'api.yaml'], { cwd: directory });
  const yaml = readFileSync(join(directory, 'api.yaml'), 'utf8');
  expect(yaml).toMatch(/^openapi: /);
  expect(parse(yaml)).toEqual(JSON.parse(printed));
});

test('--out names a file that cannot be written', async () => {
  const { code, err } = await call(['openapi', fullApplication(), '--out', 'no/such/folder.json']);
  expect(code).toBe(2);
  expect(err).toMatch(/^declarest: cannot write no\/such\/folder\.json: ENOENT/);
});
