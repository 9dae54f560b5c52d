// Generates requests from the OpenAPI document of the example, 20,000 on each database, and compares the responses with it.
// `npm run fuzz -- --count 500 --seed 7` sends fewer; the same seed sends the same requests.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const root = join(import.meta.dirname, '..');
const { values } = parseArgs({ options: { count: { type: 'string', default: '20000' }, seed: { type: 'string' } } });
const seed = values.seed ?? String(Date.now() % 1_000_000);
console.log(`seed ${seed}: repeat it with npm run fuzz -- --seed ${seed} --count ${values.count}`);
const { status } = spawnSync(process.execPath, [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', 'test/openapi/fuzz'], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, FUZZ_COUNT: values.count, FUZZ_SEED: seed },
});
process.exitCode = status ?? 1;
