import { PostgreSqlPlatform } from '@mikro-orm/postgresql';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMapper } from '../../src/database/create-mapper.ts';
import type { DatabaseDeclaration } from '../../src/declaration/types.ts';

interface Escaping {
  escapeLiteral(text: string): string;
}

test('strings in statements are escaped for PostgreSQL as MikroORM escapes them', async () => {
  const database = { url: 'postgresql://user@127.0.0.1:1/none', pool: 1, replicas: [] } as unknown as DatabaseDeclaration;
  const mapper = await createMapper(database, { entities: [], directory: '.' });
  const platform = mapper.driver.getPlatform() as unknown as Escaping;
  const original = new PostgreSqlPlatform() as unknown as Escaping;
  expect(platform.escapeLiteral).not.toBe(original.escapeLiteral);
  const text = fc.string({ unit: fc.constantFrom("'", '\\', 'a', '\n', '$', '$&', '"', 'é', '😀', '\ud800', '?') });
  fc.assert(
    fc.property(text, (given) => {
      expect(platform.escapeLiteral(given)).toBe(original.escapeLiteral(given));
    }),
    { numRuns: 1000 },
  );
});
