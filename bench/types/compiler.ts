import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { Part } from './application.ts';

const root = join(import.meta.dirname, '..', '..');

/** The cost of checking the types of a part of an application. */
export interface Cost {
  /** The number of types that the compiler created from generic ones, the same in each run. */
  readonly instantiations: number;
  readonly seconds: number;
  readonly megabytes: number;
}

/**
 * Checks the types of a part of an application, and throws if one is wrong. It uses one thread, because several repeat each
 * other's work, differently in each run.
 */
export function checkTypes(directory: string, part: Part): Cost {
  const { stdout, status } = run(
    join(root, 'node_modules', 'typescript', 'bin', 'tsc'),
    ['-p', join(directory, `tsconfig.${part}.json`), '--extendedDiagnostics', '--singleThreaded', '--pretty', 'false'],
    directory,
  );
  if (status !== 0) throw new Error(`the types of ${directory} are wrong:\n${stdout}`);
  const figure = (name: string) => {
    const found = new RegExp(`^${name}:\\s+([\\d.]+)`, 'm').exec(stdout)?.[1];
    if (found === undefined) throw new Error(`the compiler does not tell "${name}":\n${stdout}`);
    return Number(found);
  };
  return {
    instantiations: figure('Instantiations'),
    seconds: figure('Check time'),
    megabytes: figure('Memory used') / 1024,
  };
}

/** Generates `client.ts` of an application with the command, as users do. */
export function writeClient(directory: string): void {
  const command = ['client', directory, '--out', join(directory, 'client.ts')];
  const { stderr, status } = run(join(root, 'bin', 'declarest.js'), command, directory);
  if (status !== 0) throw new Error(`${directory} has no client:\n${stderr}`);
}

function run(program: string, args: readonly string[], cwd: string): { stdout: string; stderr: string; status: number | null } {
  return spawnSync(process.execPath, [program, ...args], { cwd, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
}
