import { type Command, isGiven } from '../command.ts';
import { say } from '../io.ts';
import { describeApplication } from '../open-application.ts';

export default {
  details: ['The document is generated from the same plans that serve requests. No database is opened.'],
  options: { yaml: { doc: 'Print YAML instead of JSON.' } },
  example: 'declarest openapi my-application > openapi.json',

  async run(given, io) {
    const [, document] = await describeApplication(given.positionals.dir, io);
    if (isGiven(given, 'yaml')) {
      const { stringify } = await import('yaml');
      // no YAML aliases: OpenAPI tools do not expect them
      say(io.stdout, stringify(document, { aliasDuplicateObjects: false }).trimEnd());
    } else {
      say(io.stdout, JSON.stringify(document, null, 2));
    }
    return 0;
  },
} satisfies Command;
