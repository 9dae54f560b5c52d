// @module-tag divided
import { describe, expect, test } from 'vitest';
import { databases } from '../support/databases.ts';
import { example, useTarget } from './support/target.ts';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** The path of a row, by an id of the form that the route asks for. */
function withId(path: string, number: string): string {
  const others = { '/api/tag/': 'housing', '/api/document/': '00000000-0000-4000-8000-000000000000' };
  const id = Object.entries(others).find(([start]) => path.startsWith(start))?.[1] ?? number;
  return path.replace('{id}', id).replace('{_format}', 'json');
}

describe.each(databases)('API9:2023 improper inventory management, in the example on %s', (kind) => {
  const target = useTarget(kind, example);
  const boss = { id: 1, roles: ['ROLE_ADMIN'], centers: [1, 2, 3] };

  test('every path serves its declared methods, lists them in Allow and rejects others with 405 (CWE-749)', async () => {
    const { records } = target.app.application;
    expect(records.length).toBeGreaterThan(10);
    for (const record of records) {
      const path = withId(record.path, '999999');
      const allowed = new Set(
        records.filter((other) => other.path === record.path).flatMap((other) => other.methods as string[]),
      );
      for (const method of methods) {
        const json = ['POST', 'PUT', 'PATCH'].includes(method) ? { nonsense: 1 } : undefined;
        const { headers, status } = await target.send(method, path, { as: boss, ...(json && { json }) });
        const about = `${method} ${path}`;
        if (allowed.has(method)) expect([about, status]).not.toEqual([about, 405]);
        else {
          expect([about, status]).toEqual([about, 405]);
          expect(new Set(String(headers.allow).split(', '))).toEqual(allowed);
        }
      }
    }
  });

  test('every action with a role rejects requests without a credential (CWE-306)', async () => {
    for (const { methods: enabled, path, roles } of target.app.application.records) {
      const real = withId(path, '1');
      for (const method of enabled) {
        if ((roles[method] ?? []).length === 0) continue;
        const json = ['POST', 'PUT', 'PATCH'].includes(method) ? {} : undefined;
        const { status } = await target.send(method, real, { ...(json && { json }) });
        // a row that is hidden from nobody in particular is not there for them
        expect(path.includes('{id}') ? [401, 404] : [401], `${method} ${real}`).toContain(status);
      }
    }
  });

  test.each([
    '/api',
    '/api/',
    '/api.json',
    '/api/center/1.json',
    '/api/participation.json',
    '/api/address.json',
    '/api/document/note.json',
    '/api/v1/person.json',
    '/api/v2/person.json',
    '/v1/api/person.json',
    '/api/person.json.bak',
    '/api/person.yaml',
    '/api/person.html',
    '/api/person.xml',
    '/api/person.jsonp',
    '/api/person/1/participation.json',
    '/api/course/1/participations.json',
    '/api/course/1/mine.json',
    '/api/course/1/_entity.json',
    '/api/course/_index.json',
    '/api/course/1/indexApi.json',
    '/api/course/1/closeApi.json',
    '/api/course/1/tag.json',
    '/api/course/close.json',
    '/api/app_user.json',
    '/api/users.json',
    '/api/User.json',
    '/api/status',
    '/api/status/1.json',
    '/config/app.yaml',
    '/var/dev-jwt.key',
    '/src/models/person.ts',
    '/../config/app.yaml',
    '/admin',
    '/swagger.json',
    '/openapi.yaml',
    '/docs/index.html',
    '/docs/..%2f..%2fpackage.json',
    '/docs/__proto__',
    '/health',
    '/metrics',
    '/graphql',
    '/favicon.ico',
    '/robots.txt',
    '/.well-known/security.txt',
  ])('the undeclared path %s returns 404 (CWE-1059)', async (path) => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const { status } = await target.send(method, path, { as: boss, ...(method === 'POST' && { json: {} }) });
      expect(status).toBe(404);
    }
  });
});
