// @module-tag divided
import { afterAll, describe, test } from 'vitest';
import { databases, freshDatabase } from '../support/databases.ts';
import { accessSuite } from '../support/testing.ts';
import { library } from './fixtures/library.ts';
import { zooInCode } from './fixtures/zoo.ts';

describe.each(databases)('access to the zoo on %s', async (kind) => {
  await accessSuite({
    ...zooInCode('sqlite::memory:'),
    test,
    afterAll,
    database: () => freshDatabase(kind),
    parameters: { place: 'aviary' },
    fields: {
      app_api_single_animal_loudest: ['format', 'animal'],
      zoo_hours: ['opens', 'format', 'formats'],
      zoo_feeding: ['method', 'place'],
    },
    // animals that are hidden are so one by one
    neverRefused: ['GET app_api_single_animal__index', 'HEAD app_api_single_animal__index', 'GET app_api_single_animal_loudest'],
  });
});

describe('access to the library, which has no roles', async () => {
  await accessSuite({
    ...library,
    test,
    afterAll,
    parameters: { view: 'all', branch: 'north' },
    fields: {
      app_api_single_publisher_note: ['noted'],
      app_api_single_branch_lend: ['lent', 'branch', 'format'],
      app_api_single_branch_newest: ['newest', 'query', 'format'],
      app_api_single_view_peek: ['peeked'],
    },
  });
});
