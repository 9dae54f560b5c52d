// Measures how long the compiler of a user checks types: models, declarations by defineApis(), and the generated client.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Part, parts, writeApplication } from './application.ts';
import { bounds, excesses, perModel, type Sample } from './bounds.ts';
import { checkTypes, writeClient } from './compiler.ts';

const directory = join(import.meta.dirname, '..', '..', 'var', `types-${process.pid}`);
const amounts = [1, 10, 100];

const names: Record<Part, string> = {
  models: 'the models by themselves',
  declarations: 'the models and defineApis()',
  client: 'the client',
};

function measure(models: number): Sample {
  const application = join(directory, String(models));
  writeApplication(application, models);
  writeClient(application);
  const cost = (part: Part) => checkTypes(application, part);
  return { models, costs: { models: cost('models'), declarations: cost('declarations'), client: cost('client') } };
}

function print(samples: readonly Sample[]): void {
  const rows = parts.flatMap((part) =>
    samples.map((sample, index) => {
      const { instantiations, megabytes, seconds } = sample.costs[part];
      const less = samples[index - 1];
      return [
        names[part],
        String(sample.models),
        String(instantiations),
        less ? String(Math.round(perModel(part, less, sample))) : '',
        seconds.toFixed(3),
        megabytes.toFixed(0),
      ];
    }),
  );
  const table = [['types of', 'models', 'instantiations', 'each model adds', 'seconds to check', 'MB'], ...rows];
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? [];
  const line = (row: readonly string[]) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  ');
  for (const row of table) console.log(line(row));
}

try {
  const samples = amounts.map(measure);
  print(samples);
  const found = parts.flatMap((part) => excesses(part, samples));
  for (const [part, most] of Object.entries(bounds.seconds) as [Part, number][]) {
    const { costs, models } = samples.at(-1) as Sample;
    if (costs[part].seconds >= most)
      found.push(`${part}: ${models} models take ${costs[part].seconds} s, and must take less than ${most} s`);
  }
  for (const excess of found) console.log(`exceeded: ${excess}`);
  process.exitCode = found.length === 0 ? 0 : 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
