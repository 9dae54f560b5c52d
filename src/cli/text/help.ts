import { optionsOf } from '../arguments.ts';
import type { LoadedCommand, Option, Positional } from '../command.ts';
import type { CommandEntry } from '../commands.ts';
import { aligned } from './layout.ts';

export function programHelp(commands: readonly CommandEntry[]): string {
  return text([
    'Declarest: REST APIs over a data model, declared.',
    '',
    'Usage: declarest <command> [options]',
    ...section(
      'Commands',
      commands.map(({ name, summary }) => [name, summary]),
    ),
    ...section('Options', [
      ['-h, --help', 'Show this help, or after a command the help of that command.'],
      ['-v, --version', 'Show the version.'],
    ]),
    '',
    'Exit codes: 0 done, 1 the application is at fault, 2 the call is at fault.',
    'Environment: DEBUG=1 adds the stack to an error.',
    '',
    'Example: declarest serve my-application --port 3000',
  ]);
}

export function commandHelp({ name, summary }: CommandEntry, command: LoadedCommand): string {
  const { details, positionals, exitCodes, example } = command;
  const places = positionals.map((positional) => [positional.name, positional.doc]);
  const options = Object.entries(optionsOf(command)).map(([option, { doc, ...value }]) => [
    `${option === 'help' ? '-h, ' : ''}--${option}${valueText(value)}`,
    doc,
  ]);
  return text([
    summary,
    '',
    `Usage: ${usageOf(name, positionals, options.length > 1)}`,
    ...section('Arguments', places),
    ...section('Options', options),
    ...(details.length > 0 ? ['', ...details] : []),
    ...section('Exit codes', Object.entries(exitCodes)),
    '',
    `Example: ${example}`,
  ]);
}

function section(title: string, rows: readonly (readonly string[])[]): string[] {
  return rows.length > 0 ? ['', `${title}:`, ...aligned(rows, '  ')] : [];
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
