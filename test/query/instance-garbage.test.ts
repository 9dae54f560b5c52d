import { join } from 'node:path';
import { expect, test } from 'vitest';
import { oldGarbage } from '../support/old-garbage.ts';

const source = (path: string) => JSON.stringify(join(import.meta.dirname, '../../src', path));

/** Megabytes that objects made of rows take in the old generation if code uses them in some way, and forgets them. */
function retained(use: string): number {
  return oldGarbage(`
    import { defineEntity, helper, p } from '@mikro-orm/core';
    import { createMapper } from ${source('database/create-mapper.ts')};
    import { guardUnloaded } from ${source('model/unloaded.ts')};
    import { compileInstance } from ${source('query/rows/instance.ts')};
    const Tag = defineEntity({ name: 'Tag', properties: { id: p.integer().primary() } });
    const schema = defineEntity({ name: 'Box', properties: { id: p.integer().primary(), tags: () => p.manyToMany(Tag) } });
    class Box extends schema.class {}
    schema.setClass(Box);
    const database = { url: 'sqlite::memory:', schema: 'keep', statementTimeout: 0, readOnly: false };
    const mapper = await createMapper(database, { entities: [Tag, Box], directory: '.' });
    guardUnloaded(mapper);
    const meta = mapper.getMetadata().get(Box);
    const make = compileInstance(meta, [{ kind: 'value', property: meta.properties.id, column: 0, read: null }]);
    const work = (i) => {
      const box = make([i], [], { em: () => null, request: Array.from({ length: 50 }, () => ({ i })) });
      ${use}
    };`);
}

test.each([
  ['reads its state in MikroORM', 'helper(box);'],
  ['reads a list that was not loaded', 'box.tags;'],
])('an object made of a row does not become old if code %s', (_, use) => {
  expect(retained(use)).toBeLessThan(5);
});
