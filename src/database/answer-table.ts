import { dialectOf } from '../dialect/dialect.ts';
import { RemovalTimer, removalOf, removalStep } from './expired-rows.ts';
import type { Mapper, RequestEntityManager } from './mapper.ts';
import { ownTable } from './own-table.ts';
import type { Writer } from './writer.ts';

/** The table of responses to requests with an `Idempotency-Key`, in the database of the application. */
const answerTable = 'declarest_idempotency';

/** What makes the table, on either database. */
const createAnswerTableSql: readonly string[] = Object.freeze([
  `create table if not exists ${answerTable} (id varchar(64) primary key, caller varchar(64) not null, ` +
    'fingerprint varchar(64) not null, answer text, bytes integer not null, expires_at bigint not null)',
  `create index if not exists ${answerTable}_expires_at on ${answerTable} (expires_at)`,
  `create index if not exists ${answerTable}_caller on ${answerTable} (caller, bytes)`,
]);

const laterColumns = Object.freeze({
  columns: 'caller, bytes',
  statements: Object.freeze([
    `alter table ${answerTable} add column caller varchar(64) not null default ''`,
    `alter table ${answerTable} add column bytes integer not null default 0`,
  ]),
});

/** No response is kept longer. A row that expires later was made while a clock was wrong. */
const longestTtl = 2_592_000_000;

/** A stored response, and the fingerprint of its request. */
export interface KeptResponse {
  readonly fingerprint: string;
  readonly answer: string;
}

/** What a row is claimed for. */
export interface Claim {
  readonly id: string;
  readonly caller: string;
  readonly fingerprint: string;
}

/** Keeps responses in the transaction of their change. Times are milliseconds since 1970. */
export class AnswerTable {
  /** Whether the table exists. */
  readonly isThere: () => Promise<boolean>;

  /** @param makes Whether the table is created if it is missing. */
  constructor(mapper: Mapper, makes: boolean) {
    this.isThere = ownTable(mapper, answerTable, makes ? createAnswerTableSql : null, laterColumns);
  }

  /** The response that is kept under an id. */
  async find(em: RequestEntityManager, id: string, now: number): Promise<KeptResponse | null> {
    const sql = `select fingerprint, answer from ${answerTable} where id = ? and expires_at > ? and answer is not null`;
    const [row] = await em.execute<KeptResponse[]>(sql, [id, now]);
    return row ?? null;
  }

  /**
   * Claims an id for the transaction of the entity manager. Other transactions that claim it wait for the end of this one. False: there
   * is a response already.
   */
  async claim(em: RequestEntityManager, { caller, fingerprint, id }: Claim, expiresAt: number, now: number): Promise<boolean> {
    const rows = await em.execute(
      `insert into ${answerTable} (id, caller, fingerprint, bytes, expires_at) values (?, ?, ?, 0, ?) on conflict (id) do update ` +
        `set fingerprint = excluded.fingerprint, answer = null, bytes = 0, expires_at = excluded.expires_at ` +
        `where ${answerTable}.expires_at <= ? returning id`,
      [id, caller, fingerprint, expiresAt, now],
    );
    return rows.length > 0;
  }

  /** Sets or replaces the response of a claimed id. */
  async keep(em: RequestEntityManager, id: string, answer: string): Promise<void> {
    await em.execute(`update ${answerTable} set answer = ?, bytes = ? where id = ?`, [answer, Buffer.byteLength(answer), id]);
  }

  /** The bytes that are stored for a caller; null: for all of them. */
  async bytes(em: RequestEntityManager, caller: string | null): Promise<number> {
    const sum = `select coalesce(sum(bytes), 0) as bytes from ${answerTable}`;
    const [row] = await (caller === null ? em.execute(sum) : em.execute(`${sum} where caller = ?`, [caller]));
    return Number(row?.bytes);
  }
}

/** Removals that are left out while there is no table: about an hour. */
const leftOut = 59;

/** Removes expired responses, whether or not there are requests with keys. */
export function removeExpiredAnswers(mapper: Mapper, writer: Pick<Writer, 'change'>): RemovalTimer {
  const exists = ownTable(mapper, answerTable, null, laterColumns);
  const statement = removalOf(dialectOf(mapper), 'declarest_idempotency_clean', {
    table: answerTable,
    key: 'id',
    time: 'expires_at',
  });
  let toLeaveOut = 0;
  return new RemovalTimer(async () => {
    if (toLeaveOut-- > 0) return false;
    toLeaveOut = (await exists()) ? 0 : leftOut;
    if (toLeaveOut > 0) return false;
    const now = Date.now();
    const removed = await writer.change([{ statement, parameters: [now, now + longestTtl] }]);
    return removed.length === removalStep;
  });
}
