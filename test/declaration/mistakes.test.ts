import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { blocksOf, root } from '../docs/markdown.ts';

// Inside of the repository, so that imports find what they find from here; var/ is not under version control.
const directory = join(root, 'var', `mistakes-${process.pid}`);
const source = readFileSync(join(import.meta.dirname, 'mistakes.ts'), 'utf8');

/** A mistake that the documentation makes, and what it says of it. */
const documented = blocksOf('docs/reference/declarations.md');
const example = documented.findIndex(({ text }) => text.includes("sort: ['nam']"));

/** What is expected of the line after a comment. */
const expected = source.split('\n').flatMap((text, index) => {
  const message = /@ts-expect-error (?<message>.+)$/.exec(text)?.groups?.message;
  return message === undefined ? [] : [{ line: index + 2, message }];
});

describe('compiler errors for mistakes in declarations', () => {
  /** Messages by the line that they speak of. */
  const said = new Map<number, string>();
  let all: string;

  beforeAll(() => {
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'mistakes.ts'), source.replaceAll('@ts-expect-error', 'expected:'));
    writeFileSync(
      join(directory, 'documented.ts'),
      documented[example]?.text.replace('../models', join(root, 'examples', 'courses', 'src', 'models')) ?? '',
    );
    writeFileSync(
      join(directory, 'tsconfig.json'),
      JSON.stringify({
        extends: join(root, 'tsconfig.json'),
        compilerOptions: { types: [], paths: { declarest: [join(root, 'src', 'declaration', 'define-apis.ts')] } },
        include: ['*.ts'],
        exclude: [],
      }),
    );
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const options = ['--pretty', 'false', '--singleThreaded'];
    ({ stdout: all } = spawnSync(process.execPath, [tsc, '-p', directory, ...options], {
      cwd: directory,
      encoding: 'utf8',
    }));
    for (const [, line, message] of all.matchAll(/^mistakes\.ts\((\d+),\d+\): error TS\d+: (.+\n(?: .+\n)*)/gm)) {
      said.set(Number(line), `${said.get(Number(line)) ?? ''}${message}`);
    }
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  test.each(expected)('$message', ({ line, message }) => {
    const isOurs = !/^(?:Type|Property) /.test(message);
    expect(said.get(line)).toContain(isOurs ? `Mistake<"${message}">` : message);
  });

  test('match the error in the documentation', () => {
    const told = documented[example + 1]?.text;
    expect(told).toMatch(/^error TS/);
    expect(all.split('\n').filter((line) => line.startsWith('documented.ts'))).toEqual([`documented.ts(5,61): ${told?.trim()}`]);
  });

  test('do not appear for valid lines', () => {
    expect([...said.keys()].filter((line) => !expected.some((one) => one.line === line))).toEqual([]);
  });
});
