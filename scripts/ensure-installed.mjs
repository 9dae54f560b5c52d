// Runs before npm start, npm test and the like. It may be the first thing that runs in a fresh clone, under whatever Node
// the machine has, so it uses nothing but what Node 20 brings along.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Says why the installed packages are not those of the lock file, or nothing if they are.
 *
 * @param {string} directory
 * @returns {string | undefined}
 */
export function whatIsMissing(directory) {
  const manifest = readJson(join(directory, 'package.json'));
  const wanted = readJson(join(directory, 'package-lock.json'));
  const installed = readJson(join(directory, 'node_modules', '.package-lock.json'));
  if (!installed) return 'nothing is installed yet';
  if (!wanted) return 'there is no lock file';
  for (const kind of ['dependencies', 'devDependencies']) {
    if (JSON.stringify(manifest?.[kind]) !== JSON.stringify(wanted.packages['']?.[kind])) {
      return `the ${kind} of package.json are not those of the lock file`;
    }
  }
  for (const [path, { version, optional }] of Object.entries(wanted.packages)) {
    const found = installed.packages[path]?.version;
    // Optional packages are mostly those of other platforms.
    if (path === '' || (optional && found === undefined)) continue;
    if (found !== version || !existsSync(join(directory, path))) return `${path} is not installed in version ${version}`;
  }
  if (isRecent(process.versions.node)) return undefined;
  // The binary is fetched by an install script, which the user's settings may have kept from running.
  const binary = join(directory, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  return existsSync(binary) ? undefined : 'the package "node" has no binary';
}

/** @param {string} version */
function isRecent(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 18);
}

/**
 * @param {string} file
 * @returns {any} what the file holds, or undefined if there is no such file
 */
function readJson(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}

function install() {
  const reason = whatIsMissing(root);
  if (reason === undefined) return 0;
  console.log(`installing packages: ${reason}`);
  const cli = process.env.npm_execpath ?? '';
  const flags = ['install', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'];
  const options = { cwd: root, stdio: /** @type {const} */ ('inherit') };
  const { status } = cli.endsWith('npm-cli.js')
    ? spawnSync(process.execPath, [cli, ...flags], options)
    : spawnSync('npm', flags, { ...options, shell: process.platform === 'win32' });
  if (status !== 0) {
    console.error('npm install failed: see its messages above, then try again');
    return 1;
  }
  const remaining = whatIsMissing(root);
  if (remaining === undefined) return 0;
  console.error(`npm install succeeded, but ${remaining}: remove node_modules and try again`);
  return 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) process.exitCode = install();
