// Regenerates every generated file under version control, and prints which files changed.
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { jsonSchemaText } from '../src/declaration/schema/json-schema.ts';

const root = join(import.meta.dirname, '..');

/** A generated file, by its path from the root, with its generator. */
interface Generated {
  readonly file: string;
  make(): void;
}

const schema: Generated = {
  file: 'schema/app-main.schema.json',
  make() {
    writeFileSync(join(root, this.file), jsonSchemaText());
    node('node_modules/@biomejs/biome/bin/biome', 'format', '--write', this.file);
  },
};

/** Each example has a typed client and a baseline of its access. */
const ofExamples = globSync('examples/*/config', { cwd: root })
  .map((config) => dirname(config).replaceAll('\\', '/'))
  .flatMap((directory): Generated[] => [
    {
      file: `${directory}/client.ts`,
      make: () => node('bin/declarest.js', 'client', directory, '--out', `${directory}/client.ts`),
    },
    { file: `${directory}/access.baseline`, make: () => node('bin/declarest.js', 'access', directory, '--save') },
  ]);

for (const generated of [schema, ...ofExamples]) {
  const before = textOf(generated.file);
  generated.make();
  console.log(`${outcome(before, textOf(generated.file))}  ${generated.file}`);
}

function textOf(file: string): string | null {
  const path = join(root, file);
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}

function outcome(before: string | null, after: string | null): string {
  if (before === null) return 'created  ';
  return before === after ? 'unchanged' : 'changed  ';
}

/** Runs a script without NODE_ENV, which would change its output. */
function node(script: string, ...args: string[]): void {
  const { NODE_ENV: _, ...env } = process.env;
  const { status, stderr, stdout } = spawnSync(process.execPath, [script, ...args], { cwd: root, env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`node ${[script, ...args].join(' ')} failed:\n${stdout}${stderr}`);
}
