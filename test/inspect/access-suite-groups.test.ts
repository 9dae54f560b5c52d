import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Guard } from '../../src/access/guard.ts';
import { clinic, clinicYaml, library } from '../support/clinic.ts';
import { accessSuite } from '../support/testing.ts';

/** Replaces the decisions about groups: the suite has to find the difference. */
const faults = vi.hoisted(() => ({ grants: null as boolean | null, isUnrestricted: false }));

vi.mock('../../src/actions/restriction.ts', async (original) => {
  const real = await original<typeof import('../../src/actions/restriction.ts')>();
  const restrictionOf: typeof real.restrictionOf = (...given) => (faults.isUnrestricted ? null : real.restrictionOf(...given));
  return { ...real, restrictionOf };
});

vi.mock('../../src/access/guard.ts', async (original) => {
  const real = await original<typeof import('../../src/access/guard.ts')>();
  return {
    ...real,
    compileGuard: (...given: Parameters<typeof real.compileGuard>): Guard => {
      const guard = real.compileGuard(...given);
      return faults.grants === null || guard.public ? guard : { ...guard, grants: () => faults.grants === true };
    },
  };
});

afterEach(() => {
  faults.grants = null;
  faults.isUnrestricted = false;
});

/** The failures of the suite of an application, by title. */
async function failuresOf(directory: string): Promise<Map<string, string>> {
  const tests: [string, () => Promise<void>][] = [];
  const ends: (() => Promise<void>)[] = [];
  await accessSuite({
    directory,
    test: (title, run) => tests.push([title, run]),
    afterAll: (run) => ends.push(run),
    actors: { 'a doctor': { id: 7, roles: ['ROLE_USER', 'ROLE_DOCTOR'] }, Ada: { id: 1, roles: ['ROLE_USER'] } },
  });
  const failures = new Map<string, string>();
  try {
    for (const [title, run] of tests) await run().catch((error: Error) => failures.set(title, error.message));
  } finally {
    for (const end of ends) await end();
  }
  return failures;
}

describe('an access suite of an application with fields by role', () => {
  test('passes', async () => {
    expect(await failuresOf(clinic())).toEqual(new Map());
  });

  test('fails if a field is returned without its role', async () => {
    faults.grants = true;
    const failures = await failuresOf(clinic());
    expect(failures.get('GET /api/person.{_format} as Ada')).toBe(
      'GET /api/person.json as Ada: returned fields that it must not return: center.budget, diagnosis',
    );
    expect(failures.get('GET /api/person.{_format} as a user with all roles but ROLE_FINANCE')).toContain('center.budget');
    // the row of Ada herself
    expect(failures.get('GET /api/person/{id}.{_format} as Ada')).toBe(
      'GET /api/person/1.json as Ada: returned fields that it must not return: center.budget',
    );
    expect(failures.has('GET /api/person.{_format} as a user with all roles')).toBe(true);
  });

  test('fails if a field is missing though its role was granted', async () => {
    faults.grants = false;
    const failures = await failuresOf(clinic());
    expect(failures.get('GET /api/person.{_format} as a doctor')).toBe(
      'GET /api/person.json as a doctor: did not return diagnosis, though the role was granted',
    );
  });

  test('fails if a filter by a field is answered without its role', async () => {
    faults.grants = true;
    const directory = clinic({
      'config/app_main.yaml': clinicYaml.replace('class: Person\n', 'class: Person\n      controller: PersonController\n'),
      'src/controllers/person-controller.ts': `import { ApiController } from ${library};
export class PersonController extends ApiController {
  // the response has no field beyond the group read, but filters do
  beforeSerialize(action, request, value) {
    if (action !== '_index' || request.method !== 'GET') return;
    return this.json(JSON.parse(JSON.stringify({ ...value, results: [] })));
  }
}
`,
    });
    const failures = await failuresOf(directory);
    expect(failures.get('GET /api/person.{_format} as Ada')).toMatch(
      /^GET \/api\/person\.json\?\S*diagnosis\S* as Ada: returned 200, but must return 400: the caller does not get diagnosis$/,
    );
  });
});

describe('an access suite of an application with aggregates', () => {
  /** Callers without a role see the first person only. */
  const aggregates = () =>
    clinic({
      'config/app_main.yaml': clinicYaml
        .replace('class: Person\n', 'class: Person\n      controller: PersonController\n')
        .replace(/filters: .*\n +sort: .*/, 'aggregate: { by: [name, diagnosis], of: { id: [max] } }'),
      'src/controllers/person-controller.ts': `import { ApiController } from ${library};
export class PersonController extends ApiController {
  customizeQuery(action, request, query) {
    if (action === '_index' && !request.user?.roles.includes('ROLE_DOCTOR')) query.andWhere({ id: 1 });
  }
}
`,
    });

  test('passes', async () => {
    expect(await failuresOf(aggregates())).toEqual(new Map());
  });

  test('fails if aggregates by a field are returned without its role', async () => {
    faults.grants = true;
    const failures = await failuresOf(aggregates());
    expect(failures.get('GET /api/person/aggregate.{_format} as Ada')).toBe(
      'GET /api/person/aggregate.json?by=diagnosis as Ada: returned 200, but must return 400: the caller does not get diagnosis',
    );
  });

  test('fails if hidden rows are counted', async () => {
    faults.isUnrestricted = true;
    const failures = await failuresOf(aggregates());
    expect(failures.get('GET /api/person/aggregate.{_format} as Ada')).toBe(
      'GET /api/person/aggregate.json as Ada: counted 2 rows, but the caller can see 1',
    );
    expect(failures.has('GET /api/person/aggregate.{_format} as a doctor')).toBe(false);
  });
});
