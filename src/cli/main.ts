import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { packageRoot } from '../package-root.ts';
import type { Io } from './io.ts';

/** Runs one command line and returns its exit code: 0, 1 (error in the application) or 2 (wrong command line). */
export async function main(argv: readonly string[], io?: Io): Promise<number> {
  if (io) return (await import('./program.ts')).run(argv, io);
  // Halves the start time. The cache is in the package, because other users can write to the system's temporary directory.
  enableCompileCache(join(packageRoot, 'node_modules', '.cache', 'declarest-compile'));
  const { processIo } = await import('./io.ts');
  const { run } = await import('./program.ts');
  process.once('exit', failUnfinished);
  const code = await run(argv, processIo());
  process.off('exit', failUnfinished);
  // A timer or connection that a module of the application left open must not keep a finished command.
  setTimeout(() => process.exit(code), 200).unref();
  return code;
}

/** Node ends with the exit code 0 if nothing is left to wait for, even if the command has not finished. */
function failUnfinished(code: number): void {
  if (code !== 0) return;
  process.stderr.write(
    'declarest: the process ended before the command finished; a module of the application waits for a promise that never settles, or calls process.exit()\n',
  );
  process.exitCode = 1;
}
