import { type Command, isGiven } from '../command.ts';
import { outputStyleOf } from '../io.ts';
import { wrapped } from '../text/layout.ts';

/** Comments get at least this width, on narrow terminals too. */
const leastWidth = 24;

export default {
  positionals: [],
  options: { schema: { doc: 'Print the JSON Schema for editors instead.' } },
  exitCodes: { 0: 'success', 1: 'not used', 2: 'wrong command line' },
  example: 'declarest reference > reference.yaml',

  async run(given, io) {
    if (isGiven(given, 'schema')) io.stdout.write((await import('../../declaration/schema/json-schema.ts')).jsonSchemaText());
    else {
      const { columns } = outputStyleOf(io.stdout, io.env);
      const wrap = (text: string, column: number) =>
        columns === null ? [text] : wrapped(text, Math.max(columns - column, leastWidth));
      io.stdout.write((await import('../../declaration/reference.ts')).referenceText(wrap));
    }
    return 0;
  },
} satisfies Command;
