// `npm run attack` runs the attack suites once. With `-- --random --minutes 60`, it repeats all random tests of attacks, access
// and concurrency on every database, with a new seed in each round. It stops at the first failure and prints the seed.
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { seedVariable } from '../test/support/random.ts';
import { databasesVariable } from '../test/support/selected-databases.ts';
import { missingPrograms } from './ensure-programs.mjs';

/** Files that depend on the seed: attacks, visibility and concurrent requests. */
const random = [
  'test/attacks/',
  'test/openapi/fuzz/',
  'test/query/hidden-equality',
  'test/query/compiled-equality',
  'test/query/asking-model',
  'test/query/keyset-walk',
  'test/change/compiled-writes',
  'test/engine/pairs',
  'test/inspect/accuracy',
];

const root = join(import.meta.dirname, '..');
const { values } = parseArgs({
  options: { random: { type: 'boolean', default: false }, minutes: { type: 'string', default: '10' }, seed: { type: 'string' } },
});
const minutes = Number(values.minutes);
if (!(minutes > 0)) {
  console.error(`--minutes must be a number above 0, not "${values.minutes}"`);
  process.exit(2);
}

const end = performance.now() + minutes * 60_000;
let rounds = 0;
do {
  const seed = values.seed ?? String(randomInt(2 ** 31));
  const filters = values.random ? random : ['test/attacks/'];
  if (!run(filters, seed)) {
    console.error(
      `failed with the seed ${seed}: npm run attack -- ${values.random ? '--random ' : ''}--minutes 1 --seed ${seed}`,
    );
    process.exit(1);
  }
  rounds++;
  if (values.random) console.log(`round ${rounds} with the seed ${seed} passed`);
} while (values.random && performance.now() < end);
console.log(`${rounds} ${rounds === 1 ? 'round' : 'rounds'} passed`);
if (!values.random) checkSpreadsheets();

/** Optional, because LibreOffice is too large for an automatic installation. */
function checkSpreadsheets(): void {
  if (missingPrograms(['soffice'], process.env.PATH ?? '').length > 0) {
    console.log('left out: exports in LibreOffice. Debian: apt-get install --no-install-recommends libreoffice-calc-nogui');
    return;
  }
  const { status } = spawnSync(process.execPath, [join(root, 'test', 'attacks', 'spreadsheet.ts')], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) process.exitCode = 1;
}

function run(filters: readonly string[], seed: string): boolean {
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const env = { ...process.env, [databasesVariable]: 'all', [seedVariable]: seed, FUZZ_SEED: seed };
  return (
    spawnSync(process.execPath, [vitest, 'run', ...filters, '--reporter=dot'], { cwd: root, stdio: 'inherit', env }).status === 0
  );
}
