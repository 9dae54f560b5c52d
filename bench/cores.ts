import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

const canPin = process.platform === 'linux' && availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0;

/** Where each part runs: what is measured has a core of its own. */
export type Place = 'server' | 'load';

const cores: Record<Place, string> = { server: '0', load: '1' };

/** A command that runs where it should, or anywhere on a machine that cannot be told. */
export function pinned(place: Place, command: string, args: readonly string[]): [string, string[]] {
  return canPin ? ['taskset', ['-c', cores[place], command, ...args]] : [command, [...args]];
}

/** One line about it for the report. */
export const pinning = canPin
  ? 'server on core 0; database and load on core 1'
  : 'NOT PINNED: taskset (util-linux) and two cores are needed; these figures are rougher than they need to be';
