import type { Cursors } from './cursor.ts';
import type { ConnectionCounts, Executor, ReadLimits } from './executor.ts';
import type { StatementWatch } from './statement-watch.ts';

/** Where the rows of GET requests are read. */
export interface Reads {
  readonly executor: Executor;
  readonly cursors: Cursors;
}

export interface ReplicaOptions {
  /** Reads from the primary. */
  readonly primary: Reads;
  readonly watch: StatementWatch;
  readonly limits: ReadLimits;
  /** Called when a replica becomes unusable, with the reason, and with null when it becomes usable. */
  readonly onChange: (replica: string, reason: string | null) => void;
}

/** Reads from replicas if they have every change that the primary has, otherwise from the primary. */
export interface ReplicaReads extends Reads {
  /** Each replica by its host and port. */
  status(): ReadonlyMap<string, ReplicaStatus>;
}

interface ReplicaStatus {
  readonly isUsable: boolean;
  readonly connections: ConnectionCounts;
}
