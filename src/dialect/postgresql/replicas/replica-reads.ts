import type { Cursor } from '../../../database/cursor.ts';
import { coalesced, type Statement } from '../../../database/executor.ts';
import { LruCache } from '../../../database/lru-cache.ts';
import type { ReplicaOptions, ReplicaReads } from '../../../database/replicas.ts';
import { TooLargeError } from '../../../database/too-large.ts';
import type { PostgresDatabase } from '../pooling.ts';
import type { Position } from './position.ts';
import { PrimaryLog } from './primary-log.ts';
import { Replica } from './replica.ts';
import { BehindError } from './replica-session.ts';

/** The codes of a statement that exceeded the statement timeout, and of one that a replica cannot run at all. */
const [timedOut, unsupported] = ['57014', '0A000'];

/**
 * Reads from replicas. Each read first asks the primary how far its log is, and then uses a replica that has replayed the log up
 * to there. So it sees every change that was committed before it, whichever process wrote it. A read that fails on a replica for
 * a reason of the replica is repeated on the primary.
 */
export function replicaReads(database: PostgresDatabase, { primary, ...options }: ReplicaOptions): ReplicaReads {
  const log = new PrimaryLog(database);
  const replicas = database.replicas.map((url) => new Replica({ ...database, url }, { ...options, log }));
  /** Names of statements that only the primary can run, such as those about unlogged tables. */
  const primaryOnly = new LruCache<true>(500);
  let turn = 0;

  /** The usable replica with the fewest statements; in turn if they have equally many. */
  function leastUsed(except?: Replica): Replica | null {
    turn = (turn + 1) % replicas.length;
    const inTurn = [...replicas.slice(turn), ...replicas.slice(0, turn)];
    const usable = inTurn.filter((replica) => replica.isUsable && replica !== except);
    return usable.sort((a, b) => a.underWay - b.underWay)[0] ?? null;
  }

  async function chosen(needed: Position): Promise<Replica | null> {
    const first = leastUsed();
    if (!first || (await first.catchesUp(needed))) return first;
    const second = leastUsed(first);
    return second && (await second.catchesUp(needed)) ? second : null;
  }

  /** Null if the primary has to be read. */
  async function onReplica<Result>(
    { name }: Statement,
    read: (replica: Replica, needed: Position) => Promise<Result>,
  ): Promise<Result | null> {
    if (primaryOnly.get(name) || !replicas.some(({ isUsable }) => isUsable)) return null;
    const needed = await log.position().catch(() => null);
    const replica = needed && (await chosen(needed));
    if (!replica) return null;
    try {
      return await read(replica, needed);
    } catch (error) {
      const { code, severity } = error as { code?: string; severity?: string };
      if (error instanceof TooLargeError || code === timedOut) throw error;
      if (code === unsupported && name !== '') primaryOnly.set(name, true);
      if (severity !== 'ERROR' && !(error instanceof BehindError)) replica.check();
      return null;
    }
  }

  return {
    executor: {
      format: 'text',
      rows: coalesced(
        async (statement, parameters) =>
          (await onReplica(statement, (replica, needed) => replica.rows(needed, statement, parameters))) ??
          primary.executor.rows(statement, parameters),
      ),
      underWay: () => replicas.reduce((sum, { underWay }) => sum + underWay, 0),
      async close() {
        await Promise.all([log.close(), ...replicas.map((replica) => replica.close())]);
      },
    },
    cursors: {
      async open(statement, parameters, size): Promise<Cursor> {
        // the position would have to be checked in the transaction of the cursor, but before its snapshot
        const read = database.pooling?.isPooled
          ? null
          : await onReplica(statement, (replica, needed) => replica.open(needed, statement, parameters, size));
        return read ?? primary.cursors.open(statement, parameters, size);
      },
      close: async () => undefined,
    },
    status: () => new Map(replicas.map(({ connections, isUsable, name }) => [name, { isUsable, connections }])),
  };
}
