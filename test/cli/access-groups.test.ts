import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { clinic, editedClinic } from '../support/clinic.ts';
import { call } from './call.ts';

describe('declarest access with fields by role', () => {
  test('marks the fields, filters and orders that need a role', async () => {
    const { code, out, err } = await call(['access', clinic()]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('read   id, name, diagnosis [PERSON_MEDICAL], center {id, name, budget [ROLE_FINANCE]}\n');
    expect(out).toContain('write  name, diagnosis [PERSON_MEDICAL], center -> Center\n');
    expect(out).toContain('diagnosis (eq exists) [PERSON_MEDICAL]; sort name, diagnosis [PERSON_MEDICAL]');
    expect(out).toMatch(/\/api\/center\.\{_format\} .*\n +read {3}id, code\n/);
    expect(out).toContain(
      'A field with [ROLE] exists only for callers with that role: ROLE_FINANCE (RoleVoter), PERSON_MEDICAL (MedicalVoter).\n',
    );
  });

  test('has the same marks in Markdown', async () => {
    const { out } = await call(['access', clinic(), '--format', 'markdown']);
    expect(out).toContain('`id, name, diagnosis [PERSON_MEDICAL], center {id, name, budget [ROLE_FINANCE]}`');
  });

  test('has the roles of fields and groups in JSON', async () => {
    const { out } = await call(['access', clinic(), '--json']);
    const { groups, routes, settings } = JSON.parse(out);
    const list = routes.find((route: any) => route.path === '/api/person.{_format}' && route.method === 'GET');
    const rolesOf = (label: string) => list.read.fields.find((field: any) => field.label === label).roles;
    expect(rolesOf('diagnosis')).toEqual(['PERSON_MEDICAL']);
    expect(rolesOf('center.budget')).toEqual(['ROLE_FINANCE']);
    expect(rolesOf('name')).toEqual([]);
    expect(list.groups.read.map(({ name, role }: any) => [name, role])).toEqual([
      ['read', null],
      ['read:medical', 'PERSON_MEDICAL'],
      ['read:finance', 'ROLE_FINANCE'],
    ]);
    expect(list.questions.find((question: any) => question.field === 'diagnosis').roles).toEqual([['PERSON_MEDICAL']]);
    expect(groups.map(({ name, role }: any) => [name, role])).toEqual([
      ['read:finance', 'ROLE_FINANCE'],
      ['read:medical', 'PERSON_MEDICAL'],
      ['write:medical', 'PERSON_MEDICAL'],
    ]);
    expect(settings.judges.map(({ role }: any) => role)).toEqual(['PERSON_MEDICAL', 'ROLE_FINANCE', 'ROLE_USER']);
  });
});

type File = Parameters<typeof editedClinic>[0];
const yaml = 'config/app_main.yaml';
const models = 'src/models/models.ts';

/** An edit, the expected report with `:LINE` of the edited line, and whether access widens. */
const edits: readonly (readonly [title: string, file: File, from: string, to: string, said: string, opens: boolean])[] = [
  [
    'a role removed from a group',
    yaml,
    "    'read:finance':\n      role: ROLE_FINANCE\n",
    '',
    'GET,PUT,PATCH /api/person/{id}.{_format} reads center.budget without a role now, required ROLE_FINANCE',
    true,
  ],
  [
    'a role replaced by another',
    yaml,
    'role: ROLE_FINANCE',
    'role: ROLE_USER',
    'reads center.budget with the role ROLE_USER',
    true,
  ],
  [
    'a group added to the groups of an API',
    yaml,
    "read: [read, 'read:medical', 'read:finance']",
    "read: [read, 'read:medical', 'read:finance', short]",
    'reads center.code\n',
    true,
  ],
  [
    'a group added to the groups of an action',
    yaml,
    'groups: { read: [short] }',
    "groups: { read: [short, 'read:finance'] }",
    'GET /api/center.{_format} reads budget with the role ROLE_FINANCE',
    true,
  ],
  [
    'a group of an action replaced by one for everyone',
    yaml,
    'groups: { read: [short] }',
    'groups: { read: [read] }',
    'GET /api/center.{_format} reads name',
    true,
  ],
  [
    'a property added to a group with a role',
    models,
    "name: p.string().groups('read'),",
    "name: p.string().groups('read'),\n    site: p.string().default('').groups('read:finance'),",
    'reads center.site with the role ROLE_FINANCE',
    true,
  ],
  [
    'a property added to a group for everyone',
    models,
    "groups('read:medical', 'write:medical')",
    "groups('read', 'read:medical', 'write:medical')",
    'reads diagnosis without a role now, required PERSON_MEDICAL',
    true,
  ],
  [
    'a property moved to a group with a role',
    models,
    "name: p.string().groups('read'),",
    "name: p.string().groups('read:finance'),",
    'reads center.name only with the role ROLE_FINANCE now',
    false,
  ],
  [
    'a group removed from the groups of an API',
    yaml,
    "read: [read, 'read:medical', 'read:finance']",
    "read: [read, 'read:medical']",
    'no longer reads center.budget with the role ROLE_FINANCE',
    false,
  ],
  [
    'a writable property added to a group for everyone',
    models,
    "groups('read:medical', 'write:medical')",
    "groups('read:medical', 'write', 'write:medical')",
    'writes diagnosis without a role now, required PERSON_MEDICAL',
    true,
  ],
];

describe('declarest access --diff with fields by role', () => {
  test('finds nothing without an edit', async () => {
    const directory = clinic();
    await call(['access', directory, '--save']);
    expect(readFileSync(join(directory, 'access.baseline'), 'utf8')).toContain(
      '\n/api/person.{_format} GET read diagnosis for PERSON_MEDICAL\n',
    );
    const { code, out } = await call(['access', directory, '--diff']);
    expect({ code, out }).toEqual({ code: 0, out: `nothing was opened or closed since ${join(directory, 'access.baseline')}\n` });
  });

  test.each(edits)('%s is reported with its line', async (_, file, from, to, said, opens) => {
    const before = clinic();
    await call(['access', before, '--save']);
    const directory = editedClinic(file, from, to);
    writeFileSync(join(directory, 'access.baseline'), readFileSync(join(before, 'access.baseline')));
    const { code, out } = await call(['access', directory, '--diff']);
    expect(code).toBe(opens ? 1 : 0);
    const [, told = ''] = new RegExp(`^${opens ? 'opened' : 'closed'} since .*\n((?: .*\n)*)`, 'm').exec(out) ?? [];
    expect(told).toContain(said);
    const heading = told
      .slice(0, told.indexOf(said))
      .split('\n')
      .findLast((line) => /^ {2}\S/.test(line));
    const source = readFileSync(join(before, file), 'utf8');
    const inserted = to.includes('\n') && to.startsWith(from) ? 1 : 0;
    const line = source.slice(0, source.indexOf(from)).split('\n').length + inserted;
    if (to === '') expect(heading).toMatch(new RegExp(`^  ${yaml}:3:`));
    else expect(heading).toMatch(new RegExp(`^  ${file}:${line}(?::\\d+)?$`));
  });

  test('a removed role is reported for the group as well', async () => {
    const before = clinic();
    await call(['access', before, '--save']);
    const directory = editedClinic(yaml, "    'read:medical': { role: PERSON_MEDICAL }\n", '');
    writeFileSync(join(directory, 'access.baseline'), readFileSync(join(before, 'access.baseline')));
    const { out } = await call(['access', directory, '--diff']);
    expect(out).toContain('the group read:medical no longer requires PERSON_MEDICAL');
  });
});
