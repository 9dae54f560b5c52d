import type { PostgresServer } from '../bench/postgres-server.ts';

export type Kind = 'sqlite' | 'postgresql';

/** What a row is run with. */
export interface Surroundings {
  readonly root: string;
  readonly kind: Kind;
  readonly postgres: PostgresServer;
  /** Whether a row is run in its short form. */
  readonly quick: boolean;
}

export interface Seen {
  readonly seen: string;
  readonly pass: boolean;
}

export interface Row {
  readonly name: string;
  readonly must: string;
  readonly kinds: readonly Kind[];
  run(surroundings: Surroundings): Promise<Seen>;
}

export const both: readonly Kind[] = ['sqlite', 'postgresql'];

/** The milliseconds that something may take. A short run has to do with a machine that does other things as well, and does not judge speed. */
export function allowed(milliseconds: number, { quick }: Surroundings): number {
  return quick ? milliseconds * 10 : milliseconds;
}
