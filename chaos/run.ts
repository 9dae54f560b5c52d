// Runs the fault tests against the application, and prints a table of requirements and results.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startPostgres } from '../bench/postgres-server.ts';
import type { Kind, Seen } from './row.ts';
import { rows } from './rows.ts';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, only: { type: 'string', multiple: true, default: [] } },
});

const root = mkdtempSync(join(tmpdir(), 'declarest-chaos-'));
chmodSync(root, 0o755);
process.on('exit', () => rmSync(root, { recursive: true, force: true }));
const postgres = await startPostgres(root);

/** Parts of the names of the rows to run; all rows if empty. */
const filters = [...values.only, ...positionals];
const isSelected = (name: string, kind: Kind) =>
  filters.length === 0 || filters.some((text) => `${name} ${kind}`.toLowerCase().includes(text.toLowerCase()));

if (values.quick) console.log('The short form does not judge speed, and memory with more room than is promised.\n');
console.log('| test | database | must show | seen | |\n| --- | --- | --- | --- | --- |');
let failed = 0;
try {
  for (const row of rows) {
    for (const kind of row.kinds.filter((one) => isSelected(row.name, one))) {
      const outcome: Seen = await row
        .run({ root, kind, postgres, quick: values.quick })
        .catch((error: Error) => ({ seen: `failed: ${error.message.split('\n')[0]}`, pass: false }));
      if (!outcome.pass) failed++;
      console.log(`| ${row.name} | ${kind} | ${row.must} | ${outcome.seen} | ${outcome.pass ? 'pass' : 'FAIL'} |`);
    }
  }
} finally {
  await postgres.stop();
}
console.log(failed === 0 ? '\nall passed' : `\n${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
