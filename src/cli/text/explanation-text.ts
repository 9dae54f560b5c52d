import { parameterText } from '../../declaration/names/list-names.ts';
import type { Caller, CheckStep, ExplainedFields, ExplainedRoute, Explanation, Step } from '../../inspect/explanation.ts';
import { nearMisses } from '../../route/near-misses.ts';
import { pathsText } from './fields-text.ts';
import { aligned, labelled, type OutputStyle, type Paint, painter, wrapped } from './layout.ts';
import { nearMissLines, valuesText } from './route-text.ts';

const labels = 10;
/** The width of lists of fields if the output is not a terminal; other lines are not wrapped there. */
const fieldsWidthElsewhere = 110;

/** The layout of one explanation. */
interface Style {
  readonly output: OutputStyle;
  readonly paint: Paint;
  /** Wraps a text that starts at this column. */
  readonly wrap: (text: string, start: number) => string[];
  readonly fields: (paths: readonly string[]) => string[];
}

function styleOf(output: OutputStyle): Style {
  const { colour, columns } = output;
  return {
    output,
    paint: painter(colour),
    wrap: (text, start) => (columns === null ? [text] : wrapped(text, columns - start)),
    fields: (paths) => pathsText(paths, columns === null ? fieldsWidthElsewhere : columns - labels),
  };
}

/** An explanation for people: the response and its reason, then the details in the order in which they happen. */
export function explanationLines(explanation: Explanation, output: OutputStyle): string[] {
  const style = styleOf(output);
  const { fields: listed, paint, wrap } = style;
  const { caller, changes, database, fields, next, route, steps } = explanation;
  const label = (name: string, texts: readonly string[]) =>
    labelled(
      name,
      texts.flatMap((text) => wrap(text, labels)),
      labels,
    );
  const sections = [
    headLines(explanation, style),
    [
      ...label('route', route ? routeLines(route) : ['none']),
      ...label('caller', [callerText(caller)]),
      ...label('database', [databaseText(database)]),
    ],
    route ? [] : missLines(explanation, output),
    steps.length === 0
      ? label('steps', ['none: no check was made and no statement was sent'])
      : [paint('bold', 'steps'), ...steps.flatMap((step, index) => stepLines(step, index + 1, style))],
    [
      ...label('groups', groupLines(fields)),
      ...label('absent', absentLines(fields)),
      ...labelled('readable', fields.read ? listed(fields.read) : [], labels),
      ...labelled('sent', sentLines(explanation, style), labels),
      ...labelled('writable', fields.write ? listed(fields.write) : [], labels),
    ],
    changes.length === 0
      ? []
      : [paint('bold', 'would be sent'), ...changes.flatMap((step, index) => stepLines(step, steps.length + index + 1, style))],
    next.length === 0 ? [] : [paint('bold', 'would follow'), ...next.flatMap((line) => wrap(line, 2).map((part) => `  ${part}`))],
  ];
  return sections.filter(({ length }) => length > 0).flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]));
}

function headLines({ method, outcome, path, reason, status }: Explanation, { paint, wrap }: Style): string[] {
  const good = outcome === 'answered' || outcome === 'stopped';
  const code = reason?.code ? ` ${reason.code}` : '';
  const what =
    outcome === 'stopped'
      ? `would succeed${status === null ? '' : `: ${status}`}; stopped before the change`
      : status === null
        ? 'unknown'
        : `${status}${code}`;
  const below = [reason?.message, reason?.remedy].flatMap((text) => (text ? wrap(text, 2) : []));
  return [
    ...wrap(`${paint('bold', `${method} ${path}`)}  ${paint(good ? 'green' : 'red', what)}`, 0),
    ...below.map((line) => `  ${line}`),
  ];
}

function missLines({ others, path }: Explanation, output: OutputStyle): string[] {
  const near = nearMissLines(nearMisses(others, path), output);
  return near.length > 0 ? near : ['no route has a similar path'];
}

function routeLines(route: ExplainedRoute): string[] {
  const { asked, compiled, controller, handler, name, needsEntity, path, roles } = route;
  const how = compiled === null ? '' : compiled ? ', compiled' : `, through entities: ${needsEntity}`;
  return [
    name,
    `${path}  ${valuesText(route)}`,
    `${controller}.${handler}${how}`,
    roles.length === 0 ? 'PUBLIC: no role required' : `requires ${roles.join(', then ')}`,
    ...(asked ? [`query: ${parameterText(asked)}`] : []),
  ];
}

/** The claims that describe a token, not its user. */
const ofEveryToken = ['iat', 'exp', 'nbf', 'iss', 'aud', 'jti'];

function callerText({ by, refused, user }: Caller): string {
  if (refused !== null) return 'unknown: the credential was rejected';
  if (!user) return by === 'credential' ? 'anonymous: no authenticator recognized the credential' : 'anonymous';
  const own = user.claims.filter((name) => !ofEveryToken.includes(name));
  const claims = own.length > 0 ? `, with ${own.join(', ')}` : '';
  return `user ${user.id} (${user.roles.join(', ') || 'no roles'})${claims}, from ${by === 'given' ? '--user' : 'the credential'}`;
}

function databaseText({ address, is }: Explanation['database']): string {
  if (is === 'existing') return `${address}, read only`;
  if (is === 'copy') return `a copy of ${address}`;
  const why = address.endsWith(':memory:') ? 'is always new' : 'does not exist yet';
  return `a fresh in-memory database with schema and seed, because ${address} ${why}`;
}

function stepLines(step: Step, number: number, { paint, wrap }: Style): string[] {
  const start = 14;
  const first = (label: string, text: string) => labelled(`  ${String(number).padStart(2)}  ${label}`, wrap(text, start), start);
  const below = (text: string) => wrap(text, start).map((line) => `${' '.repeat(start)}${line}`);
  switch (step.kind) {
    case 'call':
      return first('call', `${step.name}${step.threw ? ', which threw' : step.replied ? ', which replied' : ''}`);
    case 'statement':
      return [
        ...first('sql', step.sql),
        ...(step.parameters.length > 0
          ? below(paint('dim', `with ${step.parameters.map((value) => JSON.stringify(value)).join(', ')}`))
          : []),
        ...(step.by ? below(paint('dim', `sent by ${step.by}`)) : []),
      ];
    case 'check':
      return [...first('check', checkText(step, paint)), ...voteLines(step, paint).flatMap(below)];
  }
}

function checkText({ granted, isForGroups, subject }: CheckStep, paint: Paint): string {
  const about = isForGroups ? 'a group of fields, ' : '';
  const decision = granted ? paint('green', 'granted') : paint('red', granted === null ? 'a voter failed' : 'denied');
  return `${about}${subject === null ? 'without a subject' : `on ${subject}`}: ${decision}`;
}

function voteLines({ roles, strategy }: CheckStep, paint: Paint): string[] {
  const rows = roles.map(({ granted, role, votes }) => {
    if (votes.length === 0) return [role, paint('dim', 'not checked')];
    const cast = votes.map(
      ({ voter, vote }) => `${voter} ${paint(vote === 'grant' ? 'green' : vote === 'abstain' ? 'yellow' : 'red', vote)}`,
    );
    const how = votes.length > 1 ? ` (${strategy}: ${granted ? 'granted' : granted === false ? 'denied' : 'failed'})` : '';
    return [role, `${cast.join(', ')}${how}`];
  });
  return aligned(rows);
}

/** The groups of the action, if one of them needs a role. */
function groupLines({ groups }: ExplainedFields): string[] {
  if (groups.every(({ role }) => role === null)) return [];
  return groups.map(({ applies, appliesInside, name, reason, role }) => {
    if (role === null) return `${name}: for everyone`;
    if (applies === null) return `${name}: needs ${role}, which was not checked`;
    const inside = applies === appliesInside || appliesInside === null ? '' : `, ${appliesInside ? '' : 'not '}for embedded rows`;
    return applies ? `${name}: ${role} was granted${inside}` : `${name}: does not apply, needs ${role}: ${reason}${inside}`;
  });
}

/** The fields that a role keeps from the caller. */
function absentLines({ absent }: ExplainedFields): string[] {
  return absent.map(({ path, reason, roles, use }) => {
    const why = reason === null ? 'which was not checked' : reason;
    return `${path}${use === 'write' ? ' in the body' : ''}: needs ${roles.join(' or ')}${reason === null ? ', ' : ': '}${why}`;
  });
}

function sentLines({ fields: { read, sent } }: Explanation, { fields }: Style): string[] {
  if (!sent) return [];
  if (sent.length === 0) return ['no fields'];
  if (!read) return fields(sent);
  // an object that is null, or a list that is empty, has nothing below it
  const missing = read.filter((path) => !sent.some((known) => path === known || path.startsWith(`${known}.`)));
  return missing.length === 0 ? ['all readable fields'] : ['all readable fields except', ...fields(missing)];
}
