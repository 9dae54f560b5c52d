import { optionsOf } from '../arguments.ts';
import type { LoadedCommand, Option, Positional } from '../command.ts';
import type { CommandEntry, commandGroups } from '../commands.ts';
import { labelled, type OutputStyle, type Paint, painter, wrapped } from './layout.ts';

/** Longer lines are hard to read, however wide the terminal is. */
const widest = 100;

export function programHelp(groups: typeof commandGroups, output: OutputStyle): string {
  const { paint, width } = pageOf(output);
  return text([
    'Declarest: declare REST APIs over a data model.',
    '',
    'Usage: declarest <command> [options]',
    ...groups.flatMap(({ commands, title }) =>
      section(
        title,
        commands.map(({ name, summary }) => [name, summary]),
        { paint, width },
      ),
    ),
    ...section(
      'Options',
      [
        ['-h, --help', 'Show this help, or the help of a command.'],
        ['-v, --version', 'Show the version.'],
      ],
      { paint, width },
    ),
    '',
    ...wrapped('Exit codes: 0 success, 1 error in the application, 2 wrong command line.', width),
    ...wrapped('Environment: DEBUG=1 adds stack traces; NO_COLOR=1 and FORCE_COLOR=1 turn colours off and on.', width),
    '',
    'Example: declarest serve my-application --port 3000',
  ]);
}

export function commandHelp(
  { name, summary }: Pick<CommandEntry, 'name' | 'summary'>,
  command: LoadedCommand,
  output: OutputStyle,
): string {
  const { actions, details, positionals, exitCodes, example } = command;
  const page = pageOf(output);
  const places = positionals.map((positional) => [positional.name, positional.doc] as const);
  const options = Object.entries(optionsOf(command)).map(
    ([option, { doc, ...value }]) => [`${option === 'help' ? '-h, ' : ''}--${option}${valueText(value)}`, doc] as const,
  );
  return text([
    ...wrapped(summary, page.width),
    '',
    `Usage: ${usageOf(name, positionals, options.length > 1)}`,
    ...section('Arguments', places, page),
    ...section('Actions', Object.entries(actions), page),
    ...section('Options', options, page),
    ...(details.length > 0 ? ['', ...details.flatMap((detail) => wrapped(detail, page.width))] : []),
    ...section('Exit codes', Object.entries(exitCodes), page),
    '',
    `Example: ${example}`,
  ]);
}

interface Page {
  readonly paint: Paint;
  readonly width: number;
}

function pageOf({ colour, columns }: OutputStyle): Page {
  return { paint: painter(colour), width: Math.min(columns ?? widest, widest) };
}

function section(title: string, rows: readonly (readonly [string, string])[], { paint, width }: Page): string[] {
  if (rows.length === 0) return [];
  const indent = 2;
  const names = Math.max(...rows.map(([name]) => name.length)) + 2;
  const lines = rows.flatMap(([name, doc]) => {
    const [first = '', ...others] = labelled(name, wrapped(doc, width - indent - names), names);
    return [`${paint('green', name)}${first.slice(name.length)}`, ...others].map((line) => `${' '.repeat(indent)}${line}`);
  });
  return ['', paint('bold', `${title}:`), ...lines];
}

function valueText({ value, optional }: Omit<Option, 'doc'>): string {
  if (!value) return '';
  return optional ? ` [${value}]` : ` ${value}`;
}

function usageOf(name: string, positionals: readonly Positional[], hasOptions: boolean): string {
  const places = positionals.map((positional) => (positional.required ? positional.name : `[${positional.name}]`));
  return ['declarest', name, ...places, ...(hasOptions ? ['[options]'] : [])].join(' ');
}

function text(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`;
}
