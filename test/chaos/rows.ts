import { chmodSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PostgresServer, startPostgres } from '../../bench/postgres-server.ts';
import type { Kind } from '../../chaos/row.ts';
import { rows } from '../../chaos/rows.ts';
import { partOf } from '../support/random.ts';
import { makeTemporary } from '../support/temporary.ts';

/**
 * The rows of `npm run chaos` for a database in their short form. It judges what happens, and not how fast or in how much memory:
 * what a row must show of that is shown by the full form alone, and so is no part of these names. A row for both databases is run on
 * one of them here, in turns, and on both by `npm run chaos`. Half of the rows are run, which the seed decides.
 */
export function testRows(kind: Kind): void {
  describe(`short chaos run against real processes on ${kind}`, () => {
    const temporary = makeTemporary('chaos');
    let postgres: PostgresServer;
    beforeAll(async () => {
      // the server runs as a user of its own
      chmodSync(temporary.directory, 0o755);
      if (kind === 'postgresql') postgres = await startPostgres(temporary.directory);
    });
    afterAll(async () => {
      await postgres?.stop();
      temporary.remove();
    });

    const own = rows.filter(({ kinds }, index) => kinds[index % kinds.length] === kind).map((row) => [row.name, row] as const);
    const cases = partOf(own, 2);
    test.each(cases)('%s', async (_name, row) => {
      const { pass, seen } = await row.run({ root: temporary.directory, kind, postgres, quick: true });
      expect(pass, seen).toBe(true);
    });
  });
}
