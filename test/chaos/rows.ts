import { chmodSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PostgresServer, startPostgres } from '../../bench/postgres-server.ts';
import type { Kind } from '../../chaos/row.ts';
import { rows } from '../../chaos/rows.ts';
import { makeTemporary } from '../support/temporary.ts';

/** The rows of `npm run chaos` for a database in their short form, which judges what happens and not how fast. */
export function testRows(kind: Kind): void {
  describe(`against real processes, on ${kind}`, () => {
    const temporary = makeTemporary('chaos');
    let postgres: PostgresServer;
    beforeAll(async () => {
      // the server runs as a user of its own
      chmodSync(temporary.directory, 0o755);
      if (kind === 'postgresql') postgres = await startPostgres(temporary.directory);
    }, 60_000);
    afterAll(async () => {
      await postgres?.stop();
      temporary.remove();
    });

    const cases = rows.filter(({ kinds }) => kinds.includes(kind)).map((row) => [row.name, row.must, row] as const);
    test.each(cases)('%s: %s', { timeout: 180_000 }, async (_name, _must, row) => {
      const { pass, seen } = await row.run({ root: temporary.directory, kind, postgres, quick: true });
      expect(pass, seen).toBe(true);
    });
  });
}
