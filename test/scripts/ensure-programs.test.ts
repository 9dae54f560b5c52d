import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { missingPrograms } from '../../scripts/ensure-programs.mjs';
import { root } from '../docs/markdown.ts';
import { makeTemporary } from '../support/temporary.ts';

const temporary = makeTemporary('programs');
afterAll(() => temporary.remove());
const folder = (name: string) => join(temporary.directory, name);

test('programs are missing if no folder of the path has them as an executable', () => {
  for (const name of ['a', 'b']) mkdirSync(folder(name));
  for (const [file, mode] of [
    ['a/here', 0o755],
    ['b/there', 0o755],
    ['b/text', 0o644],
  ] as const) {
    writeFileSync(folder(file), '');
    chmodSync(folder(file), mode);
  }
  const path = ['', folder('nowhere'), folder('a'), folder('b')].join(delimiter);
  expect(missingPrograms(['here', 'there', 'text', 'other'], path)).toEqual(['text', 'other']);
});

test('programs that cannot be installed are reported with the install command', () => {
  const script = join(root, 'scripts', 'ensure-programs.mjs');
  const { status, stderr } = spawnSync(process.execPath, [script, 'chromium', 'no-such=its-package', 'strace'], {
    env: { PATH: folder('a') },
    encoding: 'utf8',
  });
  expect(stderr).toBe(
    'the tests need chromium and no-such and strace; on Debian: sudo apt-get install -y --no-install-recommends chromium its-package strace\n',
  );
  expect(status).toBe(1);
});
