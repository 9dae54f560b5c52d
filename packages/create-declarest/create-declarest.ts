#!/usr/bin/env node
import { readArguments } from '../../src/cli/arguments.ts';
import { commandDefaults } from '../../src/cli/command.ts';
import init from '../../src/cli/commands/init.ts';
import { type ExitCode, tell } from '../../src/cli/failure.ts';
import { type Io, outputStyleOf, processIo } from '../../src/cli/io.ts';
import { commandHelp } from '../../src/cli/text/help.ts';

const command = { ...commandDefaults, ...init };

/** `declarest init` as a program of its own, for `npm create declarest`. */
async function main(argv: readonly string[], io: Io): Promise<ExitCode> {
  try {
    const given = readArguments('init', command, argv);
    if (!given.options.help) return await command.run(given, io);
    const help = commandHelp({ name: 'init', summary: 'Create a new application.' }, command, outputStyleOf(io.stdout, io.env));
    io.stdout.write(help.replaceAll('declarest init', 'create-declarest'));
    return 0;
  } catch (error) {
    return tell(error, io);
  }
}

process.exitCode = await main(process.argv.slice(2), processIo());
