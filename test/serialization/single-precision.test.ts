import fc from 'fast-check';
import { Client } from 'pg';
import { expect, inject, test } from 'vitest';
import { fromJson } from '../../src/serialization/kind-conversions.ts';

test('single-precision numbers are written as PostgreSQL writes them', async () => {
  const client = new Client({ connectionString: inject('postgresUrl') });
  await client.connect();
  try {
    const quarters = fc.integer({ min: -(2 ** 23), max: 2 ** 23 }).map((n) => n / 4);
    const number = fc.oneof(fc.float({ noNaN: true, noDefaultInfinity: true }), quarters, fc.constant(-2057067.25));
    const given = fc.sample(number, 5000).filter((n) => n === 0 || Math.fround(n) !== 0);
    const { rows } = await client.query(
      'select n::float4::text as text from unnest($1::float8[]) with ordinality as t(n, i) order by i',
      [given],
    );
    const read = fromJson({ kind: 'real' });
    expect(given.map((n) => (read(n) as { value: number }).value + 0)).toEqual(rows.map(({ text }) => Number(text) + 0));
  } finally {
    await client.end();
  }
});
