import type { ExitCode } from './failure.ts';
import type { Io } from './io.ts';

/** An option of a command. */
export interface Option {
  /** What stands for the value in the help (`N`); without it, the option takes none. */
  readonly value?: string;
  /** Whether the value can be left out. */
  readonly optional?: boolean;
  readonly doc: string;
  /** Whether it can be given more than once. */
  readonly repeatable?: boolean;
}

/** An argument without a name, by its place. */
export interface Positional {
  /** As in the help: `dir`, `METHOD`. */
  readonly name: string;
  readonly doc: string;
  readonly required?: boolean;
}

/** What a call gave. */
export interface Given {
  /** By the name of the positional. */
  readonly positionals: Readonly<Record<string, string>>;
  /** The values of each option that was given, by its name without dashes; an option without a value has `['']`. */
  readonly options: Readonly<Record<string, readonly string[]>>;
}

/** A command: what it takes, and what it does. */
export interface Command {
  /** Further lines of its own help. */
  readonly details?: readonly string[];
  readonly positionals: readonly Positional[];
  readonly options: Readonly<Record<string, Option>>;
  /** What each exit code means here. */
  readonly exitCodes: Readonly<Record<ExitCode, string>>;
  readonly example: string;
  run(given: Given, io: Io): Promise<ExitCode>;
}

/** The last value of an option, or undefined where it was not given. */
export function optionValue({ options }: Given, name: string): string | undefined {
  return options[name]?.at(-1);
}

/** Whether an option was given. */
export function isGiven({ options }: Given, name: string): boolean {
  return options[name] !== undefined;
}

/** The directory of an application, as many commands take it. */
export const directoryPositional: Positional = {
  name: 'dir',
  doc: 'The directory of the application. Default: the current one.',
};

/** What the exit codes mean for commands that load an application. */
export const usualExitCodes: Readonly<Record<ExitCode, string>> = {
  0: 'done',
  1: 'the application is at fault',
  2: 'the call is at fault',
};
