import type { Application } from '../../application.ts';
import type { ReportedError } from '../../declaration/source.ts';
import { type Command, type Given, isGiven } from '../command.ts';
import { type ExitCode, messageOf } from '../failure.ts';
import { type Io, say } from '../io.ts';
import { openApplication } from '../open-application.ts';

export default {
  details: [
    'Errors and warnings go to stderr, one per line, as file:line:column: message. No database is opened and no file is written.',
  ],
  options: {
    verbose: { doc: 'Also list the methods that use MikroORM entities instead of compiled statements, with the reason.' },
    json: { doc: 'Print the result on stdout as JSON: { ok, errors, warnings }.' },
  },
  exitCodes: { 0: 'the declaration has no errors', 1: 'the declaration has errors', 2: 'wrong command line' },
  example: 'declarest check my-application',

  async run(given, io) {
    if (isGiven(given, 'json')) return checkJson(given, io);
    const application = await openChecked(given, io);
    const { declaration, records, warnings } = application;
    for (const { text } of warnings) say(io.stderr, text);
    say(io.stdout, `ok: ${counted(declaration.apis.length, 'API')}, ${counted(records.length, 'route')}`);
    if (isGiven(given, 'verbose')) for (const line of await storeLines(application)) say(io.stdout, line);
    return 0;
  },
} satisfies Command;

/** The application, if it can be served: other commands do not need the packages of the server. */
async function openChecked(given: Given, io: Io): Promise<Application> {
  const application = await openApplication(given.positionals.dir, io);
  const { declaration, directory, source } = application;
  if (declaration.server.compress) {
    const { compressionFile, compressionPlaces } = await import('../../traffic/compression.ts');
    const { Report } = await import('../../declaration/report.ts');
    const report = new Report(source);
    try {
      compressionFile(compressionPlaces(directory));
    } catch (error) {
      report.add(['app_main', 'server', 'compress'], messageOf(error), 'key');
    }
    report.throwIfAny();
  }
  return application;
}

/** Other failures, such as a missing directory, are reported as by every command. */
async function checkJson(given: Given, io: Io): Promise<ExitCode> {
  const { DeclarationErrors } = await import('../../declaration/report.ts');
  const print = (result: object) => say(io.stdout, JSON.stringify(result, null, 2));
  try {
    const application = await openChecked(given, io);
    const { declaration, records, warnings } = application;
    const entities = isGiven(given, 'verbose') ? (await storesOf(application)).entities : undefined;
    const counts = { apis: declaration.apis.length, routes: records.length };
    print({ ok: true, ...counts, errors: [], warnings: warnings.map(findingOf), ...(entities && { entities }) });
    return 0;
  } catch (error) {
    if (!(error instanceof DeclarationErrors)) throw error;
    print({ ok: false, errors: error.errors.map(findingOf), warnings: [] });
    return 1;
  }
}

function findingOf({ message, path, place }: ReportedError) {
  return {
    file: place?.file ?? null,
    line: place?.line ?? null,
    column: place?.column ?? null,
    path: path.join('.'),
    message,
  };
}

async function storesOf(application: Application) {
  const { routeStores } = await import('../../inspect/stores.ts');
  const stores = await routeStores(application);
  const entities = stores.flatMap(({ method, reason, record }) =>
    reason === null ? [] : [{ method, path: record.path, reason }],
  );
  return { total: stores.length, entities };
}

async function storeLines(application: Application): Promise<string[]> {
  const { entities, total } = await storesOf(application);
  const summary = `${total - entities.length} of ${counted(total, 'method')} use compiled statements`;
  return [summary, ...entities.map(({ method, path, reason }) => `entities: ${method} ${path}: ${reason}`)];
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
