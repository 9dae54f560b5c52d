import type { Statement } from '../../../database/executor.ts';

/** A position in the write-ahead log. */
export interface Position {
  /** The cluster and its timeline. Positions of different histories cannot be compared. */
  readonly history: string;
  readonly lsn: bigint;
}

/**
 * Selects a position that is not before the end of any commit that a client knows of. Without `synchronous_commit`,
 * clients get the response before the log is flushed.
 */
export const primaryPosition: Statement = {
  name: 'declarest_primary_position',
  text: `select system_identifier::text || ' ' || substr(pg_walfile_name(lsn), 1, 8), lsn
    from pg_control_system(), (select case current_setting('synchronous_commit')
      when 'off' then pg_current_wal_insert_lsn() else pg_current_wal_flush_lsn() end) as log (lsn)`,
  wide: false,
};

/** Selects what a replica has replayed. A later statement on the same connection sees all of that. */
export const replicaPosition: Statement = {
  name: 'declarest_replica_position',
  text: `select system_identifier::text || ' ' || lpad(upper(to_hex(timeline_id)), 8, '0'), pg_last_wal_replay_lsn()
    from pg_control_system(), pg_control_checkpoint() where pg_is_in_recovery()`,
  wide: false,
};

/** The position in the first row; null if the server is not a replica, or replays no log. */
export function positionIn([row]: readonly unknown[][]): Position | null {
  const [history, lsn] = (row ?? []) as (string | null | undefined)[];
  return history && lsn ? { history, lsn: parseLsn(lsn) } : null;
}

/** Whether a position has everything up to another one. */
export function includes(position: Position | null, needed: Position): boolean {
  return position !== null && position.history === needed.history && position.lsn >= needed.lsn;
}

/** `16/B374D848`: two numbers of 32 bits in hexadecimal. */
function parseLsn(text: string): bigint {
  const [high, low] = text.split('/');
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`);
}
