import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { editedClinic } from '../support/clinic.ts';
import { call } from './call.ts';

const yaml = 'config/app_main.yaml';
const sort = '      sort: [name, diagnosis]\n';
const clinicWith = (aggregate: string) => editedClinic(yaml, sort, `${sort}${aggregate}`);
const declared = '      aggregate:\n        by: [center.id]\n        of: { id: [min] }\n';

async function diff(before: string, after: string): Promise<{ code: number; out: string; err: string }> {
  const [one, other] = [clinicWith(before), clinicWith(after)];
  await call(['access', one, '--save']);
  writeFileSync(join(other, 'access.baseline'), readFileSync(join(one, 'access.baseline')));
  const { code, err, out } = await call(['access', other, '--diff']);
  return { code, err, out };
}

describe('declarest access with aggregates', () => {
  test('prints what can be aggregated, with the roles of fields', async () => {
    const { code, err, out } = await call([
      'access',
      clinicWith('      aggregate: { by: [diagnosis, center.id], of: { id: [min], center.budget: [sum] } }\n'),
    ]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('aggregate diagnosis [PERSON_MEDICAL], center.id, id:min, center.budget:sum [ROLE_FINANCE]');
  });

  test('--diff finds nothing without a change', async () => {
    const { code, err, out } = await diff(declared, declared);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('nothing was opened or closed');
  });

  test.each([
    ['new aggregates', '', declared, 'GET /api/person/aggregate.{_format}'],
    ['a new field to group by', declared, declared.replace('center.id', 'center.id, name'), 'aggregates name now'],
    ['a new function', declared, declared.replace('[min]', '[min, max]'), 'aggregates id:max now'],
    [
      'a new field with a role',
      declared,
      declared.replace('id: [min]', 'id: [min], center.budget: [sum]'),
      'reads center.budget with the role ROLE_FINANCE',
    ],
  ])('--diff reports %s', async (_, before, after, said) => {
    const { code, out } = await diff(before, after);
    expect(out).toContain(said);
    expect(code).toBe(1);
  });

  test('--diff reports a removed function', async () => {
    const { code, out } = await diff(declared.replace('[min]', '[min, max]'), declared);
    expect(out).toContain('no longer aggregates id:max');
    expect(code).toBe(0);
  });
});
