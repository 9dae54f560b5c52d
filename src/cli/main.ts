import module from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../package-root.ts';
import type { Io } from './io.ts';

/** Runs one command line and returns its exit code: 0, 1 (error in the application) or 2 (wrong command line). */
export async function main(argv: readonly string[], io?: Io): Promise<number> {
  if (io) return (await import('./program.ts')).run(argv, io);
  cacheCompiledModules();
  const { processIo } = await import('./io.ts');
  const { run } = await import('./program.ts');
  process.once('exit', failUnfinished);
  const code = await run(argv, processIo());
  process.off('exit', failUnfinished);
  // An exit would cut off what a slow reader of a pipe has not taken yet. Logs, on stderr, must not delay the stop of a server.
  await new Promise((resolve) => process.stdout.write('', resolve));
  // A timer or connection that a module of the application left open must not keep a finished command.
  setTimeout(() => process.exit(code), 200).unref();
  return code;
}

/**
 * Halves the start time. The cache is in the package. If that is read-only, or in an archive of Yarn, the cache is in the home
 * directory, but never in the temporary directory of the system, where other users could replace compiled code.
 */
function cacheCompiledModules(): void {
  const { enableCompileCache, constants } = module;
  // Deno has its own cache
  if (!enableCompileCache) return;
  const directories = [join(packageRoot, 'node_modules', '.cache'), process.env.XDG_CACHE_HOME || join(homedir(), '.cache')];
  const { FAILED } = constants.compileCacheStatus;
  directories.some((directory) => enableCompileCache(join(directory, 'declarest-compile')).status !== FAILED);
}

/** Node ends with the exit code 0 if nothing is left to wait for, even if the command has not finished. */
function failUnfinished(code: number): void {
  if (code !== 0) return;
  process.stderr.write(
    'declarest: the process ended before the command finished; a module of the application waits for a promise that never settles, or calls process.exit()\n',
  );
  process.exitCode = 1;
}
