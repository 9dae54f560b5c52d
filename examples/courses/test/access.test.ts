import { join } from 'node:path';
import { accessSuite } from 'declarest/testing';
import { afterAll, test } from 'vitest';

await accessSuite({
  directory: join(import.meta.dirname, '..'),
  test,
  afterAll,
  actors: {
    'Rita of the North': { id: 1, roles: ['ROLE_USER'], centers: [1] },
    'a supervisor of North and South': { id: 2, roles: ['ROLE_SUPERVISOR'], centers: [1, 2] },
    'an administrator': { id: 3, roles: ['ROLE_ADMIN'], centers: [1, 2, 3] },
  },
  fields: { app_status: ['status', 'now'] },
});
