import type { Part } from './application.ts';
import type { Cost } from './compiler.ts';

/** The costs of checking the types of an application with this number of models. */
export interface Sample {
  readonly models: number;
  readonly costs: Readonly<Record<Part, Cost>>;
}

/** Instantiations are the same on every machine. Seconds are not, so only `npm run bench:types` checks them. */
export const bounds = {
  /** Instantiations that each model adds, without the constant part. */
  perModel: { models: 200, declarations: 2_900, client: 15 },
  /** The factor by which a model may add more in the larger application of two. */
  growth: 1.1,
  /** For the client of 100 models. */
  seconds: { client: 2 },
} as const satisfies {
  perModel: Record<Part, number>;
  growth: number;
  seconds: Partial<Record<Part, number>>;
};

/** The instantiations that each model added between two applications. */
export function perModel(part: Part, less: Sample, more: Sample): number {
  return (more.costs[part].instantiations - less.costs[part].instantiations) / (more.models - less.models);
}

/** One sentence for each exceeded bound. Samples are in ascending order of models. */
export function excesses(part: Part, samples: readonly Sample[]): string[] {
  const found: string[] = [];
  let before: number | null = null;
  for (const [index, sample] of samples.slice(1).entries()) {
    const added = perModel(part, samples[index] as Sample, sample);
    const where = `${part}: up to ${sample.models} models, each adds ${Math.round(added)} instantiations`;
    if (added > bounds.perModel[part]) found.push(`${where}, more than ${bounds.perModel[part]}`);
    if (before !== null && added > before * bounds.growth)
      found.push(`${where}, and ${Math.round(before)} before: more than linear`);
    before = added;
  }
  return found;
}
