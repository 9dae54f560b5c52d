// @module-tag divided
import { describe, expect, test } from 'vitest';
import { databases } from '../support/databases.ts';
import { example, useTarget } from './support/target.ts';
import { admin, ann, vault } from './support/vault.ts';

const counted = (rows: Record<string, unknown>[]) => Number(rows[0]?.n);

describe.each(databases)('API6:2023 unrestricted access to sensitive business flows, in the example on %s', (kind) => {
  const target = useTarget(kind, example);
  const boss = { id: 1, roles: ['ROLE_ADMIN'], centers: [1, 2, 3] };

  test('a person added by twenty concurrent requests participates once (CWE-362)', async () => {
    const before = counted(await target.rows('select count(*) as n from participation where course_id = 1'));
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => target.send('POST', '/api/course/1/participation.json', { as: boss, json: { id: 100 } })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ json }) => json.id)).size).toBe(1);
    expect(counted(await target.rows('select count(*) as n from participation where course_id = 1'))).toBe(before + 1);
  });

  test('a tag added and removed concurrently is linked at most once (CWE-362)', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        target.send(index % 2 === 0 ? 'POST' : 'DELETE', '/api/course/3/tags.json', { as: boss, json: { id: 'health' } }),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const rows = await target.rows("select count(*) as n from course_tags where course_id = 3 and tag_id = 'health'");
    expect(counted(rows)).toBeLessThanOrEqual(1);
  });

  test('a closed course rejects new participants and a second close (CWE-841)', async () => {
    expect((await target.send('POST', '/api/course/4/close.json', { as: boss, json: {} })).status).toBe(200);
    expect((await target.send('POST', '/api/course/4/close.json', { as: boss, json: {} })).status).toBe(400);
    const late = await target.send('POST', '/api/course/4/participation.json', { as: boss, json: { id: 200 } });
    expect(late.status).toBe(422);
    expect(counted(await target.rows('select count(*) as n from participation where course_id = 4 and person_id = 200'))).toBe(0);
  });

  test('twenty concurrent requests with the same email create one person (CWE-362, CWE-837)', async () => {
    const json = { firstName: 'Eve', lastName: 'Twenty', email: 'eve@example.org', center: { id: 1 } };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => target.send('POST', '/api/person.json', { as: boss, json })),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, ...Array(19).fill(409)]);
    expect(answers.find(({ status }) => status === 409)?.json.detail).toBe('another person has the same value for: email');
  });

  test('a person deleted by ten concurrent requests is deleted once (CWE-362)', async () => {
    const json = { firstName: 'Eve', lastName: 'Gone', center: { id: 1 } };
    const { headers } = await target.send('POST', '/api/person.json', { as: boss, json });
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => target.send('DELETE', String(headers.location), { as: boss })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([204, ...Array(9).fill(404)]);
  });
});

describe.each(databases)('API6:2023 unrestricted access to sensitive business flows, on %s', (kind) => {
  const target = useTarget(kind, vault);

  test('a rejected write changes nothing (CWE-460)', async () => {
    const before = await target.rows('select * from page order by id');
    for (const json of [
      { title: 'changed', folder: { id: 99 } },
      { title: 'changed', siblings: [{ id: 3 }, { id: 99 }] },
      { title: 'changed', pin: 5 },
      { title: 'x'.repeat(61) },
    ]) {
      for (const method of ['PATCH', 'PUT']) {
        expect((await target.send(method, '/page/1.json', { as: ann, json })).status).toBeGreaterThanOrEqual(400);
      }
    }
    expect(await target.rows('select * from page order by id')).toEqual(before);
    expect(await target.rows('select * from page_siblings')).toEqual([]);
  });

  test('Location holds the id that the server assigned and returns 404 after a DELETE (CWE-639)', async () => {
    const { headers, json } = await target.send('POST', '/archive.json', { as: admin, json: { title: 'short lived' } });
    expect(headers.location).toBe(`/archive/${json.id}.json`);
    expect((await target.send('DELETE', String(headers.location), { as: admin })).status).toBe(204);
    for (const method of ['GET', 'HEAD', 'DELETE'])
      expect((await target.send(method, String(headers.location), { as: admin })).status).toBe(404);
  });
});
