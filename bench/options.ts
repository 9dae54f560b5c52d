import { parseArgs } from 'node:util';

export interface Options {
  /** Only the contestants and workloads of the main ratios. */
  readonly quick: boolean;
  /** Adds slow measurements: two million rows, two hundred APIs, exports of a million rows. */
  readonly full: boolean;
  /** Names of contestants and workloads, or their beginnings; empty means all. */
  readonly only: readonly string[];
  readonly rounds: number;
  /** Seconds of load for each contestant, workload and round. */
  readonly seconds: number;
  /** How Declarest reads: its default, or one store forced for comparison. */
  readonly reads: 'default' | 'compiled' | 'entities';
  /** A package that was built before, to measure instead of the sources. */
  readonly package: string | undefined;
  /** Writes a CPU profile of each Declarest server to this folder. */
  readonly profile: string | undefined;
}

export const help = `npm run bench -- [options]

  --quick            hand-written code and Declarest only, and of their works the main ones; a few minutes
  --full             adds paging through 2,000,000 rows and an application with 200 APIs
  --only a,b         only contestants or works whose names begin so; ratios need both sides of them
  --rounds N         default 5
  --seconds N        of load for each contestant, work and round; default 4, with --quick 1
  --reads MODE       compiled or entities: how Declarest reads, whatever its default is
  --package DIR      measures the package that was built into DIR (npm run build), not the sources
  --profile DIR      writes a CPU profile of every Declarest server to DIR
`;

export function readOptions(args: readonly string[]): Options | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      full: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      reads: { type: 'string', default: 'default' },
      package: { type: 'string' },
      profile: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return null;
  return {
    quick: values.quick,
    full: values.full,
    only: values.only.flatMap((names) => names.split(',')),
    rounds: positive('rounds', values.rounds ?? '5'),
    seconds: positive('seconds', values.seconds ?? (values.quick ? '1' : '4')),
    reads: modeOf(values.reads),
    package: values.package,
    profile: values.profile,
  };
}

function positive(name: string, text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new Error(`--${name} is "${text}"; give a positive integer`);
}

function modeOf(text: string): Options['reads'] {
  if (text === 'default' || text === 'compiled' || text === 'entities') return text;
  throw new Error(`--reads is "${text}"; give compiled or entities`);
}
