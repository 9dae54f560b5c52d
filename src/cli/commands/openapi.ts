import { type Command, isGiven, optionValue } from '../command.ts';
import { describeApplication } from '../open-application.ts';
import { writeOutput } from '../write-file.ts';

export default {
  details: ['The document is generated from the same plans that serve requests. No database is opened.'],
  options: {
    yaml: { doc: 'Use YAML instead of JSON. Default for a FILE that ends in .yaml or .yml.' },
    out: { value: 'FILE', doc: 'Write to this file instead of stdout.' },
  },
  example: 'declarest openapi my-application --out openapi.yaml',

  async run(given, io) {
    const out = optionValue(given, 'out');
    const [, document] = await describeApplication(given.positionals.dir, io);
    const isYaml = isGiven(given, 'yaml') || /\.ya?ml$/i.test(out ?? '');
    const text = isYaml ? await yamlText(document) : `${JSON.stringify(document, null, 2)}\n`;
    if (out === undefined) io.stdout.write(text);
    else writeOutput(out, text, io);
    return 0;
  },
} satisfies Command;

async function yamlText(document: object): Promise<string> {
  const { stringify } = await import('yaml');
  // no YAML aliases: OpenAPI tools do not expect them
  return stringify(document, { aliasDuplicateObjects: false });
}
