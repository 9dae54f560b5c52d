import { execFileSync, spawn } from 'node:child_process';
import { closeSync, openSync, symlinkSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { command } from '../../scripts/command.ts';
import { smallApplication, write } from './applications.ts';
import type { Outcome } from './call.ts';
import { run } from './spawned.ts';

const stack = /^\s+at |node:internal/m;

/** The command with its output in a file or device. */
function withOutput(file: string, argv: readonly string[]): Promise<Pick<Outcome, 'code' | 'err'>> {
  const output = openSync(file, 'w');
  const child = spawn(process.execPath, [command, ...argv], { stdio: ['ignore', output, 'pipe'] });
  closeSync(output);
  let err = '';
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    err += text;
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code: code ?? -1, err })));
}

describe('the command', () => {
  const long = 'a'.repeat(5000);

  test.each([
    [['check', '/etc/hosts'], 2, '/etc/hosts is not a directory; give the directory of an application'],
    [['check', long], 1, 'name too long; check the path and its permissions'],
    [['init', long], 2, 'cannot write the application: ENAMETOOLONG: name too long. Nothing was written'],
    [['init', '/etc/hosts/blog'], 2, 'cannot write the application: ENOTDIR: not a directory'],
    [['init', '/proc/blog'], 2, 'cannot create the directory'],
    [['init', 'blog', '--database', 'mysql'], 2, '--database must be one of sqlite, postgresql, not "mysql"\n'],
    [['pull', '--from', 'postgresql://%zz'], 2, '--from must be a URL with the name of a database: postgresql://user@host/name'],
  ] as const)('rejects %j without a stack', async (argv, code, message) => {
    const ended = await run(argv, { cwd: smallApplication() });
    expect([ended.code, ended.out]).toEqual([code, '']);
    expect(ended.err).toContain(message);
    expect(ended.err).not.toMatch(stack);
    expect(ended.err.length).toBeLessThan(500);
  });

  test('reports pipes, devices and huge files in the place of a configuration file', async () => {
    const directory = smallApplication();
    execFileSync('mkfifo', [join(directory, 'config', 'pipe.yaml')]);
    symlinkSync('/dev/zero', join(directory, 'config', 'zero.yaml'));
    write(directory, 'config/huge.yaml', '');
    truncateSync(join(directory, 'config', 'huge.yaml'), 64 * 1024 * 1024);
    const { code, err } = await run(['check', directory]);
    expect(code).toBe(1);
    expect(err.split('\n')).toEqual([
      'config/huge.yaml:1:1: the file cannot be read: it has 67108864 bytes, and at most 4194304 are allowed',
      'config/pipe.yaml:1:1: the file cannot be read: it is not a regular file',
      'config/zero.yaml:1:1: the file cannot be read: it is not a regular file',
      '3 errors',
      '',
    ]);
  });

  test.each(['await new Promise(() => {})', 'process.exit(0)'])('fails if a module runs: %s', async (code) => {
    const directory = smallApplication({ 'src/models/unfinished.ts': `${code};\nexport {};\n` });
    const ended = await run(['check', directory]);
    expect([ended.code, ended.out]).toEqual([1, '']);
    expect(ended.err).toMatch(/^declarest: the process ended before the command finished; a module of the application .*\n$/);
  });

  test('ends with a message if its output cannot be written', async () => {
    const { code, err } = await withOutput('/dev/full', ['routes', smallApplication()]);
    expect(code).toBe(1);
    expect(err).toMatch(/^declarest: cannot write the output: ENOSPC: .*\n$/);
  });
});
