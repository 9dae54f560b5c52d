// Compares Declarest with hand-written servers and other frameworks. See README.md.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { contestantsFor, urlOf } from './contestants.ts';
import { pinning } from './cores.ts';
import { fillDatasets } from './data/datasets.ts';
import { measureDeepPaging } from './deep-paging.ts';
import { exportTable, measureExports } from './exports.ts';
import { installDeclarest, installExample, installPeer } from './install.ts';
import { connections, generator } from './load/closed-loop.ts';
import { measureManyApis } from './many-apis.ts';
import { help, type Options, readOptions } from './options.ts';
import { startPostgres } from './postgres-server.ts';
import { plot } from './report/plot.ts';
import { figureTable, startTable, verdictTable } from './report/table.ts';
import { runRounds } from './rounds.ts';
import { measureStarts } from './starts.ts';
import { judge } from './targets.ts';
import { worksOn } from './works.ts';

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

try {
  const options = readOptions(process.argv.slice(2));
  if (options) await run(options);
  else console.log(help);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function run(options: Options): Promise<void> {
  if (process.platform !== 'linux') throw new Error('the benchmark reads /proc, so it needs Linux');
  const begun = performance.now();
  const contestants = contestantsFor(options);
  const peers = [
    'by-hand',
    ...contestants.flatMap(({ peer }) => peer ?? []),
    ...(generator === 'autocannon' ? ['autocannon'] : []),
  ];
  for (const peer of new Set(peers)) installPeer(peer);
  installDeclarest(options.package);
  if (contestants.some(({ data }) => data === 'example')) installExample();

  // the account that runs PostgreSQL must be able to enter its folder
  const directory = mkdtempSync('/tmp/declarest-bench-');
  chmodSync(directory, 0o755);
  process.once('exit', () => rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
  const postgres = await startPostgres(directory);
  try {
    const urls = await fillDatasets(contestants, postgres.url, directory);
    const conditions = `${cpus()[0]?.model ?? 'unknown CPU'}, ${cpus().length} cores; Node ${process.versions.node}; ${postgres.version}; ${generator}, ${connections} connections; ${pinning}`;
    console.log(conditions);
    const rounds = await runRounds(contestants, urls, directory, options);
    const isWhole = options.only.length === 0;
    const starts = isWhole ? await measureStarts(urlOf(urls, 'people', 'postgresql'), directory, options) : [];
    const many = options.full ? await measureManyApis(directory, options) : { starts: [], measurements: [] };
    const deep = options.full ? await measureDeepPaging(postgres.url, directory, options) : [];

    const exported = options.full ? await measureExports(postgres.url, directory, options) : [];

    const measurements = [...rounds.measurements, ...many.measurements, ...deep];
    const verdicts = judge({ measurements, starts: [...starts, ...many.starts], startsOfRounds: rounds.starts });
    const minutes = ((performance.now() - begun) / 60_000).toFixed(1);
    const note = `${options.rounds} rounds of ${options.seconds} s; reads: ${options.reads}; ${rounds.compared} answers compared and found equal; ${minutes} minutes`;
    for (const data of new Set(contestants.map((contestant) => contestant.data))) {
      const own = contestants.filter((contestant) => contestant.data === data);
      console.log(`\n${figureTable(own, rounds.measurements, worksOn(data))}`);
    }
    console.log(`\n${startTable(contestants, rounds.starts, rounds.latencies)}`);
    if (exported.length > 0) console.log(`\n${exportTable(exported)}`);
    console.log(`\n${verdictTable(verdicts)}\n\n${note}`);
    save({
      conditions,
      note,
      options,
      verdicts,
      measurements,
      exported,
      latencies: rounds.latencies,
      starts: [...rounds.starts, ...starts, ...many.starts],
    });
  } finally {
    await postgres.stop();
  }
}

function save(
  results: { conditions: string; note: string; verdicts: Parameters<typeof plot>[0] } & Record<string, unknown>,
): void {
  const folder = join(import.meta.dirname, 'results');
  mkdirSync(folder, { recursive: true });
  const name = new Date().toISOString().slice(0, 19).replaceAll(':', '-');
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(results, null, 2)}\n`);
  writeFileSync(join(folder, `${name}.svg`), plot(results.verdicts, `${results.conditions}. ${results.note}`));
  console.log(`bench/results/${name}.json and .svg`);
}
