import { type Command, isGiven } from '../command.ts';

export default {
  positionals: [],
  options: { schema: { doc: 'Print the JSON Schema for editors instead.' } },
  exitCodes: { 0: 'success', 1: 'not used', 2: 'wrong command line' },
  example: 'declarest reference > reference.yaml',

  async run(given, io) {
    if (isGiven(given, 'schema')) io.stdout.write((await import('../../declaration/json-schema.ts')).jsonSchemaText());
    else io.stdout.write((await import('../../declaration/reference.ts')).referenceText());
    return 0;
  },
} satisfies Command;
