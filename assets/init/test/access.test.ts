import { join } from 'node:path';
import { after, test } from 'node:test';
import { accessSuite } from 'declarest/testing';

// Calls every route as every kind of user, and compares the responses with the declaration and the voters.
await accessSuite({
  directory: join(import.meta.dirname, '..'),
  test,
  afterAll: after,
  actors: {
    Ada: { id: 'ada', roles: ['ROLE_ADMIN'] },
    Ed: { id: 'ed', roles: ['ROLE_EDITOR'] },
  },
  sameForEveryRow: ['SAMPLE_ITEM_READ'],
});
