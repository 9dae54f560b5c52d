import { optionsOf } from '../arguments.ts';
import type { Command, Option } from '../command.ts';
import type { CommandEntry } from '../commands.ts';
import { aligned } from './layout.ts';

export function programHelp(commands: readonly CommandEntry[]): string {
  return text([
    'Declarest: REST APIs over a data model, declared.',
    '',
    'Usage: declarest <command> [options]',
    '',
    'Commands:',
    ...aligned(
      commands.map(({ name, summary }) => [name, summary]),
      '  ',
    ),
    '',
    'Options:',
    ...aligned(
      [
        ['-h, --help', 'Show this help, or after a command the help of that command.'],
        ['-v, --version', 'Show the version.'],
      ],
      '  ',
    ),
    '',
    'Exit codes: 0 done, 1 the application is at fault, 2 the call is at fault.',
    'Environment: DEBUG=1 adds the stack to an error.',
    '',
    'Example: declarest serve my-application --port 3000',
  ]);
}

export function commandHelp({ name, summary }: CommandEntry, command: Command): string {
  const { details = [], positionals, exitCodes, example } = command;
  const options = Object.entries(optionsOf(command));
  return text([
    summary,
    '',
    `Usage: ${usageOf(name, command)}`,
    ...(positionals.length > 0
      ? [
          '',
          'Arguments:',
          ...aligned(
            positionals.map(({ name, doc }) => [name, doc]),
            '  ',
          ),
        ]
      : []),
    '',
    'Options:',
    ...aligned(
      options.map(([name, option]) => [`${name === 'help' ? '-h, ' : ''}--${name}${valueText(option)}`, option.doc]),
      '  ',
    ),
    ...(details.length > 0 ? ['', ...details] : []),
    '',
    'Exit codes:',
    ...aligned(Object.entries(exitCodes), '  '),
    '',
    `Example: ${example}`,
  ]);
}

function valueText({ value, optional }: Option): string {
  if (!value) return '';
  return optional ? ` [${value}]` : ` ${value}`;
}

function usageOf(name: string, { positionals, options }: Command): string {
  const places = positionals.map((positional) => (positional.required ? positional.name : `[${positional.name}]`));
  return ['declarest', name, ...places, ...(Object.keys(options).length > 0 ? ['[options]'] : [])].join(' ');
}

function text(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`;
}
