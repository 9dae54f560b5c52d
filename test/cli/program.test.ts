import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { command } from '../../scripts/command.ts';
import { commands } from '../../src/cli/commands.ts';
import { call } from './call.ts';
import { run } from './spawned.ts';

const root = join(import.meta.dirname, '..', '..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

describe('help', () => {
  test('of the program lists every command', async () => {
    const { code, out, err } = await run(['--help']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    for (const { name, summary } of commands) expect(out).toMatch(new RegExp(`^  ${name} +${summary}$`, 'm'));
  });

  test('of the program groups the commands by task', async () => {
    const { out } = await call(['--help']);
    const sections = [...out.matchAll(/^(\w[\w ]*):\n((?: {2}.*\n)+)/gm)].map(([, title, rows]) => [
      title,
      [...(rows as string).matchAll(/^ {2}(\S+)/gm)].map(([, name]) => name),
    ]);
    expect(sections.slice(0, -1)).toEqual([
      ['Run', ['serve', 'dev']],
      ['Inspect', ['check', 'routes', 'match', 'explain', 'access']],
      ['Database', ['migrate', 'pull']],
      ['Generate', ['init', 'openapi', 'client', 'token', 'reference']],
    ]);
  });

  test.each([60, 80, 120])('fits a terminal of %i columns', async (columns) => {
    for (const argv of [['--help'], ...commands.map(({ name }) => [name, '--help'])]) {
      const { out } = await call(argv, { isTTY: true, columns, env: { NO_COLOR: '1' } });
      // a placeholder or an example is never broken
      const long = out.split('\n').filter((line) => line.length > columns && !/^Example:|^Usage:/.test(line));
      expect(long).toEqual([]);
    }
  });

  test('has colours on a terminal only, which do not move its columns', async () => {
    const { out: plain } = await call(['serve', '--help'], { isTTY: true, columns: 80, env: { NO_COLOR: '1' } });
    const { out: painted } = await call(['serve', '--help'], { isTTY: true, columns: 80 });
    expect(painted).toContain('\u001b[');
    expect(stripVTControlCharacters(painted)).toBe(plain);
  });

  test('is the same for --help, -h and help', async () => {
    const { out } = await call(['--help']);
    for (const name of ['-h', 'help']) expect(await call([name])).toEqual({ code: 0, out, err: '' });
  });

  test.each(commands.map(({ name }) => name))('of %s has usage, options, exit codes and an example', async (name) => {
    const { code, out, err } = await call([name, '--help']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(new RegExp(`^Usage: declarest ${name}\\b`, 'm'));
    expect(out).toMatch(/^ {2}-h, --help {2,}Show this help\.$/m);
    for (const exitCode of [0, 1, 2]) expect(out).toMatch(new RegExp(`^  ${exitCode}  \\w`, 'm'));
    expect(out).toMatch(/^Example: .*declarest /m);
    expect(await call([name, '-h'])).toEqual({ code: 0, out, err: '' });
    expect(await call(['help', name])).toEqual({ code: 0, out, err: '' });
  });

  test('is printed even if arguments are missing', async () => {
    expect((await call(['match', '--help'])).code).toBe(0);
  });

  test('goes to stderr with exit code 2 if the command is missing', async () => {
    const { out } = await call(['--help']);
    expect(await call([])).toEqual({ code: 2, out: '', err: out });
  });

  test('loads neither the mapper nor the server', () => {
    const script = `
      const { registerHooks } = await import('node:module');
      const loaded = [];
      registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
      const { main } = await import('./src/cli/main.ts');
      for (const argv of [['--help'], ['--version'], ['serve', '--help'], ['serv']]) await main(argv);
      console.log('LOADED ' + JSON.stringify(loaded));`;
    const out = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: root,
      encoding: 'utf8',
      stdio: 'pipe',
    });
    const loaded: string[] = JSON.parse(/^LOADED (.*)$/m.exec(out)?.[1] as string);
    expect(loaded.some((url) => url.endsWith('/src/cli/commands/serve.ts'))).toBe(true);
    expect(loaded.filter((url) => url.includes('/node_modules/'))).toEqual([]);
  });
});

test('the version is the version of the package', async () => {
  for (const name of ['--version', '-v']) expect(await call([name])).toEqual({ code: 0, out: `${version}\n`, err: '' });
});

test('a slow reader of a pipe gets all of a long output', async () => {
  const example = join(root, 'examples', 'courses');
  const { out } = await call(['openapi', example]);
  // more than a pipe can hold
  expect(out.length).toBeGreaterThan(100_000);
  const script = '"$0" "$1" openapi "$2" | (sleep 4; cat)';
  const piped = execFileSync('sh', ['-c', script, process.execPath, command, example], { encoding: 'utf8' });
  expect(piped.length).toBe(out.length);
});

describe('wrong arguments', () => {
  test('make the binary exit with 2', async () => {
    const { code, out, err } = await run(['serv']);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(/^declarest: unknown command "serv"; did you mean "serve"\? commands: serve, dev, /);
  });

  test.each([
    [['--versoin'], /^declarest: unknown option --versoin; did you mean "--version"\? a command comes first: serve, /],
    [['toast'], /^declarest: unknown command "toast"; commands: serve, /],
    [['help', 'rotues'], /^declarest: unknown command "rotues"; did you mean "routes"\?/],
    [
      ['serve', '--prot', '3'],
      /unknown option --prot; did you mean "--port"\? options of "declarest serve": --port, --host, --timing, --workers, --help/,
    ],
    [['routes', '--port', '3'], /unknown option --port; options of "declarest routes": --json, --help/],
    [['serve', '-p', '3'], /unknown option -p;/],
    [['routes', '--json=yes'], /--json does not accept a value; write just --json/],
    [['routes', '--json', '--json'], /--json is given twice/],
    [['serve', '--port'], /--port needs a value: --port N/],
    [['serve', '--port', '--host', 'h'], /--port needs a value: --port N/],
    [['serve', '--port', '-1'], /--port needs a value: .*--port=-1/],
    [['serve', '--port=-1'], /--port must be a whole number from 0 to 65535, not "-1"/],
    [['serve', '--port', '65536'], /--port must be a whole number from 0 to 65535, not "65536"/],
    [['serve', '--port', '3e3'], /--port must be a whole number/],
    [['serve', '--port', ''], /--port must be a whole number/],
    [['serve', '--host', ''], /--host must be an address/],
    [['dev', '--port', 'x'], /--port must be a whole number/],
    [['check', 'a', 'b'], /unexpected argument "b"; see: declarest check --help/],
  ])('%j are rejected with exit code 2', async (argv, message) => {
    const { code, out, err } = await call(argv);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(message);
    expect(err.trimEnd()).not.toContain('\n');
  });

  test('two dashes end the options', async () => {
    const { code, err } = await call(['check', '--', '--json']);
    expect(code).toBe(2);
    expect(err).toBe('declarest: the directory --json does not exist; give the directory of an application\n');
  });
});
