#!/usr/bin/env node
// The applications and the library are TypeScript, which an old Node cannot read. This file is kept to what Node 12 understands,
// so that it can look for a newer one, or say what is wrong, where the rest would fail with a syntax error.
import { spawn } from 'child_process';
import { existsSync } from 'fs';
import { dirname, join } from 'path';
import { fileURLToPath, pathToFileURL } from 'url';

const marker = 'DECLAREST_STARTED_BY';
const here = dirname(fileURLToPath(import.meta.url));

if (isRecent(process.versions.node)) {
  followParent();
  run();
} else {
  const binary = process.env[marker] ? undefined : newerNode(here) || newerNode(process.cwd());
  if (binary) {
    hand(binary);
  } else {
    console.error(
      `declarest needs Node 22.18 or newer, and this is ${process.version}. ` +
        'Install a newer Node, or add one to your project: npm install --save-dev node@24',
    );
    process.exitCode = 2;
  }
}

/** @param {string} version */
function isRecent(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 18);
}

/**
 * The binary of the npm package "node" in this folder or one above it.
 *
 * @param {string} directory
 * @returns {string | undefined}
 */
function newerNode(directory) {
  const binary = join(directory, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  if (existsSync(binary)) return binary;
  return dirname(directory) === directory ? undefined : newerNode(dirname(directory));
}

/**
 * Runs the same command under another Node, as if it were this process.
 *
 * @param {string} binary
 */
function hand(binary) {
  /** @type {Record<string, string | undefined>} */
  const environment = Object.assign({}, process.env);
  environment[marker] = String(process.pid);
  const args = process.execArgv.concat([fileURLToPath(import.meta.url)], process.argv.slice(2));
  const child = spawn(binary, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'], env: environment });

  /** @type {NodeJS.Signals[]} */
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  signals.forEach((signal) => {
    process.on(signal, () => {
      // A terminal sends its interrupt to both processes by itself.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    });
  });
  child.on('error', (error) => {
    console.error(`cannot run ${binary}: ${error.message}`);
    process.exitCode = 2;
  });
  child.on('exit', (code, signal) => {
    if (signal) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    } else {
      process.exit(code === null ? 1 : code);
    }
  });
}

/** A process that was started by the old Node must not outlive it, even where that one was killed without a chance to say so. */
function followParent() {
  const started = process.env[marker];
  delete process.env[marker];
  if (!started || !process.channel) return;
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  process.channel.unref();
}

function run() {
  const source = join(here, '..', 'src', 'cli', 'main.ts');
  const built = join(here, '..', 'lib', 'main.js');
  import(pathToFileURL(existsSync(source) ? source : built).href)
    .then((cli) => cli.main(process.argv.slice(2)))
    .then((code) => {
      process.exitCode = code;
    })
    .catch((error) => {
      console.error(error);
      process.exitCode = 1;
    });
}
