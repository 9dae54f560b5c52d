import type { Match, Miss } from '../../route/match.ts';
import { askedRequest, requestPositionals } from '../asked-request.ts';
import { type Command, isGiven } from '../command.ts';
import { say } from '../io.ts';
import { openApplication } from '../open-application.ts';
import { reasonLines, rolesText, valuesText } from '../text/route-text.ts';

export default {
  positionals: requestPositionals,
  options: { json: { doc: 'Print { method, path, status, match, others } as JSON.' } },
  exitCodes: { 0: 'a route answers', 1: 'no route answers, or the application is at fault', 2: 'the call is at fault' },
  example: 'declarest match GET /api/person/1.json my-application',

  async run(given, io) {
    const { method, path } = askedRequest(given);
    const { records } = await openApplication(given.positionals.dir, io);
    const { explainMatch } = await import('../../route/explain-match.ts');
    const { classifyMiss } = await import('../../route/match.ts');
    const { describeRecords } = await import('../../route/describe.ts');
    const { match: found, others } = explainMatch(records, method, path);
    const miss = found ? null : classifyMiss(records, method, path);
    const reasons = others.map(({ record: { name, path: pattern }, reason }) => ({ name, path: pattern, reason }));
    if (isGiven(given, 'json')) {
      const answer = found && { ...describeRecords([found.record])[0], format: found.format, params: found.params };
      say(io.stdout, JSON.stringify({ method, path, status: miss && statusOf(miss), match: answer, others: reasons }, null, 2));
    } else {
      const lines = found ? answerLines(found, method) : [missLine(miss as Miss, method, path)];
      for (const line of [...lines, ...reasonLines(reasons, found !== null)]) say(io.stdout, line);
    }
    return found ? 0 : 1;
  },
} satisfies Command;

function answerLines(found: Match, method: string): string[] {
  const { record } = found;
  return [
    `${record.name} answers`,
    `  path     ${record.path}`,
    `  values   ${valuesText(found)}`,
    `  handler  ${record.controller}.${record.handler}`,
    `  roles    ${rolesText({ methods: record.methods.filter((enabled) => enabled === method), roles: record.roles })}`,
  ];
}

function statusOf({ kind }: Miss): number {
  return kind === 'method' ? 405 : 404;
}

function missLine(miss: Miss, method: string, path: string): string {
  const line = `no route answers ${method} ${path}: ${statusOf(miss)}`;
  if (miss.kind === 'method') return `${line}, allowed: ${miss.allowed.join(', ')}`;
  if (miss.kind === 'format') return `${line}, known formats: ${miss.known.join(', ')}`;
  return line;
}
