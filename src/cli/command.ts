import type { ExitCode } from './failure.ts';
import type { Io } from './io.ts';

export interface Option {
  /** The placeholder of the value in the help (`N`); without it, the option has no value. */
  readonly value?: string;
  readonly optional?: boolean;
  readonly doc: string;
  readonly repeatable?: boolean;
}

/** A positional argument. */
export interface Positional {
  /** The name in the help: `dir`, `METHOD`. */
  readonly name: string;
  readonly doc: string;
  readonly required?: boolean;
}

export interface Given {
  readonly positionals: Readonly<Record<string, string>>;
  /** The values of each option that was given, by its name without dashes; an option without a value has `['']`. */
  readonly options: Readonly<Record<string, readonly string[]>>;
}

export interface Command {
  readonly details?: readonly string[];
  /** The values of the first positional, if it names an action. */
  readonly actions?: Readonly<Record<string, string>>;
  readonly positionals?: readonly Positional[];
  readonly options: Readonly<Record<string, Option>>;
  readonly exitCodes?: Readonly<Record<ExitCode, string>>;
  readonly example: string;
  run(given: Given, io: Io): Promise<ExitCode>;
}

export function optionValue({ options }: Given, name: string): string | undefined {
  return options[name]?.at(-1);
}

export function isGiven({ options }: Given, name: string): boolean {
  return options[name] !== undefined;
}

export const directoryPositional: Positional = {
  name: 'dir',
  doc: 'The directory of the application. Default: the current directory.',
};

/** The parts that most commands share. */
export const commandDefaults = {
  details: [],
  actions: {},
  positionals: [directoryPositional],
  exitCodes: { 0: 'success', 1: 'error in the application', 2: 'wrong command line' },
} satisfies Partial<Command>;

export type LoadedCommand = Required<Command>;
