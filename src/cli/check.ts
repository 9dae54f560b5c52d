import { type Command, directoryPositional } from './command.ts';
import { say } from './io.ts';
import { openApplication } from './open-application.ts';

export const check: Command = {
  details: ['Errors go to stderr, one a line, as file:line:column: message. No database is opened and no file is written.'],
  positionals: [directoryPositional],
  options: {},
  exitCodes: { 0: 'the declaration is sound', 1: 'it has errors', 2: 'the call is at fault' },
  example: 'declarest check my-application',

  async run({ positionals }, io) {
    const { declaration, records } = await openApplication(positionals.dir, io);
    say(io.stdout, `ok: ${counted(declaration.apis.length, 'API')}, ${counted(records.length, 'route')}`);
    return 0;
  },
};

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
