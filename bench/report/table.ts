import type { Contestant } from '../contestants.ts';
import type { Latency, Measurement } from '../measure.ts';
import type { Start } from '../rounds.ts';
import { spreadOf } from '../statistics.ts';
import type { Verdict } from '../targets.ts';
import type { WorkName } from '../works.ts';

/** Every target with its result. */
export function verdictTable(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ title, ratio, least, most, met, rounds }) => [
    title,
    `${figure(ratio.median)} (${figure(ratio.low)} to ${figure(ratio.high)})`,
    least !== undefined ? `≥ ${least}` : most !== undefined ? `≤ ${most}` : '',
    met === null ? '' : met ? 'met' : 'NOT MET',
    String(rounds),
  ]);
  return table(['ratio, median of the rounds (lowest to highest)', 'reached', 'target', '', 'rounds'], rows);
}

/** Every contestant in every workload: tasks a second, and CPU of the server for each task. */
export function figureTable(
  contestants: readonly Contestant[],
  measurements: readonly Measurement[],
  names: readonly WorkName[],
): string {
  const used = names.filter((name) => measurements.some(({ work }) => work === name));
  const rows = contestants.map(({ name, title }) => [
    title,
    ...used.map((work) => {
      const own = measurements.filter((each) => each.contestant === name && each.work === work);
      if (own.length === 0) return '–';
      const wrong = own.reduce((sum, each) => sum + each.wrong, 0);
      const rate = Math.round(spreadOf(own.map((each) => each.rate)).median).toLocaleString('en');
      const cpu = spreadOf(own.map((each) => each.cpu)).median.toFixed(0);
      return `${rate} · ${cpu} µs${wrong ? ` · ${wrong} WRONG` : ''}`;
    }),
  ]);
  return table(['requests/s · server CPU each', ...used], rows);
}

export function startTable(contestants: readonly Contestant[], starts: readonly Start[], latencies: readonly Latency[]): string {
  const works = [...new Set(latencies.map(({ work }) => work))];
  const rows = contestants.flatMap(({ name, title }) => {
    const own = starts.filter(({ contestant }) => contestant === name);
    if (own.length === 0) return [];
    const median = (key: 'boot' | 'memory') => spreadOf(own.map((start) => start[key])).median.toFixed(0);
    const latency = works.map((work) => {
      const found = latencies.find((each) => each.contestant === name && each.work === work);
      return found
        ? `${found.p50?.toFixed(2) ?? '–'} / ${found.p99?.toFixed(2) ?? '–'}${found.failed ? ` (${found.failed} failed)` : ''}`
        : '–';
    });
    return [[title, median('boot'), median('memory'), ...latency]];
  });
  const rates = works.map((work) => `${work} p50 / p99 ms at ${latencies.find((each) => each.work === work)?.rate}/s`);
  return table(['', 'boot ms', 'MB after load', ...rates], rows);
}

function figure(number: number): string {
  return number >= 100 ? number.toFixed(0) : number.toFixed(2);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
