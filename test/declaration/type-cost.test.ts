import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type Part, writeApplication } from '../../bench/types/application.ts';
import { bounds, excesses, type Sample } from '../../bench/types/bounds.ts';
import { type Cost, checkTypes, writeClient } from '../../bench/types/compiler.ts';
import { root } from '../docs/markdown.ts';

const nothing: Cost = { instantiations: 0, seconds: 0, megabytes: 0 };

function sampleOf(models: number, part: Part, cost: Cost): Sample {
  return { models, costs: { models: nothing, declarations: nothing, client: nothing, [part]: cost } };
}

describe('the compile-time cost of types', () => {
  const directory = join(root, 'var', `type-cost-${process.pid}`);
  mkdirSync(directory, { recursive: true });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  const measure = (part: Part, models: number) => {
    const application = join(directory, `${part}-${models}`);
    writeApplication(application, models);
    if (part === 'client') writeClient(application);
    return sampleOf(models, part, checkTypes(application, part));
  };

  test('of declarations stays within its bounds and grows linearly with the number of models', () => {
    const samples = [1, 7, 13].map((models) => measure('declarations', models));
    expect(excesses('declarations', samples)).toEqual([]);
    // a figure that is too small would mean that nothing was looked at
    expect(samples.at(-1)?.costs.declarations.instantiations).toBeGreaterThan(13 * 1_000);
  });

  test('of the client stays within its bounds', () => {
    expect(excesses('client', [measure('client', 1), measure('client', 7)])).toEqual([]);
  });
});

describe('the bounds on the cost of types', () => {
  const samples = (...instantiations: number[]) =>
    instantiations.map((amount, index) => sampleOf(10 ** index, 'client', { ...nothing, instantiations: amount }));

  test('accept linear growth with the number of models', () => {
    expect(excesses('client', samples(800, 800 + 9 * 10, 800 + 99 * 10))).toEqual([]);
  });

  test('reject faster growth, however small', () => {
    expect(excesses('client', samples(800, 809, 1070))).toEqual([
      'client: up to 100 models, each adds 3 instantiations, and 1 before: more than linear',
    ]);
  });

  test('reject too high a cost per model', () => {
    expect(excesses('client', samples(800, 980))).toEqual([
      `client: up to 10 models, each adds 20 instantiations, more than ${bounds.perModel.client}`,
    ]);
  });
});
