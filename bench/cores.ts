import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

const canPin = process.platform === 'linux' && availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0;

/** The measured server has a core of its own; everything else shares the other. */
export type Place = 'server' | 'load';

const cores: Record<Place, string> = { server: '0', load: '1' };

/** A command pinned to its core, or unchanged if the machine cannot pin processes. */
export function pinned(place: Place, command: string, args: readonly string[]): [string, string[]] {
  return canPin ? ['taskset', ['-c', cores[place], command, ...args]] : [command, [...args]];
}

/** A line about the cores for the report. */
export const pinning = canPin
  ? 'server on core 0; database and load on core 1'
  : 'NOT PINNED: taskset (util-linux) and two cores are needed; these figures are rougher than they need to be';
