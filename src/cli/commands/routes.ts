import { askedNames, askedText } from '../../declaration/names/list-names.ts';
import type { RouteDescription } from '../../route/describe.ts';
import { type Command, isGiven } from '../command.ts';
import { coloured, say } from '../io.ts';
import { openApplication } from '../open-application.ts';
import { table } from '../text/layout.ts';
import { rolesText } from '../text/route-text.ts';

export default {
  details: [
    'Roles that are joined by "+" must all be granted; PUBLIC means that nothing is asked.',
    'What handlers take and give is shown where it was declared, and what is hidden from the OpenAPI document.',
    'Colours appear on a terminal only; NO_COLOR=1 and FORCE_COLOR=1 say otherwise.',
  ],
  options: {
    json: {
      doc: 'Print a JSON list of { name, methods, path, requirements, controller, handler, roles }; and parameters, body, result, hidden where declared.',
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
    const asked = new Map(
      records.map(({ action, name }) => {
        const names = askedNames(action);
        return [name, names ? askedText(names) : ''];
      }),
    );
    const further: readonly (readonly [string, (route: RouteDescription) => string])[] = [
      ['TAKES', ({ body = '' }) => body],
      ['GIVES', ({ result = '' }) => result],
      ['HIDDEN', ({ hidden }) => (hidden ? 'hidden' : '')],
      ['CAN BE ASKED', ({ name }) => asked.get(name) ?? ''],
    ];
    // empty columns are left out
    const columns = further.filter(([, text]) => described.some((route) => text(route) !== ''));
    const rows = described.map((route) => [...row(route), ...columns.map(([, text]) => text(route))]);
    const titles = [...heading, ...columns.map(([title]) => title)];
    for (const line of table(titles, rows, coloured(io.stdout, io.env))) say(io.stdout, line);
    return 0;
  },
} satisfies Command;

const heading = ['METHODS', 'PATH', 'NAME', 'HANDLER', 'ROLES'];

function row(route: RouteDescription): string[] {
  return [route.methods.join(','), route.path, route.name, `${route.controller}.${route.handler}`, rolesText(route)];
}
