import { expect, test } from 'vitest';
import { editedClinic } from '../support/clinic.ts';
import { call } from './call.ts';

const yaml = 'config/app_main.yaml';

test('declarest check warns of a group with a role that no API lists', async () => {
  const directory = editedClinic(yaml, "read: [read, 'read:medical', 'read:finance']", "read: [read, 'read:medical']");
  const { code, err } = await call(['check', directory]);
  expect(code).toBe(0);
  expect(err).toBe(
    'config/app_main.yaml:6:5: warning: no API uses the group "read:finance"; add it to "groups" of an API or action, or remove it\n',
  );
});

test('declarest check reports a group that no property has', async () => {
  const { code, err } = await call(['check', editedClinic(yaml, 'read: [short]', 'read: [shrot, read]')]);
  expect(code).toBe(1);
  expect(err).toContain('config/app_main.yaml:28:28: no property of Center, or of a model that it embeds, has the group "shrot"');
  expect(err).toContain('did you mean "short"?');
});

test('declarest check reports the role of a group that no voter judges', async () => {
  const { code, err } = await call(['check', editedClinic(yaml, 'role: ROLE_FINANCE', 'role: FINANCE')]);
  expect(code).toBe(1);
  expect(err).toMatch(/^config\/app_main\.yaml:7:13: no voter judges the role "FINANCE"; known: PERSON_MEDICAL/);
});
