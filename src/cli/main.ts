import { didYouMean, listed } from '../declaration/suggest.ts';
import { readArguments } from './arguments.ts';
import { check } from './check.ts';
import type { Command } from './command.ts';
import { dev } from './dev.ts';
import { CallFailure, type ExitCode, tell } from './failure.ts';
import { commandHelp, programHelp } from './help.ts';
import { type Io, processIo, say } from './io.ts';
import { match } from './match.ts';
import { packageVersion } from './package-root.ts';
import { reference } from './reference.ts';
import { routes } from './routes.ts';
import { serve } from './serve.ts';
import { token } from './token.ts';

/** Every command, in the order of the help. Each loads what it needs only when it runs, so that help is quick. */
export const commands: readonly Command[] = [serve, dev, routes, match, check, reference, token];

/** Runs one command line and answers its exit code: 0, 1 (the application is at fault) or 2 (the call is). */
export async function main(argv: readonly string[], io?: Io): Promise<number> {
  if (io) return run(argv, io);
  const code = await run(argv, processIo());
  // A timer or connection that a module of the application left open must not keep a finished command.
  setTimeout(() => process.exit(code), 200).unref();
  return code;
}

async function run(argv: readonly string[], io: Io): Promise<ExitCode> {
  try {
    const [name, ...rest] = argv;
    if (name === '--version' || name === '-v') say(io.stdout, packageVersion());
    else if (name === '--help' || name === '-h') io.stdout.write(programHelp(commands));
    else if (name === 'help') io.stdout.write(rest[0] === undefined ? programHelp(commands) : commandHelp(commandNamed(rest[0])));
    else if (name === undefined) {
      io.stderr.write(programHelp(commands));
      return 2;
    } else return await runCommand(commandNamed(name), rest, io);
    return 0;
  } catch (error) {
    return tell(error, io);
  }
}

async function runCommand(command: Command, argv: readonly string[], io: Io): Promise<ExitCode> {
  const given = readArguments(command, argv);
  if (!given.options.help) return command.run(given, io);
  io.stdout.write(commandHelp(command));
  return 0;
}

function commandNamed(name: string): Command {
  const found = commands.find((command) => command.name === name);
  if (found) return found;
  const names = commands.map((command) => command.name);
  if (name.startsWith('-')) {
    throw new CallFailure(
      `unknown option ${name};${didYouMean(name, ['--help', '--version'])} a command comes first: ${listed(names)}`,
    );
  }
  throw new CallFailure(`unknown command "${name}";${didYouMean(name, names)} commands: ${listed(names)}`);
}
