// The seed of random tests. It is a hash of the sources: changed sources are tested with new cases, and the same sources get the
// same result twice. `TEST_SEED` sets another seed, such as that of a failure.
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
