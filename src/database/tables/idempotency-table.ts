import { dialectOf } from '../../dialect/dialect.ts';
import type { Mapper, RequestEntityManager } from '../mapper.ts';
import type { Writer } from '../writer.ts';
import { RemovalTimer, removalOf, removalStep } from './expired-rows.ts';
import { ownTable } from './own-table.ts';

/** The table of responses to requests with an `Idempotency-Key`, in the database of the application. */
const tableName = 'declarest_idempotency';

/** Creates the table, on both databases. */
const createTableSql: readonly string[] = Object.freeze([
  `create table if not exists ${tableName} (id varchar(64) primary key, caller varchar(64) not null, ` +
    'fingerprint varchar(64) not null, answer text, bytes integer not null, expires_at bigint not null)',
  `create index if not exists ${tableName}_expires_at on ${tableName} (expires_at)`,
  `create index if not exists ${tableName}_caller on ${tableName} (caller, bytes)`,
]);

const laterColumns = Object.freeze({
  columns: 'caller, bytes',
  statements: Object.freeze([
    `alter table ${tableName} add column caller varchar(64) not null default ''`,
    `alter table ${tableName} add column bytes integer not null default 0`,
  ]),
});

/** Milliseconds. No response is stored longer, so a row that expires later was written while a clock was wrong. */
const maxTtl = 2_592_000_000;

/** A stored response, and the fingerprint of its request. */
export interface IdempotencyRow {
  readonly fingerprint: string;
  readonly answer: string;
}

/** A request that claims a row. */
export interface Claim {
  readonly id: string;
  readonly caller: string;
  readonly fingerprint: string;
}

/** Stores responses in the transaction of their change. Times are milliseconds since 1970. */
export class IdempotencyTable {
  /** Whether the table exists. */
  readonly isThere: () => Promise<boolean>;

  /** @param creates Whether the table is created if it is missing. */
  constructor(mapper: Mapper, creates: boolean) {
    this.isThere = ownTable(mapper, tableName, creates ? createTableSql : null, laterColumns);
  }

  /** The stored response of an id. */
  async find(em: RequestEntityManager, id: string, now: number): Promise<IdempotencyRow | null> {
    const sql = `select fingerprint, answer from ${tableName} where id = ? and expires_at > ? and answer is not null`;
    const [row] = await em.execute<IdempotencyRow[]>(sql, [id, now]);
    return row ?? null;
  }

  /**
   * Claims an id for the transaction of the entity manager. Other transactions that claim it wait until this one ends. Returns
   * false if a response is stored already.
   */
  async claim(em: RequestEntityManager, { caller, fingerprint, id }: Claim, expiresAt: number, now: number): Promise<boolean> {
    const rows = await em.execute(
      `insert into ${tableName} (id, caller, fingerprint, bytes, expires_at) values (?, ?, ?, 0, ?) on conflict (id) do update ` +
        `set fingerprint = excluded.fingerprint, answer = null, bytes = 0, expires_at = excluded.expires_at ` +
        `where ${tableName}.expires_at <= ? returning id`,
      [id, caller, fingerprint, expiresAt, now],
    );
    return rows.length > 0;
  }

  /** Sets or replaces the response of a claimed id. */
  async keep(em: RequestEntityManager, id: string, answer: string): Promise<void> {
    await em.execute(`update ${tableName} set answer = ?, bytes = ? where id = ?`, [answer, Buffer.byteLength(answer), id]);
  }

  /** The bytes that are stored for a caller; null: for all callers. */
  async bytes(em: RequestEntityManager, caller: string | null): Promise<number> {
    const sum = `select coalesce(sum(bytes), 0) as bytes from ${tableName}`;
    const [row] = await (caller === null ? em.execute(sum) : em.execute(`${sum} where caller = ?`, [caller]));
    return Number(row?.bytes);
  }
}

/** The number of removals that are skipped while the table is missing: about an hour. */
const skippedRemovals = 59;

/** Removes expired responses, also if no requests with keys arrive. */
export function removeExpiredResponses(mapper: Mapper, writer: Pick<Writer, 'change'>): RemovalTimer {
  const exists = ownTable(mapper, tableName, null, laterColumns);
  const statement = removalOf(dialectOf(mapper), 'declarest_idempotency_clean', {
    table: tableName,
    key: 'id',
    time: 'expires_at',
  });
  let toSkip = 0;
  return new RemovalTimer(async () => {
    if (toSkip-- > 0) return false;
    toSkip = (await exists()) ? 0 : skippedRemovals;
    if (toSkip > 0) return false;
    const now = Date.now();
    const removed = await writer.change([{ statement, parameters: [now, now + maxTtl] }]);
    return removed.length === removalStep;
  });
}
