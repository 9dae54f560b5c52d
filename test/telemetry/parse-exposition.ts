/** One value of a metric. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ParsedFamily {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly samples: Sample[];
}

/**
 * Reads the text format of Prometheus, version 0.0.4, more strictly than Prometheus does: every metric has one HELP and one TYPE
 * right before its samples, no series comes twice, counters end in _total, and histograms add up.
 */
export function parseExposition(text: string): Map<string, ParsedFamily> {
  if (!text.endsWith('\n') || text.endsWith('\n\n')) throw new Error('must end with one line feed');
  const families = new Map<string, ParsedFamily>();
  const seen = new Set<string>();
  let current: ParsedFamily | null = null;
  let help: { name: string; text: string } | null = null;
  for (const line of text.slice(0, -1).split('\n')) {
    // between two metrics
    if (line === '' && !help) continue;
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line);
    if (comment) {
      const [, kind, name = '', rest = ''] = comment;
      if (kind === 'HELP') {
        if (help) throw new Error(`HELP without TYPE: ${help.name}`);
        if (/\\(?![\\n])/.test(rest)) throw new Error(`bad escape in: ${line}`);
        help = { name, text: rest };
        continue;
      }
      if (help?.name !== name) throw new Error(`TYPE without its HELP: ${line}`);
      if (!['counter', 'gauge', 'histogram'].includes(rest)) throw new Error(`unknown type: ${line}`);
      if (families.has(name)) throw new Error(`told twice: ${name}`);
      if ((rest === 'counter') !== name.endsWith('_total')) throw new Error(`name and type do not fit: ${line}`);
      current = { name, help: help.text, type: rest, samples: [] };
      families.set(name, current);
      help = null;
      continue;
    }
    const sample = parseSample(line);
    const suffixes = current?.type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    if (help || !current || !suffixes.some((suffix) => sample.name === `${current?.name}${suffix}`))
      throw new Error(`a sample out of place: ${line}`);
    const series = `${sample.name} ${JSON.stringify(Object.entries(sample.labels).sort())}`;
    if (seen.has(series)) throw new Error(`a series twice: ${line}`);
    seen.add(series);
    if (current.type !== 'gauge' && !(sample.value >= 0)) throw new Error(`less than nothing: ${line}`);
    current.samples.push(sample);
  }
  if (help) throw new Error(`HELP without TYPE: ${help.name}`);
  for (const family of families.values()) if (family.type === 'histogram') checkHistogram(family);
  return families;
}

function parseSample(line: string): Sample {
  const found = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
  if (!found) throw new Error(`no sample: ${line}`);
  const [, name = '', inner = '', number = ''] = found;
  const labels: Record<string, string> = {};
  for (let rest = inner; rest !== ''; ) {
    const label = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,(?=.)|$)/.exec(rest);
    if (!label) throw new Error(`bad labels: ${line}`);
    const [whole, key = '', value = ''] = label;
    if (key in labels) throw new Error(`a label twice: ${line}`);
    labels[key] = value.replace(/\\(.)/g, (_, sign: string) => (sign === 'n' ? '\n' : sign));
    rest = rest.slice(whole.length);
  }
  if (!/^-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/.test(number)) throw new Error(`no number: ${line}`);
  return { name, labels, value: Number(number) };
}

function checkHistogram({ name, samples }: ParsedFamily): void {
  const bySeries = Map.groupBy(samples, ({ labels: { le: _, ...labels } }) => JSON.stringify(Object.entries(labels).sort()));
  for (const [series, own] of bySeries) {
    const buckets = own.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) => (labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le)));
    const rising = (values: number[], may: (a: number, b: number) => boolean) =>
      values.every((value, i) => i === 0 || may(values[i - 1] as number, value));
    if (bounds.at(-1) !== Number.POSITIVE_INFINITY || !rising(bounds, (a, b) => a < b))
      throw new Error(`bounds of ${name} ${series}`);
    if (
      !rising(
        buckets.map(({ value }) => value),
        (a, b) => a <= b,
      )
    )
      throw new Error(`buckets of ${name} ${series}`);
    const count = own.find((sample) => sample.name === `${name}_count`)?.value;
    if (count !== buckets.at(-1)?.value) throw new Error(`count of ${name} ${series}`);
    if (own.filter((sample) => sample.name === `${name}_sum`).length !== 1) throw new Error(`sum of ${name} ${series}`);
  }
}

/** The value of a series, told by some of its labels; several are added up, and none is 0. */
export function total(families: Map<string, ParsedFamily>, name: string, labels: Record<string, string> = {}): number {
  const family = families.get(name.replace(/_(?:bucket|sum|count)$/, '')) ?? families.get(name);
  return (family?.samples ?? [])
    .filter((sample) => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value))
    .reduce((sum, { value }) => sum + value, 0);
}
