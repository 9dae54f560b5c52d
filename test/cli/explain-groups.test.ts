import { describe, expect, test } from 'vitest';
import { clinic, clinicYaml } from '../support/clinic.ts';
import { call } from './call.ts';

const directory = clinic();
const as = (id: number, ...roles: string[]) => ['--user', JSON.stringify({ id, roles: ['ROLE_USER', ...roles] })];

describe('declarest explain with fields by role', () => {
  test('names the absent fields of a row, with the role and the voter', async () => {
    const { code, out } = await call(['explain', 'GET', '/api/person/2.json', directory, ...as(1)]);
    expect(code).toBe(0);
    expect(out).toContain('groups    read: for everyone\n');
    expect(out).toContain('read:medical: does not apply, needs PERSON_MEDICAL: MedicalVoter voted deny on Person 2');
    expect(out).toContain('absent    diagnosis: needs PERSON_MEDICAL: MedicalVoter voted deny on Person 2\n');
    expect(out).toContain('center.budget: needs ROLE_FINANCE: RoleVoter voted deny\n');
    expect(out).toContain('readable  id, name, center {id, name}\n');
    expect(out).toContain('sent      all readable fields\n');
  });

  test('decides for the row of the path', async () => {
    const { out } = await call(['explain', 'GET', '/api/person/1.json', directory, ...as(1, 'ROLE_FINANCE')]);
    expect(out).toContain('read:medical: PERSON_MEDICAL was granted');
    expect(out).toContain('readable  id, name, diagnosis, center {id, name, budget}\n');
    expect(out).toContain('sent      all readable fields\n');
    expect(out).not.toContain('absent');
  });

  test('decides without a row for a list', async () => {
    const { out } = await call(['explain', 'GET', '/api/person.json', directory, ...as(1), '--json']);
    const { fields, steps } = JSON.parse(out);
    expect(fields.groups).toContainEqual({
      use: 'read',
      name: 'read:medical',
      role: 'PERSON_MEDICAL',
      applies: false,
      appliesInside: false,
      reason: 'MedicalVoter voted deny',
    });
    expect(fields.absent.map(({ path, roles }: any) => [path, roles])).toEqual([
      ['diagnosis', ['PERSON_MEDICAL']],
      ['center.budget', ['ROLE_FINANCE']],
    ]);
    expect(fields.read).toEqual(['id', 'name', 'center.id', 'center.name']);
    const checks = steps.filter((step: any) => step.isForGroups);
    expect(checks.map(({ roles }: any) => roles[0].role).sort()).toEqual(['PERSON_MEDICAL', 'ROLE_FINANCE']);
  });

  test('names the fields that the body of a write may not have', async () => {
    const { out } = await call(['explain', 'PATCH', '/api/person/2.json', directory, ...as(1), '--json']);
    const { fields } = JSON.parse(out);
    expect(fields.absent).toContainEqual({
      path: 'diagnosis',
      use: 'write',
      roles: ['PERSON_MEDICAL'],
      reason: 'MedicalVoter voted deny on Person 2',
    });
    expect(fields.write).toEqual(['name', 'center']);
  });

  test.each([
    ['GET', '/api/person.json?diagnosis=flu', []],
    ['GET', '/api/person.json?diagnosis[exists]=true', []],
    ['GET', '/api/person.json?sort=-diagnosis', []],
    ['GET', '/api/person.json?fields=id,diagnosis', []],
    ['PATCH', '/api/person/2.json', ['--body', '{"diagnosis": "flu"}']],
  ])('names the role of the field in %s %s %j', async (method, path, body) => {
    const { code, out } = await call(['explain', method, path, directory, ...as(1), ...body]);
    expect(code).toBe(1);
    expect(out).toMatch(
      /^[^\n]+ 400 [^\n]+\n[^\n]+\n {2}diagnosis needs PERSON_MEDICAL: MedicalVoter voted deny( on Person 2)?\n/,
    );
  });

  test('names no role for a field that does not exist', async () => {
    const { out } = await call(['explain', 'GET', '/api/person.json?diagnoses=flu', directory, ...as(1)]);
    expect(out).toMatch(/^[^\n]+ 400 unknown_parameter\n[^\n]+\n\n/);
  });

  test('says nothing about groups without roles', async () => {
    const { out } = await call(['explain', 'GET', '/api/center/1.json', directory, ...as(1)]);
    expect(out).not.toMatch(/^(?:groups|absent)/m);
  });

  test('names the absent fields of aggregates', async () => {
    const sort = '      sort: [name, diagnosis]\n';
    const aggregate = '      aggregate: { by: [diagnosis, center.id], of: { center.budget: [sum] } }\n';
    const changed = clinic({ 'config/app_main.yaml': clinicYaml.replace(sort, `${sort}${aggregate}`) });
    const path = '/api/person/aggregate.json';
    const { code, out } = await call(['explain', 'GET', `${path}?by=diagnosis`, changed, ...as(1)]);
    expect(out).toContain('absent    diagnosis: needs PERSON_MEDICAL: MedicalVoter voted deny\n');
    expect(out).toContain('center.budget: needs ROLE_FINANCE: RoleVoter voted deny\n');
    expect([code, out.includes('aggregate_not_allowed')]).toEqual([1, true]);
    const granted = await call(['explain', 'GET', `${path}?by=diagnosis`, changed, ...as(1, 'ROLE_DOCTOR', 'ROLE_FINANCE')]);
    expect(granted.out).not.toContain('absent');
  });
});
