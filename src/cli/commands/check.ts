import type { Application } from '../../application.ts';
import type { Command } from '../command.ts';
import { say } from '../io.ts';
import { openApplication } from '../open-application.ts';

export default {
  details: [
    'Errors and warnings go to stderr, one per line, as file:line:column: message. No database is opened and no file is written.',
  ],
  options: {
    verbose: {
      doc: 'Also list the methods that use MikroORM entities instead of compiled statements, with the reason.',
    },
  },
  exitCodes: { 0: 'the declaration has no errors', 1: 'the declaration has errors', 2: 'wrong command line' },
  example: 'declarest check my-application',

  async run({ options, positionals }, io) {
    const application = await openApplication(positionals.dir, io);
    const { declaration, records, warnings } = application;
    for (const line of warnings) say(io.stderr, line);
    say(io.stdout, `ok: ${counted(declaration.apis.length, 'API')}, ${counted(records.length, 'route')}`);
    if (options.verbose) for (const line of await storeLines(application)) say(io.stdout, line);
    return 0;
  },
} satisfies Command;

async function storeLines(application: Application): Promise<string[]> {
  const { routeStores } = await import('../../inspect/stores.ts');
  const stores = await routeStores(application);
  const slow = stores.filter(({ reason }) => reason !== null);
  const summary = `${stores.length - slow.length} of ${counted(stores.length, 'method')} use compiled statements`;
  return [summary, ...slow.map(({ method, reason, record }) => `entities: ${method} ${record.path}: ${reason}`)];
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
