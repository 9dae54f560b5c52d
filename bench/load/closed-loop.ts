import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pinned } from '../cores.ts';

/** The result of load on connections that are always busy. */
export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** Responses with status 400 and above. */
  readonly refused: number;
  /** Requests without a response. */
  readonly broken: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

export const connections = 64;

const hasWrk = spawnSync('wrk', ['--version']).error === undefined;
export const generator = hasWrk ? 'wrk' : 'autocannon';

/** Repeats the requests of a file until the time is over, one at a time on each connection. */
export async function applyLoad(
  port: number,
  file: string,
  seconds: number,
  offset: number,
  busy = connections,
): Promise<LoadResult> {
  const url = `http://127.0.0.1:${port}`;
  const [command, args]: [string, string[]] = hasWrk
    ? ['wrk', ['-t1', `-c${busy}`, `-d${seconds}s`, '--timeout', '10s', '-s', join(import.meta.dirname, 'requests.lua'), url]]
    : [process.execPath, [join(import.meta.dirname, 'autocannon-client.ts'), url, String(busy), String(seconds)]];
  const output = await outputOf(...pinned('load', command, args), { REQUESTS: file, OFFSET: String(offset) });
  const result = /^RESULT (\{.*\})$/m.exec(output)?.[1];
  if (result === undefined) throw new Error(`${command} failed: ${output}`);
  return JSON.parse(result);
}

/** Runs a command to its end, and returns its output. */
export function outputOf(command: string, args: readonly string[], env: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.on('error', reject);
    child.on('close', () => resolve(output));
  });
}
