import type { SettingsAccess } from '../settings.ts';
import { type Change, closed, type Facts, type FactsOfSubject, opened } from './changes.ts';

export function changesOfSettings(facts: Facts, settings: SettingsAccess): Change[] {
  const security = facts.about('security');
  const { place } = settings.requireRole;
  return [
    ...strategyChanges(security),
    ...security.removed('require_role').map(() => opened(place, 'routes without a role', 'are allowed now')),
    ...security.added('require_role').map(() => closed(place, 'routes without a role', 'are an error now')),
    ...security.added('credential').map((fact) => opened(fact.place, 'callers', `can authenticate with ${fact.value} now`)),
    ...security.removed('credential').map((value) => closed(null, 'callers', `can no longer authenticate with ${value}`)),
    ...tokenChanges(security, settings, 'issuer'),
    ...tokenChanges(security, settings, 'audience'),
    ...facts.aboutAll('role ').flatMap((role) => roleChanges(facts, role, settings)),
  ];
}

/** `unanimous` grants least of all strategies, `affirmative` most. */
function strategyChanges(security: FactsOfSubject): Change[] {
  const [was] = security.before('strategy');
  const [now] = security.after('strategy');
  if (!now || was === undefined || was === now.value) return [];
  const change = was === 'affirmative' || now.value === 'unanimous' ? closed : opened;
  return [change(now.place, 'votes', `are combined by the strategy ${now.value}, were by ${was}`)];
}

function tokenChanges(security: FactsOfSubject, { tokens }: SettingsAccess, name: 'issuer' | 'audience'): Change[] {
  const [was] = security.before(name);
  const { value, place } = tokens[name];
  if ((was ?? null) === value) return [];
  const now = value === null ? `may have any ${name} now` : `must have the ${name} ${value} now`;
  return [was === undefined ? closed(place, 'tokens', now) : opened(place, 'tokens', `${now}, had to have ${was}`)];
}

function roleChanges(facts: Facts, about: FactsOfSubject, settings: SettingsAccess): Change[] {
  const users = `users with the ${about.subject}`;
  const placeOf = (included: string) => inclusionPlace(facts, about, included, settings);
  return [
    ...about.added('includes').map(({ value, place }) => opened(placeOf(value) ?? place, users, `have ${value} as well now`)),
    ...about.removed('includes').map((value) => closed(null, users, `no longer have ${value}`)),
    ...judgeChanges(about, settings),
  ];
}

/** The place of the new direct inclusion through which a role is included. */
function inclusionPlace(facts: Facts, { subject }: FactsOfSubject, included: string, { hierarchy }: SettingsAccess) {
  const role = subject.slice('role '.length);
  const reaches = (from: string, to: string) =>
    from === to || hierarchy.some((inclusion) => inclusion.role === from && inclusion.includes === to);
  const step = hierarchy.find(
    (each) =>
      each.direct &&
      reaches(role, each.role) &&
      reaches(each.includes, included) &&
      !facts.about(`role ${each.role}`).before('includes').includes(each.includes),
  );
  return step?.place ?? null;
}

/** A further voter opens under `affirmative`, one voter less under `unanimous`; other strategies are uncertain. */
function judgeChanges(about: FactsOfSubject, { judges, strategy, voters }: SettingsAccess): Change[] {
  const [was] = about.before('judged by');
  const [now] = about.after('judged by');
  // roles that only became or ceased to be required are reported with their routes
  if (was === undefined || !now || was === now.value) return [];
  const before = was.split(/, (?:then )?/);
  const after = now.value.split(/, (?:then )?/);
  const more = after.filter((name) => !before.includes(name));
  const fewer = before.filter((name) => !after.includes(name));
  const same = more.length === 0 && fewer.length === 0;
  // the voting order matters under `priority` only, and a change of the strategy is reported on its own
  if (same && strategy.value !== 'priority') return [];
  const closes =
    (strategy.value === 'affirmative' && more.length === 0) || (strategy.value === 'unanimous' && fewer.length === 0);
  const panel = judges.find(({ role }) => `role ${role}` === about.subject)?.voters ?? [];
  const place =
    panel.find(({ value }) => more.includes(value))?.place ??
    voters.find(({ value }) => fewer.includes(value))?.place ??
    now.place;
  const change = closes && !same ? closed : opened;
  return [change(place, `the ${about.subject}`, `is judged by ${now.value} now, was by ${was}`)];
}
