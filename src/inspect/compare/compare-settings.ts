import type { SettingsAccess } from '../settings.ts';
import type { Change, Facts } from './changes.ts';

/** What changed for all routes at once. */
export function changesOfSettings(facts: Facts, settings: SettingsAccess): Change[] {
  return [
    ...strategyChanges(facts),
    ...requireRoleChanges(facts, settings),
    ...credentialChanges(facts),
    ...tokenChanges(facts, settings, 'issuer'),
    ...tokenChanges(facts, settings, 'audience'),
    ...facts.subjects.filter((subject) => subject.startsWith('role ')).flatMap((role) => roleChanges(facts, role, settings)),
  ];
}

/** Whatever is granted unanimously is granted under every strategy, and whatever any of them grants is granted by one voice. */
function strategyChanges(facts: Facts): Change[] {
  const [was] = facts.before('security', 'strategy');
  const [now] = facts.after('security', 'strategy');
  if (!now || was === undefined || was === now.value) return [];
  const direction = was === 'affirmative' || now.value === 'unanimous' ? 'closed' : 'opened';
  return [{ direction, place: now.place, subject: 'votes', text: `are combined by the strategy ${now.value}, were by ${was}` }];
}

function requireRoleChanges(facts: Facts, { requireRole: { place } }: SettingsAccess): Change[] {
  const subject = 'routes without a role';
  if (facts.removed('security', 'require_role').length > 0)
    return [{ direction: 'opened', place, subject, text: 'are allowed now' }];
  return facts.added('security', 'require_role').map(() => ({ direction: 'closed', place, subject, text: 'are an error now' }));
}

function credentialChanges(facts: Facts): Change[] {
  const subject = 'callers';
  const more = facts.added('security', 'credential').map(({ value, place }) => ({
    direction: 'opened' as const,
    place,
    subject,
    text: `can come with ${value} now`,
  }));
  const fewer = facts.removed('security', 'credential').map((value) => ({
    direction: 'closed' as const,
    place: null,
    subject,
    text: `can come with ${value} no more`,
  }));
  return [...more, ...fewer];
}

function tokenChanges(facts: Facts, { tokens }: SettingsAccess, name: 'issuer' | 'audience'): Change[] {
  const [was] = facts.before('security', name);
  const { value, place } = tokens[name];
  if ((was ?? null) === value) return [];
  const now = value === null ? `may have any ${name} now` : `must have the ${name} ${value} now`;
  const text = was === undefined ? now : `${now}, had to have ${was}`;
  return [{ direction: was === undefined ? 'closed' : 'opened', place, subject: 'tokens', text }];
}

function roleChanges(facts: Facts, subject: string, settings: SettingsAccess): Change[] {
  const inclusions = facts.added(subject, 'includes').map(({ value, place }) => ({
    direction: 'opened' as const,
    place: inclusionPlace(facts, subject, value, settings) ?? place,
    subject: `users with the ${subject}`,
    text: `have ${value} as well now`,
  }));
  const exclusions = facts.removed(subject, 'includes').map((value) => ({
    direction: 'closed' as const,
    place: null,
    subject: `users with the ${subject}`,
    text: `no longer have ${value}`,
  }));
  return [...inclusions, ...exclusions, ...judgeChanges(facts, subject, settings)];
}

/** A role is included by way of others where one of the steps to it is new. */
function inclusionPlace(facts: Facts, subject: string, included: string, { hierarchy }: SettingsAccess): string | null {
  const role = subject.slice('role '.length);
  const reaches = (from: string, to: string) =>
    from === to || hierarchy.some((inclusion) => inclusion.role === from && inclusion.includes === to);
  const step = hierarchy.find(
    (each) =>
      each.direct &&
      reaches(role, each.role) &&
      reaches(each.includes, included) &&
      !facts.before(`role ${each.role}`, 'includes').includes(each.includes),
  );
  return step?.place ?? null;
}

/** One voice more opens under `affirmative`, one voice less under `unanimous`; under the others nobody can tell. */
function judgeChanges(facts: Facts, subject: string, { judges, strategy, voters }: SettingsAccess): Change[] {
  const [was] = facts.before(subject, 'judged by');
  const [now] = facts.after(subject, 'judged by');
  // a role that no route asked for, or none asks for any more, is told where the routes are
  if (was === undefined || !now || was === now.value) return [];
  const before = namesIn(was);
  const after = namesIn(now.value);
  const more = after.filter((name) => !before.includes(name));
  const fewer = before.filter((name) => !after.includes(name));
  const same = more.length === 0 && fewer.length === 0;
  // they are asked in another order, or were, and the strategy that makes this matter is a change of its own
  if (same && strategy.value !== 'priority') return [];
  const closes =
    (strategy.value === 'affirmative' && more.length === 0) || (strategy.value === 'unanimous' && fewer.length === 0);
  const panel = judges.find(({ role }) => `role ${role}` === subject)?.voters ?? [];
  const place =
    panel.find(({ value }) => more.includes(value))?.place ??
    voters.find(({ value }) => fewer.includes(value))?.place ??
    now.place;
  return [
    {
      direction: closes && !same ? 'closed' : 'opened',
      place,
      subject: `the ${subject}`,
      text: `is judged by ${now.value} now, was by ${was}`,
    },
  ];
}

function namesIn(judges: string): string[] {
  return judges.split(/, (?:then )?/);
}
