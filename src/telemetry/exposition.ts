/** Names and values that tell one series of a metric from another. */
export type Labels = Readonly<Record<string, string>>;

/** A metric with all its series, as Prometheus reads it. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly lines: readonly string[];
}

export const expositionType = 'text/plain; version=0.0.4; charset=utf-8';

/** A line for each value. `common` are labels that every series has. */
export function familyOf(
  { name, help, type }: Pick<Family, 'name' | 'help'> & { readonly type: 'counter' | 'gauge' },
  samples: Iterable<readonly [Labels, number]>,
  common: Labels,
): Family {
  const lines = Array.from(samples, ([labels, value]) => line(name, { ...labels, ...common }, value));
  return { name, help, type, lines };
}

export function histogramFamily(
  { name, help }: Pick<Family, 'name' | 'help'>,
  samples: Iterable<readonly [Labels, Histogram]>,
  common: Labels,
): Family {
  const lines = Array.from(samples, ([labels, histogram]) => histogram.lines(name, { ...labels, ...common })).flat();
  return { name, help, type: 'histogram', lines };
}

/** Counts durations by how long they were. */
export class Histogram {
  /** Milliseconds, and the same in seconds as they are written. */
  readonly #bounds: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  note(ms: number): void {
    const bounds = this.#bounds;
    let place = 0;
    while (place < bounds.length && ms > (bounds[place] as number)) place++;
    this.#counts[place] = (this.#counts[place] as number) + 1;
    this.#sum += ms;
  }

  lines(name: string, labels: Labels): string[] {
    const lines: string[] = [];
    let count = 0;
    for (const [place, own] of this.#counts.entries()) {
      count += own;
      const bound = this.#bounds[place];
      lines.push(line(`${name}_bucket`, { ...labels, le: bound === undefined ? '+Inf' : String(bound / 1000) }, count));
    }
    lines.push(line(`${name}_sum`, labels, this.#sum / 1000), line(`${name}_count`, labels, count));
    return lines;
  }
}

function line(name: string, labels: Labels, value: number): string {
  const written = Object.entries(labels).map(
    ([label, text]) => `${label}="${text.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"`,
  );
  // sums of fractions have digits that mean nothing
  return `${name}${written.length > 0 ? `{${written.join(',')}}` : ''} ${Math.round(value * 1e9) / 1e9}`;
}

/** All metrics of one process, or of several: those of the same name stand together. */
export function exposition(families: readonly Family[]): string {
  const byName = Map.groupBy(families, ({ name }) => name);
  const texts = Array.from(byName.values(), (same) => {
    const [{ help, name, type }] = same as [Family];
    return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...same.flatMap(({ lines }) => lines)];
  });
  return `${texts.flat().join('\n')}\n`;
}
