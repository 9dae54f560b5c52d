import type { Match, Miss } from '../../route/match.ts';
import { type Command, isGiven } from '../command.ts';
import { outputStyleOf, say } from '../io.ts';
import { openApplication } from '../open-application.ts';
import { requestArguments, requestPositionals } from '../request-arguments.ts';
import { nearMissLines, rolesText, valuesText } from '../text/route-text.ts';

export default {
  details: ['Also shows near misses: routes that fail only by method, format or requirement, or have a similar path.'],
  positionals: requestPositionals,
  options: { json: { doc: 'Print { method, path, status, match, others } as JSON; others has every other route.' } },
  exitCodes: { 0: 'a route matches', 1: 'no route matches, or error in the application', 2: 'wrong command line' },
  example: 'declarest match GET /api/person/1.json my-application',

  async run(given, io) {
    const { method, path } = requestArguments(given);
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
      const { nearMisses } = await import('../../route/near-misses.ts');
      const lines = found ? matchLines(found, method) : [missLine(miss as Miss, method, path)];
      // if a route matches, similar paths do not help
      const near = nearMisses(found ? reasons.filter(({ reason }) => reason !== 'path differs') : reasons, path);
      const none = found || near.length > 0 ? [] : ['no route has a similar path; list all routes: declarest routes'];
      for (const line of [...lines, ...nearMissLines(near, outputStyleOf(io.stdout, io.env)), ...none]) say(io.stdout, line);
    }
    return found ? 0 : 1;
  },
} satisfies Command;

function matchLines(found: Match, method: string): string[] {
  const { record } = found;
  return [
    `${record.name} matches`,
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
  const line = `no route matches ${method} ${path}: ${statusOf(miss)}`;
  if (miss.kind === 'method') return `${line}, allowed: ${miss.allowed.join(', ')}`;
  if (miss.kind === 'format') return `${line}, known formats: ${miss.known.join(', ')}`;
  return line;
}
