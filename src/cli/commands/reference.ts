import { type Command, isGiven } from '../command.ts';

export default {
  positionals: [],
  options: { schema: { doc: 'Print the JSON Schema of the configuration instead, for editors.' } },
  exitCodes: { 0: 'done', 1: 'does not occur', 2: 'the call is at fault' },
  example: 'declarest reference > reference.yaml',

  async run(given, io) {
    if (isGiven(given, 'schema')) io.stdout.write((await import('../../declaration/json-schema.ts')).jsonSchemaText());
    else io.stdout.write((await import('../../declaration/reference.ts')).referenceText());
    return 0;
  },
} satisfies Command;
