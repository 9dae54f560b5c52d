import { chmodSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PostgresServer, startPostgres } from '../../bench/postgres-server.ts';
import { rows } from '../../chaos/rows.ts';
import { makeTemporary } from '../support/temporary.ts';

/** The rows of `npm run chaos` in their short form, which judges what happens and not how fast. */
describe('against real processes', () => {
  const temporary = makeTemporary('chaos');
  let postgres: PostgresServer;
  beforeAll(async () => {
    // the server runs as a user of its own
    chmodSync(temporary.directory, 0o755);
    postgres = await startPostgres(temporary.directory);
  }, 60_000);
  afterAll(async () => {
    await postgres?.stop();
    temporary.remove();
  });

  const cases = rows.flatMap((row) => row.kinds.map((kind) => [row.name, row.must, kind, row] as const));
  test.each(cases)('%s: %s, on %s', { timeout: 180_000 }, async (_name, _must, kind, row) => {
    const { pass, seen } = await row.run({ root: temporary.directory, kind, postgres, quick: true });
    expect(pass, seen).toBe(true);
  });
});
