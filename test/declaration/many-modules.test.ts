import { describe, expect, test } from 'vitest';
import { resolveSibling } from '../../src/declaration/modules/many-modules.ts';

const parent = 'file:///app/node_modules/zod/v4/core/index.js';

describe('an import inside a package with hundreds of modules', () => {
  test('is resolved without a search', () => {
    expect(resolveSibling('../classic/schemas.js', parent)?.url).toBe('file:///app/node_modules/zod/v4/classic/schemas.js');
    const nested = 'file:///app/node_modules/.pnpm/kysely@1.0.0/node_modules/kysely/dist/index.js';
    expect(resolveSibling('./util.js', nested)?.url).toBe(nested.replace('index.js', 'util.js'));
  });

  test.each([
    ['another package', 'kysely', parent],
    ['a folder', './locales', parent],
    ['a file of CommonJS', './core.cjs', parent],
    ['the application', './person.js', 'file:///app/src/models/course.js'],
    ['a package with few modules', './lib/a.js', 'file:///app/node_modules/pino/pino.js'],
    ['a package with a similar name', './a.js', 'file:///app/node_modules/zod-extra/index.js'],
    ['no parent', './a.js', undefined],
  ])('leaves %s to Node', (_, specifier, from) => {
    expect(resolveSibling(specifier, from)).toBe(null);
  });
});
