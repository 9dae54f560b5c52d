// Runs before npm test: installs the programs that tests drive and npm does not have, from the system's packages.
// It uses nothing but what Node 20 brings along.
import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Those of the programs that no folder of the search path has.
 *
 * @param {readonly string[]} programs
 * @param {string} path
 */
export function missingPrograms(programs, path) {
  const folders = path.split(delimiter).filter(Boolean);
  return programs.filter((program) => !folders.some((folder) => isProgram(join(folder, program))));
}

/** @param {string} file */
function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** @param {string} program */
function nameOf(program) {
  return program.split('=')[0] ?? program;
}

/**
 * @param {readonly string[]} programs named like their packages, or with the name of the package: pgpool=pgpool2
 */
function ensure(programs) {
  // Debian has servers such as nginx where only the administrator's path leads
  const path = `${process.env.PATH ?? ''}${delimiter}/usr/sbin`;
  const missing = missingPrograms(programs.map(nameOf), path);
  if (missing.length === 0) return 0;
  const wanted = programs.filter((one) => missing.includes(nameOf(one))).map((one) => one.split('=').at(-1));
  const command = `apt-get install -y --no-install-recommends ${wanted.join(' ')}`;
  if (process.getuid?.() === 0 && missingPrograms(['apt-get'], path).length === 0) {
    console.log(`installing programs: ${missing.join(', ')}`);
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    const shell = `apt-get update -qq && ${command} -qq > /dev/null`;
    spawnSync('sh', ['-c', shell], { stdio: 'inherit', env });
  }
  const left = missingPrograms(missing, path);
  if (left.length === 0) return 0;
  console.error(`the tests need ${left.join(' and ')}; on Debian: sudo ${command}`);
  return 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) process.exit(ensure(process.argv.slice(2)));
