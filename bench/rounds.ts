import { join } from 'node:path';
import { checkAgreement } from './agreement.ts';
import { type Contestant, environmentFor, type Urls, worksFor } from './contestants.ts';
import { resetDataset, tidyDatasets } from './data/datasets.ts';
import { type Latency, type Load, loadOf, type Measurement, measure, measureLatency } from './measure.ts';
import type { Options } from './options.ts';
import { residentMegabytes, type ServerProcess, startServer } from './server-process.ts';
import { type WorkName, works } from './works.ts';

export interface Start {
  readonly contestant: string;
  readonly round: number;
  /** Milliseconds from start to first response. */
  readonly boot: number;
  /** Megabytes after the round's load. */
  readonly memory: number;
}

export interface Rounds {
  readonly measurements: readonly Measurement[];
  readonly latencies: readonly Latency[];
  readonly starts: readonly Start[];
  readonly compared: number;
}

interface Running {
  readonly contestant: Contestant;
  readonly server: ServerProcess;
  readonly loads: ReadonlyMap<WorkName, Load>;
}

/**
 * All contestants run at the same time, but only one gets load. In each round, every contestant runs each workload within
 * seconds of the others. The order differs from round to round.
 */
export async function runRounds(
  contestants: readonly Contestant[],
  urls: Urls,
  directory: string,
  options: Options,
): Promise<Rounds> {
  const measurements: Measurement[] = [];
  const latencies: Latency[] = [];
  const starts: Start[] = [];
  let compared = 0;
  let running: Running[] = [];
  const names = Object.keys(works) as WorkName[];

  const stop = async () => {
    for (const { server } of running) await server.stop();
    running = [];
  };
  try {
    for (let round = 1; round <= options.rounds; round++) {
      if (running.length === 0) {
        running = await startAll(contestants, urls, directory, options);
        if (round === 1) compared = await agree(running);
        for (const { server, loads } of running) await warm(server, loads, options);
      }
      await tidyDatasets(urls);
      const order = rotated(running, round);
      for (const name of names) {
        for (const { contestant, server, loads } of order) {
          const load = loads.get(name);
          if (!load) continue;
          if (works[name].creates) await resetDataset(urls, contestant.data, contestant.database);
          const measured = await measure(server, load, round, options.seconds);
          measurements.push(measured);
          print(measured);
          const { fixedRate } = works[name];
          if (round === 1 && fixedRate && !options.quick) latencies.push(await measureLatency(server, load, fixedRate));
        }
      }
      for (const { contestant, server } of running) {
        starts.push({ contestant: contestant.name, round, boot: server.boot, memory: residentMegabytes(server.pid) });
      }
      // the speed of a process differs from start to start, so each round starts new ones
      if (!options.quick) await stop();
    }
  } finally {
    await stop();
  }
  return { measurements, latencies, starts, compared };
}

async function startAll(contestants: readonly Contestant[], urls: Urls, directory: string, options: Options): Promise<Running[]> {
  const running: Running[] = [];
  try {
    for (const contestant of contestants) {
      const log = join(directory, `${contestant.name}.log`);
      const server = await startServer({ ...contestant.command, env: environmentFor(urls, contestant), log });
      const loads = new Map(worksFor(options, contestant).map((name) => [name, loadOf(directory, contestant, name)] as const));
      running.push({ contestant, server, loads });
    }
  } catch (error) {
    for (const { server } of running) await server.stop();
    throw error;
  }
  return running;
}

async function agree(running: readonly Running[]): Promise<number> {
  return checkAgreement(
    running.map(({ contestant, server, loads }) => ({ contestant, port: server.port, works: [...loads.keys()] })),
  );
}

/** V8 goes on optimizing the code of a server for tens of thousands of requests, and takes CPU time of the server for that. */
async function warm(server: ServerProcess, loads: Running['loads'], { quick, seconds }: Options): Promise<void> {
  for (const load of loads.values()) await measure(server, load, 0, quick ? 1 : Math.max(seconds, 3));
}

function rotated<Item>(items: readonly Item[], by: number): Item[] {
  const start = by % Math.max(items.length, 1);
  return [...items.slice(start), ...items.slice(0, start)];
}

function print({ contestant, work, round, rate, cpu, p99, wrong }: Measurement): void {
  const figures = `${rate.toFixed(0).padStart(7)}/s ${cpu.toFixed(0).padStart(6)} µs p99 ${p99.toFixed(1)} ms`;
  console.log(`round ${round}  ${work.padEnd(5)} ${contestant.padEnd(24)} ${figures}${wrong ? `  ${wrong} WRONG ANSWERS` : ''}`);
}
