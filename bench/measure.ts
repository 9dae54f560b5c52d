import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Contestant } from './contestants.ts';
import { pinned } from './cores.ts';
import type { Dialect } from './dialects.ts';
import { applyLoad, outputOf } from './load/closed-loop.ts';
import { type LoadRequest, toLines } from './load/request.ts';
import { cpuSeconds, type ServerProcess } from './server-process.ts';
import { tasksOf, type WorkName, works } from './works.ts';

/** The result of one contestant in one workload and round. */
export interface Measurement {
  readonly contestant: string;
  readonly work: string;
  readonly round: number;
  /** Tasks a second. */
  readonly rate: number;
  /** Microseconds of CPU that the server used for a task. */
  readonly cpu: number;
  /** Milliseconds, with every connection busy. */
  readonly p50: number;
  readonly p99: number;
  /** Requests with an unexpected status or without a response. */
  readonly wrong: number;
}

/** Latency at a fixed rate that every contestant can handle. */
export interface Latency {
  readonly contestant: string;
  readonly work: string;
  readonly rate: number;
  readonly p50: number | null;
  readonly p99: number | null;
  readonly failed: number;
}

const tasks = 4000;

/** Writes the requests of a workload to a file for the load generators. */
export function requestFile(directory: string, name: string, requests: readonly LoadRequest[]): string {
  const file = join(directory, `${name}.requests`);
  writeFileSync(file, toLines(requests));
  return file;
}

export function requestsOf({ ask }: Dialect, work: WorkName): LoadRequest[] {
  return tasksOf(works[work], tasks).flatMap((task) => ask[work]?.(task) ?? []);
}

export interface Load {
  readonly contestant: string;
  readonly work: string;
  readonly file: string;
  /** Requests that make one task. */
  readonly requestsPerTask?: number;
  readonly refused?: boolean;
  readonly connections?: number | undefined;
}

/** Measures a server under load. */
export async function measure(server: ServerProcess, load: Load, round: number, seconds: number): Promise<Measurement> {
  const { contestant, work, file, requestsPerTask = 1, refused = false, connections } = load;
  const before = cpuSeconds(server.pid);
  // writes come in pairs, so a load must begin with the first of a pair
  const result = await applyLoad(server.port, file, seconds, 2 * Math.floor((Math.random() * tasks) / 2), connections);
  const used = cpuSeconds(server.pid) - before;
  const done = result.requests / requestsPerTask;
  return {
    contestant,
    work,
    round,
    rate: done / result.seconds,
    cpu: (used / done) * 1e6,
    p50: result.p50,
    p99: result.p99,
    wrong: result.broken + (refused ? result.requests - result.refused : result.refused),
  };
}

export function loadOf(directory: string, { name, dialect }: Contestant, work: WorkName): Load {
  return {
    contestant: name,
    work,
    file: requestFile(directory, `${name}.${work}`, requestsOf(dialect, work)),
    requestsPerTask: dialect.asksTwice?.includes(work) ? 2 : 1,
    refused: works[work].refused ?? false,
    connections: works[work].connections,
  };
}

export async function measureLatency(server: ServerProcess, load: Load, rate: number): Promise<Latency> {
  const args = [join(import.meta.dirname, 'load', 'fixed-rate.ts'), String(server.port), String(rate), '4'];
  const output = await outputOf(...pinned('load', process.execPath, args), { REQUESTS: load.file });
  const found = /^RESULT (\{.*\})$/m.exec(output)?.[1];
  if (found === undefined) throw new Error(`the client of fixed rate failed: ${output}`);
  return { contestant: load.contestant, work: load.work, ...JSON.parse(found) };
}
