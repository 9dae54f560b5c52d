import { type Command, optionValue } from '../command.ts';
import { describeApplication } from '../open-application.ts';
import { withProgress } from '../progress.ts';
import { writeOutput } from '../write-file.ts';

export default {
  details: [
    'The client is one file without dependencies: an interface for each model and a function for each action, on top of fetch.',
    'The same application always gives the same text, so you can commit it and compare it.',
  ],
  options: { out: { value: 'FILE', doc: 'Write to this file instead of stdout.' } },
  example: 'declarest client my-application --out client.ts',

  async run(given, io) {
    const out = optionValue(given, 'out');
    const source = await withProgress(io, 'generating the client', async () => {
      const [application, document] = await describeApplication(given.positionals.dir, io);
      const { clientSource } = await import('../../openapi/client/client.ts');
      return clientSource(document, application.records);
    });
    if (out === undefined) io.stdout.write(`${source.trimEnd()}\n`);
    else writeOutput(out, source, io);
    return 0;
  },
} satisfies Command;
