import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { makeTemporary } from '../support/temporary.ts';

const binary = join(import.meta.dirname, '..', '..', 'bin', 'declarest.js');
const temporary = makeTemporary('bin');
afterAll(temporary.remove);

/** Makes the process that has not been handed over believe that it is an old Node. */
const oldNode = write(
  'old-node.mjs',
  `if (!process.env.DECLAREST_STARTED_BY) {
     Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } });
     Object.defineProperty(process, 'version', { value: 'v20.20.2' });
   }`,
);

const main = `
  export async function main(argv) {
    if (argv[0] === 'fail') throw new Error('broken on purpose');
    const stopped = new Promise((resolve) => process.once('SIGTERM', resolve));
    const timer = setInterval(() => {}, 1000);
    console.log(JSON.stringify({ argv, parent: process.ppid, pid: process.pid, marker: process.env.DECLAREST_STARTED_BY }));
    if (argv[0] === 'wait') await stopped;
    clearInterval(timer);
    return argv[0] === 'wait' ? 7 : Number(argv[0]);
  }`;

function write(name: string, text: string): string {
  const file = join(temporary.directory, name);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, text);
  return file;
}

/** A package with the command in it, laid out as the repository or as the built package. */
function layOut(name: string, mainFile: string): string {
  write(`${name}/package.json`, '{ "type": "module" }');
  write(`${name}/${mainFile}`, main);
  cpSync(binary, join(temporary.directory, name, 'bin', 'declarest.js'));
  return join(temporary.directory, name);
}

function addNode(directory: string): void {
  mkdirSync(join(directory, 'node_modules', 'node', 'bin'), { recursive: true });
  symlinkSync(process.execPath, join(directory, 'node_modules', 'node', 'bin', 'node'));
}

const repository = layOut('repository', 'src/cli/main.ts');
const withNode = layOut('with-node', 'src/cli/main.ts');
addNode(withNode);
const project = join(temporary.directory, 'project');
addNode(project);

function start(directory: string, args: string[], { old = false, cwd = temporary.directory } = {}): ChildProcess {
  return spawn(process.execPath, [...(old ? ['--import', oldNode] : []), join(directory, 'bin', 'declarest.js'), ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

async function run(...call: Parameters<typeof start>): Promise<{ code: number; out: string; err: string }> {
  const child = start(...call);
  const texts = { out: '', err: '' };
  child.stdout?.on('data', (chunk) => {
    texts.out += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    texts.err += chunk;
  });
  const [code] = await once(child, 'close');
  return { code, ...texts };
}

describe('the command under a recent Node', () => {
  test('runs the source if it exists, and exits with the code that main returns', async () => {
    const { code, out } = await run(repository, ['3', '--port', '0']);
    expect(JSON.parse(out).argv).toEqual(['3', '--port', '0']);
    expect(code).toBe(3);
  });

  test('runs the built file if the source is missing', async () => {
    const { code, out } = await run(layOut('package', 'lib/main.js'), ['0']);
    expect(JSON.parse(out).argv).toEqual(['0']);
    expect(code).toBe(0);
  });

  test('prints an unexpected error and exits with 1', async () => {
    const { code, err } = await run(repository, ['fail']);
    expect(err).toContain('broken on purpose');
    expect(code).toBe(1);
  });
});

describe('the command under an old Node', () => {
  test('prints the required version and exits with 2 if no newer Node is installed', async () => {
    const { code, out, err } = await run(repository, ['0'], { old: true });
    expect(err).toMatch(/^declarest needs Node 22\.18 or newer, and this is v20\.20\.2\. .*npm install --save-dev node@24\n$/);
    expect(out).toBe('');
    expect(code).toBe(2);
  });

  test('runs under the newer Node of its own package, with arguments and exit code', async () => {
    const { code, out } = await run(withNode, ['5', 'a b'], { old: true });
    expect(JSON.parse(out)).toMatchObject({ argv: ['5', 'a b'] });
    expect(JSON.parse(out)).not.toHaveProperty('marker');
    expect(code).toBe(5);
  });

  test('runs under the newer Node of the project in the current directory', async () => {
    const { code } = await run(repository, ['6'], { old: true, cwd: project });
    expect(code).toBe(6);
  });

  test('forwards the signal to stop', async () => {
    const child = start(withNode, ['wait'], { old: true });
    await once(child.stdout!, 'data');
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([7, null]);
  });

  test('leaves no process behind when it is killed', async () => {
    const child = start(withNode, ['wait'], { old: true });
    const [line] = await once(child.stdout!, 'data');
    expect(JSON.parse(line).parent).toBe(child.pid);
    child.kill('SIGKILL');
    // Both write to the same pipe, so it closes once neither of them is left.
    await once(child, 'close');
    expect(child.signalCode).toBe('SIGKILL');
  });

  test('ends by the same signal as the newer Node', async () => {
    const child = start(withNode, ['wait'], { old: true });
    const [line] = await once(child.stdout!, 'data');
    process.kill(JSON.parse(line).pid, 'SIGKILL');
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
  });
});
