import type { PostgresServer } from '../bench/postgres-server.ts';

export type Kind = 'sqlite' | 'postgresql';

/** The environment in which a row runs. */
export interface Surroundings {
  readonly root: string;
  readonly kind: Kind;
  readonly postgres: PostgresServer;
  /** Whether rows run in their short form. */
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

/** A time limit in milliseconds. The short form runs on busy machines and does not judge speed, so its limits are longer. */
export function allowed(milliseconds: number, { quick }: Surroundings): number {
  return quick ? milliseconds * 10 : milliseconds;
}
