// Where random tests begin. The seed is made of the sources: other sources are tried with other cases, and the same sources
// get the same verdict twice. `TEST_SEED` asks for another one, or for that of a failure again.
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';

export const seedVariable = 'TEST_SEED';

export function seedOfSources(): number {
  const hash = createHash('sha256');
  const folder = join(import.meta.dirname, '..', '..', 'src');
  for (const file of globSync('**/*.ts', { cwd: folder }).sort()) hash.update(file).update(readFileSync(join(folder, file)));
  return hash.digest().readUInt32BE() >>> 1;
}

export const seed = Number(process.env[seedVariable] ?? seedOfSources());

fc.configureGlobal({ seed });

/** `FC_PATH` goes straight to the case of a failure. */
export const replay = process.env.FC_PATH ? { path: process.env.FC_PATH } : {};
