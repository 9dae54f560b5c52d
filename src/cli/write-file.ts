import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CallFailure } from './failure.ts';
import { type Io, say } from './io.ts';

/** Writes the file that an option names, and says so. */
export function writeOutput(file: string, text: string, { cwd, stderr }: Io): void {
  try {
    writeFileSync(resolve(cwd, file), text);
  } catch (error) {
    throw new CallFailure(`cannot write ${file}: ${(error as Error).message}`);
  }
  say(stderr, `wrote ${file}`);
}
