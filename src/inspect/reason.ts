import type { Application } from '../application.ts';
import type { ApiDeclaration, HttpMethod } from '../declaration/types.ts';
import { metaOf } from '../model/hierarchy.ts';
import { identifierParser } from '../model/identifier.ts';
import { hasKey } from '../model/key-condition.ts';
import { defaultFilters } from '../query/entities/filters.ts';
import type { Match } from '../route/match.ts';
import type { RouteRecord } from '../route/record.ts';
import type { Received } from './exchange.ts';
import type { AbsentField, Caller, CheckStep, ExplainedDatabase, Reason, RoleCheck } from './explanation.ts';
import type { Recording } from './recorder.ts';
import { isOverridden } from './route-action.ts';

export interface Watched {
  readonly application: Application;
  readonly database: ExplainedDatabase;
  readonly recording: Recording;
  readonly plans: ReadonlyMap<RouteRecord, ReadonlyMap<HttpMethod, string | null>>;
  readonly answer: Received;
  readonly request: { readonly method: string; readonly path: string; readonly hasBody: boolean; readonly by: Caller['by'] };
}

interface Refused extends Pick<Watched, 'answer' | 'application' | 'recording'> {
  readonly match: Match | null;
  /** The problem document of the response; null if it has none. */
  readonly problem: { readonly code: string; readonly detail: string } | null;
}

export async function reasonOf(refused: Refused): Promise<Reason | null> {
  const { answer, application, match, problem, recording } = refused;
  if (answer.status < 400) return null;
  const code = problem?.code ?? null;
  const detail = problem?.detail ?? `it returns ${answer.status}`;
  if (recording.authenticationError !== null && answer.status === 401)
    return { code, message: `${detail}; nothing else was checked`, remedy: credentialRemedy(application) };
  if (!match) return { code, message: detail, remedy: code === 'not_found' ? 'declarest routes lists all paths' : null };
  const { refusal } = recording;
  if (refusal && (code === 'access_denied' || code === 'authentication_required')) return deniedReason(code, refusal, refused);
  if (answer.status >= 500) return { code, message: causeOf(recording.error) ?? detail, remedy: null };
  if (code === 'entity_not_found' && match.record.api && match.record.single && recording.isMissing)
    return { code, ...(await absence(application, match.record.api, match.params.id as string, match.record.controller)) };
  return { code, message: `${detail}${repliedBy(recording)}`, remedy: null };
}

/** Adds the role of a field that the response calls unknown, because the caller does not have the role. */
export function withRoleOf(reason: Reason | null, absent: readonly AbsentField[]): Reason | null {
  if (reason === null || reason.remedy !== null || absent.length === 0) return reason;
  const use = reason.code === 'unknown_field' ? 'write' : 'read';
  const named = [...reason.message.matchAll(/"-?([^"[\]]+)[^"]*"/g)].map(([, name]) => name);
  const field = absent.find((each) => each.use === use && named.includes(each.path));
  if (!field) return reason;
  return {
    ...reason,
    remedy: `${field.path} needs ${field.roles.join(' or ')}${field.reason === null ? '' : `: ${field.reason}`}`,
  };
}

function deniedReason(code: string, check: CheckStep, { application, recording }: Refused): Reason {
  const denied = check.roles.find(({ granted }) => granted === false) as RoleCheck;
  const nobody = code === 'authentication_required';
  const message = `${denied.role}: ${votesText(denied, check)}${nobody ? '; the request is anonymous' : ''}`;
  return { code, message, remedy: deniedRemedy(denied, nobody, recording.user?.roles ?? [], application) };
}

/** The votes that denied a role: `PersonVoter voted deny on Person 2`. */
export function votesText({ votes }: RoleCheck, { strategy, subject }: CheckStep): string {
  // the built-in voter ignores the subject
  const on = subject === null || votes.every(({ voter }) => voter === 'RoleVoter') ? '' : ` on ${subject}`;
  return votes.every(({ vote }) => vote === 'abstain')
    ? `${votes.length === 1 ? `${votes[0]?.voter} abstained` : 'every voter abstained'}${on}, and no other voter handles it`
    : votes.some(({ vote }) => vote === 'grant')
      ? `${votes.map(({ voter, vote }) => `${voter} voted ${vote}`).join(', ')}${on}, which is not enough (${strategy})`
      : `${votes.flatMap(({ voter, vote }) => (vote === 'deny' ? [voter] : [])).join(' and ')} voted deny${on}`;
}

function deniedRemedy(
  { role, votes }: RoleCheck,
  nobody: boolean,
  held: readonly string[],
  application: Application,
): string | null {
  if (nobody) return 'authenticate: send a token (--as TOKEN), or run as a user (--user JSON)';
  if (votes.every(({ voter }) => voter === 'RoleVoter')) {
    const { roleHierarchy } = application.declaration.security;
    const above = Object.keys(roleHierarchy).filter((holder) => roleHierarchy[holder]?.includes(role));
    const or = above.length > 0 ? `, or one that includes it (${above.join(', ')})` : '';
    return `the user needs ${role}${or}, and has ${held.join(', ') || 'no roles'}`;
  }
  if (votes.every(({ vote }) => vote === 'abstain')) return `have a voter grant ${role}: access is denied if all abstain`;
  return null;
}

function credentialRemedy({ declaration: { security }, production }: Application): string | null {
  if (security.jwt && security.jwt.jwks === null && !production)
    return 'declarest token --sub ID --roles A,B prints a valid token; without a credential the caller is anonymous';
  return null;
}

/** The reason why a row was not found. Looks for the row without filters and restrictions. */
async function absence(
  application: Application,
  api: ApiDeclaration,
  id: string,
  controller: string,
): Promise<Omit<Reason, 'code'>> {
  const { mapper } = application;
  const meta = metaOf(mapper, api.class.value);
  const name = `${meta.className} ${id}`;
  const key = identifierParser(meta, mapper.driver.getPlatform(), 'path')(id);
  const loadsItself = isOverridden(api, 'getEntity');
  const none = { message: `${controller}.getEntity returned no ${meta.className} for "${id}"`, remedy: null };
  if (key === undefined && loadsItself) return none;
  if (key === undefined)
    return { message: `no ${meta.className} can have the id "${id}": its column cannot hold it`, remedy: null };
  const em = mapper.em.fork();
  const where = hasKey(meta, key);
  const isThere = async (options: object) => (await em.count(meta.class, where, options)) > 0;
  if (!(await isThere({ filters: false }))) {
    if (loadsItself) return none;
    const other = meta.root !== meta && (await em.count(meta.root.class, where, { filters: false })) > 0;
    return {
      message: other ? `the row ${id} is not of the class ${meta.className}` : `the row ${name} does not exist`,
      remedy: null,
    };
  }
  const filters = defaultFilters(meta);
  if (filters.length > 0 && !(await isThere({})))
    return { message: `${name} is hidden by the filter ${filters.join(' or ')} of the model`, remedy: null };
  if (loadsItself) return { message: `${name} exists, but ${controller}.getEntity did not return it`, remedy: null };
  if (!isOverridden(api, 'customizeQuery')) return { message: `${name} was not found, but exists now`, remedy: null };
  return {
    message: `${name} is hidden by ${controller}.customizeQuery`,
    remedy: 'call as a user who can see the row, or change customizeQuery',
  };
}

function causeOf(error: unknown): string | null {
  const messages: string[] = [];
  for (let cause = error; cause instanceof Error && messages.length < 4; cause = cause.cause) {
    const message = cause.message.replace(/\s*\n\s*/g, ' ');
    if (!messages.some((known) => known.includes(message))) messages.push(message);
  }
  return messages.length > 0 ? messages.join(': ') : error === null || error === undefined ? null : String(error);
}

/** Names the application code that ended the request. */
function repliedBy({ steps }: Recording): string {
  const last = steps.findLast((step) => step.kind === 'call' && (step.replied || step.threw));
  return last?.kind === 'call' ? `: ${last.name} ${last.threw ? 'threw it' : 'replied'}` : '';
}
