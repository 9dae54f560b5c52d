import { askedText } from '../../declaration/names/list-names.ts';
import type { Caller, CheckStep, ExplainedRoute, Explanation, Step } from '../../inspect/explanation.ts';
import { pathsText } from './fields-text.ts';
import { aligned, labelled, type Paint, painter } from './layout.ts';
import { reasonLines, valuesText } from './route-text.ts';

const width = 110;

/** An explanation for people: what becomes of the request and why, then the details in the order in which they happen. */
export function explanationLines(explanation: Explanation, colour: boolean): string[] {
  const paint = painter(colour);
  const { caller, database, fields, next, route, steps } = explanation;
  const sections = [
    headLines(explanation, paint),
    [
      ...labelled('route', route ? routeLines(route) : ['none']),
      ...labelled('caller', [callerText(caller)]),
      ...labelled('database', [databaseText(database)]),
    ],
    route ? [] : missLines(explanation),
    steps.length === 0
      ? labelled('steps', ['none: nobody was asked, and no statement was sent'])
      : [paint('bold', 'steps'), ...steps.flatMap((step, index) => stepLines(step, index + 1, paint))],
    [
      ...labelled('readable', fields.read ? pathsText(fields.read, width) : []),
      ...labelled('sent', sentLines(explanation)),
      ...labelled('writable', fields.write ? pathsText(fields.write, width) : []),
    ],
    next.length === 0 ? [] : [paint('bold', 'would follow'), ...next.map((line) => `  ${line}`)],
  ];
  return sections.filter(({ length }) => length > 0).flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]));
}

function headLines({ method, outcome, path, reason, status }: Explanation, paint: Paint): string[] {
  const good = outcome === 'answered' || outcome === 'stopped';
  const code = reason?.code ? ` ${reason.code}` : '';
  const what =
    outcome === 'stopped'
      ? `would go ahead${status === null ? '' : `: ${status}`}; stopped before the change`
      : status === null
        ? 'not known'
        : `${status}${code}`;
  return [
    `${paint('bold', `${method} ${path}`)}  ${paint(good ? 'green' : 'red', what)}`,
    ...(reason ? [`  ${reason.message}`] : []),
    ...(reason?.remedy ? [`  ${reason.remedy}`] : []),
  ];
}

/** Why no route answers: those that came near, and how many did not. */
function missLines({ others }: Explanation): string[] {
  const near = others.filter(({ reason }) => reason !== 'path differs');
  const far = others.length - near.length;
  return [
    ...reasonLines(near, false),
    ...(far > 0
      ? [`${near.length > 0 ? '  ' : ''}the path of ${near.length > 0 ? `${far} others` : `all ${far} routes`} differs`]
      : []),
  ];
}

function routeLines(route: ExplainedRoute): string[] {
  const { asked, compiled, controller, handler, name, needsEntity, path, roles } = route;
  const how = compiled === null ? '' : compiled ? ', compiled' : `, through entities: ${needsEntity}`;
  return [
    name,
    `${path}  ${valuesText(route)}`,
    `${controller}.${handler}${how}`,
    roles.length === 0 ? 'PUBLIC: nobody is asked' : `asks for ${roles.join(', then ')}`,
    ...(asked ? [`can be asked ${askedText(asked)}`] : []),
  ];
}

/** What tokens say of themselves, and not of their user. */
const ofEveryToken = ['iat', 'exp', 'nbf', 'iss', 'aud', 'jti'];

function callerText({ by, refused, user }: Caller): string {
  if (refused !== null) return 'a credential that was refused';
  if (!user) return by === 'credential' ? 'nobody, for all that was sent' : 'nobody';
  const own = user.claims.filter((name) => !ofEveryToken.includes(name));
  const claims = own.length > 0 ? `, with ${own.join(', ')}` : '';
  return `user ${user.id} (${user.roles.join(', ') || 'no roles'})${claims}, ${by === 'given' ? 'as given' : 'by the credential'}`;
}

function databaseText({ address, is }: Explanation['database']): string {
  if (is === 'existing') return `${address}, read only`;
  if (is === 'copy') return `a copy of ${address}`;
  return `a fresh one in memory with the schema and the seed, as ${address} ${address.endsWith(':memory:') ? 'is always new' : 'does not exist yet'}`;
}

function stepLines(step: Step, number: number, paint: Paint): string[] {
  const line = (label: string, text: string) => `  ${String(number).padStart(2)}  ${label.padEnd(6)}  ${text}`;
  const below = (text: string) => `${' '.repeat(14)}${text}`;
  switch (step.kind) {
    case 'call':
      return [line('call', `${step.name}${step.threw ? ', which threw' : step.replied ? ', which replied' : ''}`)];
    case 'statement':
      return [
        line('sql', step.sql),
        ...(step.parameters.length > 0
          ? [below(paint('dim', `with ${step.parameters.map((value) => JSON.stringify(value)).join(', ')}`))]
          : []),
        ...(step.by ? [below(paint('dim', `sent by ${step.by}`))] : []),
      ];
    case 'check':
      return [line('check', checkText(step, paint)), ...voteLines(step, paint).map(below)];
  }
}

function checkText({ granted, subject }: CheckStep, paint: Paint): string {
  const decision = granted ? paint('green', 'granted') : paint('red', granted === null ? 'a voter failed' : 'denied');
  return `${subject === null ? 'without a subject' : `on ${subject}`}: ${decision}`;
}

function voteLines({ roles, strategy }: CheckStep, paint: Paint): string[] {
  const rows = roles.map(({ granted, role, votes }) => {
    if (votes.length === 0) return [role, paint('dim', 'not asked any more')];
    const cast = votes.map(
      ({ voter, vote }) => `${voter} ${paint(vote === 'grant' ? 'green' : vote === 'abstain' ? 'yellow' : 'red', vote)}`,
    );
    const how = votes.length > 1 ? ` (${strategy}: ${granted ? 'granted' : granted === false ? 'denied' : 'failed'})` : '';
    return [role, `${cast.join(', ')}${how}`];
  });
  return aligned(rows);
}

function sentLines({ fields: { read, sent } }: Explanation): string[] {
  if (!sent) return [];
  if (sent.length === 0) return ['no fields'];
  if (!read) return pathsText(sent, width);
  // an object that is null, or a list that is empty, has nothing below it
  const missing = read.filter((path) => !sent.some((known) => path === known || path.startsWith(`${known}.`)));
  return missing.length === 0 ? ['all of them'] : ['all but', ...pathsText(missing, width)];
}
