import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, optionValue } from '../command.ts';
import { CallFailure } from '../failure.ts';
import { say } from '../io.ts';
import { describeApplication } from '../open-application.ts';

export default {
  details: [
    'The client is one file without dependencies: an interface for each model and a function for each action, on top of fetch.',
    'The same application always gives the same text, so you can commit it and compare it.',
  ],
  options: { out: { value: 'FILE', doc: 'Write to this file instead of stdout.' } },
  example: 'declarest client my-application --out client.ts',

  async run(given, io) {
    const [application, document] = await describeApplication(given.positionals.dir, io);
    const { clientSource } = await import('../../openapi/client.ts');
    const source = clientSource(document, application.records);
    const out = optionValue(given, 'out');
    if (out === undefined) {
      say(io.stdout, source.trimEnd());
      return 0;
    }
    try {
      writeFileSync(resolve(io.cwd, out), source);
    } catch (error) {
      throw new CallFailure(`${out} cannot be written: ${(error as Error).message}`);
    }
    return 0;
  },
} satisfies Command;
