import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, optionValue } from '../command.ts';
import { CallFailure } from '../failure.ts';
import { say } from '../io.ts';
import { describeApplication } from '../open-application.ts';

export default {
  details: [
    'One file without dependencies: an interface for each model, a function for each action, `fetch` underneath.',
    'The same application gives the same text, so that it can be committed and compared.',
  ],
  options: { out: { value: 'FILE', doc: 'Write to this file. Default: the standard output.' } },
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
