import { didYouMean, listed } from '../declaration/suggest.ts';
import { packageVersion } from '../package-root.ts';
import { readArguments } from './arguments.ts';
import { type CommandEntry, commandGroups, commands } from './commands.ts';
import { CallFailure, type ExitCode, tell } from './failure.ts';
import { withFastImports } from './fast-imports.ts';
import { type Io, outputStyleOf, say } from './io.ts';
import { commandHelp, programHelp } from './text/help.ts';

/** Runs one command line; errors are printed, and become the exit code. */
export async function run(argv: readonly string[], io: Io): Promise<ExitCode> {
  try {
    return await dispatch(argv, io);
  } catch (error) {
    return tell(error, io);
  }
}

async function dispatch([name, ...rest]: readonly string[], io: Io): Promise<ExitCode> {
  switch (name) {
    case undefined:
      io.stderr.write(programHelp(commandGroups, outputStyleOf(io.stderr, io.env)));
      return 2;
    case '--version':
    case '-v':
      say(io.stdout, packageVersion());
      return 0;
    case '--help':
    case '-h':
    case 'help':
      if (rest[0] !== undefined) return runCommand(entryNamed(rest[0]), ['--help'], io);
      io.stdout.write(programHelp(commandGroups, outputStyleOf(io.stdout, io.env)));
      return 0;
    default:
      return runCommand(entryNamed(name), rest, io);
  }
}

async function runCommand(entry: CommandEntry, argv: readonly string[], io: Io): Promise<ExitCode> {
  const command = await withFastImports(() => entry.load());
  const given = readArguments(entry.name, command, argv);
  if (!given.options.help) return command.run(given, io);
  io.stdout.write(commandHelp(entry, command, outputStyleOf(io.stdout, io.env)));
  return 0;
}

function entryNamed(name: string): CommandEntry {
  const found = commands.find((entry) => entry.name === name);
  if (found) return found;
  const names = commands.map((entry) => entry.name);
  if (name.startsWith('-')) {
    const meant = didYouMean(name, ['--help', '--version']);
    throw new CallFailure(`unknown option ${name};${meant} a command comes first: ${listed(names)}`);
  }
  throw new CallFailure(`unknown command "${name}";${didYouMean(name, names)} commands: ${listed(names)}`);
}
