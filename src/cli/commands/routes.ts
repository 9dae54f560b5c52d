import { parameterNames, parameterText } from '../../declaration/names/list-names.ts';
import type { RouteDescription } from '../../route/describe.ts';
import { type Command, isGiven } from '../command.ts';
import { outputStyleOf, say } from '../io.ts';
import { openApplication } from '../open-application.ts';
import { rolesText, routeLines } from '../text/route-text.ts';

export default {
  details: [
    'Roles joined by "+" are all required. PUBLIC means that no role is required.',
    'On a terminal, a table that is too wide becomes one block per route. Elsewhere each route is one line, whatever its length.',
  ],
  options: {
    json: {
      doc: 'Print a JSON list of { name, methods, path, requirements, controller, handler, roles }, with parameters, body, result and hidden if declared.',
    },
  },
  example: 'declarest routes my-application --json',

  async run(given, io) {
    const { records } = await openApplication(given.positionals.dir, io);
    const { describeRecords } = await import('../../route/describe.ts');
    const described = describeRecords(records);
    if (isGiven(given, 'json')) {
      say(io.stdout, JSON.stringify(described, null, 2));
      return 0;
    }
    const queries = new Map(
      records.map(({ action, name }) => {
        const names = parameterNames(action);
        return [name, names ? parameterText(names) : ''];
      }),
    );
    const further: readonly (readonly [string, (route: RouteDescription) => string])[] = [
      ['BODY', ({ body = '' }) => body],
      ['RESULT', ({ result = '' }) => result],
      ['HIDDEN', ({ hidden }) => (hidden ? 'hidden' : '')],
      ['QUERY', ({ name }) => queries.get(name) ?? ''],
    ];
    // empty columns are left out
    const columns = further.filter(([, text]) => described.some((route) => text(route) !== ''));
    const rows = described.map((route) => [...row(route), ...columns.map(([, text]) => text(route))]);
    const titles = [...heading, ...columns.map(([title]) => title)];
    for (const line of routeLines(titles, rows, outputStyleOf(io.stdout, io.env))) say(io.stdout, line);
    return 0;
  },
} satisfies Command;

const heading = ['METHODS', 'PATH', 'NAME', 'HANDLER', 'ROLES'];

function row(route: RouteDescription): string[] {
  return [route.methods.join(','), route.path, route.name, `${route.controller}.${route.handler}`, rolesText(route)];
}
