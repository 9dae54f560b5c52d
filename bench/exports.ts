// Compares exports of a million rows with a hand-written cursor loop: node bench/exports.ts [rows]. It is part of --full.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { serveCommand } from './contestants.ts';
import { fillPostgres } from './data/postgres.ts';
import { installDeclarest, installPeer } from './install.ts';
import { type Options, readOptions } from './options.ts';
import { startPostgres } from './postgres-server.ts';
import { cpuSeconds, residentMegabytes, type ServerProcess, startServer } from './server-process.ts';
import { spreadOf } from './statistics.ts';

const million = 1_000_000;

export interface ExportMeasurement {
  readonly name: string;
  readonly rowsPerSecond: number;
  readonly cpuPerRow: number;
  /** The peak of resident memory during the export minus that before it, in megabytes. */
  readonly growth: number;
}

/** Exports every row of a large table, alternating between hand-written code and Declarest. */
export async function measureExports(
  server: string,
  directory: string,
  options: Options,
  rows = million,
): Promise<ExportMeasurement[]> {
  console.log(`filling a table with ${rows.toLocaleString('en')} people to export`);
  const url = await fillPostgres(server, 'exported', rows);
  const people = join(import.meta.dirname, 'apps', 'people');
  const byHand = join(import.meta.dirname, 'peers', 'by-hand');
  const start = (args: readonly string[], cwd: string, probe: string) =>
    startServer({ args, cwd, env: { DATABASE_URL: url }, probe: { path: probe }, log: join(directory, 'exports.log') });
  const hand = await start([join(byHand, 'export-pg.mjs')], byHand, '/');
  const ours = await start(serveCommand(people, options), people, '/api/person/7.json');
  const works = [
    ['by hand, ndjson', hand, '/export.ndjson'],
    ['declarest, ndjson', ours, '/api/person.ndjson'],
    ['declarest, csv', ours, '/api/person.csv'],
  ] as const;
  const measured = new Map<string, ExportMeasurement[]>(works.map(([name]) => [name, []]));
  try {
    for (let round = 0; round <= Math.min(options.rounds, 3); round++) {
      for (const [name, process, path] of works) {
        const found = await measureOne(name, process, path, rows);
        if (round > 0) measured.get(name)?.push(found);
      }
    }
  } finally {
    await Promise.all([hand.stop(), ours.stop()]);
  }
  return [...measured].map(([name, found]) => ({
    name,
    rowsPerSecond: spreadOf(found.map(({ rowsPerSecond }) => rowsPerSecond)).median,
    cpuPerRow: spreadOf(found.map(({ cpuPerRow }) => cpuPerRow)).median,
    growth: Math.max(...found.map(({ growth }) => growth)),
  }));
}

async function measureOne(name: string, { pid, port }: ServerProcess, path: string, rows: number): Promise<ExportMeasurement> {
  const before = residentMegabytes(pid);
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, residentMegabytes(pid));
  }, 50);
  const cpu = cpuSeconds(pid);
  const begun = performance.now();
  const lines = await linesOf(port, path);
  const seconds = (performance.now() - begun) / 1000;
  clearInterval(watch);
  if (lines < rows) throw new Error(`${name} gave ${lines} lines for ${rows} rows`);
  return {
    name,
    rowsPerSecond: rows / seconds,
    cpuPerRow: ((cpuSeconds(pid) - cpu) * 1e6) / rows,
    growth: most - before,
  };
}

function linesOf(port: number, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      let lines = 0;
      response.on('data', (piece: Buffer) => {
        for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) lines++;
      });
      response.on('close', () => (response.complete ? resolve(lines) : reject(new Error(`${path} broke off`))));
    }).on('error', reject);
  });
}

export function exportTable(measured: readonly ExportMeasurement[]): string {
  const [hand] = measured;
  const lines = measured.map(({ name, rowsPerSecond, cpuPerRow, growth }) => {
    const ratio = (rowsPerSecond / (hand?.rowsPerSecond ?? rowsPerSecond)).toFixed(2);
    return `| ${name} | ${Math.round(rowsPerSecond).toLocaleString('en')} | ${ratio} | ${cpuPerRow.toFixed(1)} | ${growth.toFixed(0)} |`;
  });
  return ['| export | rows/s | of by hand | CPU µs/row | MB more at most |', '| --- | --- | --- | --- | --- |', ...lines].join(
    '\n',
  );
}

if (process.argv[1] === import.meta.filename) {
  const options = readOptions(['--rounds', '2']) as Options;
  installPeer('by-hand');
  installDeclarest(undefined);
  const directory = mkdtempSync('/tmp/declarest-bench-');
  chmodSync(directory, 0o755);
  process.once('exit', () => rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
  const postgres = await startPostgres(directory);
  try {
    console.log(exportTable(await measureExports(postgres.url, directory, options, Number(process.argv[2] ?? million))));
  } finally {
    await postgres.stop();
  }
}
