import { dialectOf } from '../dialect/dialect.ts';
import type { Mapper, RequestEntityManager } from './mapper.ts';
import { ownTable } from './own-table.ts';

/** The table of responses to requests with an `Idempotency-Key`, in the database of the application. */
const answerTable = 'declarest_idempotency';

/** What makes the table, on either database. */
const createAnswerTableSql: readonly string[] = Object.freeze([
  `create table if not exists ${answerTable} (id varchar(64) primary key, fingerprint varchar(64) not null, answer text, expires_at bigint not null)`,
  `create index if not exists ${answerTable}_expires_at on ${answerTable} (expires_at)`,
]);

/** A stored response, and the fingerprint of its request. */
export interface KeptResponse {
  readonly fingerprint: string;
  readonly answer: string;
}

/** Milliseconds between two removals of expired rows. */
const cleaning = 60_000;

/** The most rows that are removed at once, to keep locks short. */
const batch = 500;

/** Keeps responses in the transaction of their change. Times are milliseconds since 1970. */
export class AnswerTable {
  /** Whether the table exists. */
  readonly isThere: () => Promise<boolean>;
  readonly #mapper: Mapper;
  #cleansAt = 0;

  /** @param makes Whether the table is created if it is missing. */
  constructor(mapper: Mapper, makes: boolean) {
    this.#mapper = mapper;
    this.isThere = ownTable(mapper, answerTable, makes ? createAnswerTableSql : null);
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
  async claim(em: RequestEntityManager, id: string, fingerprint: string, expiresAt: number, now: number): Promise<boolean> {
    const rows = await em.execute(
      `insert into ${answerTable} (id, fingerprint, expires_at) values (?, ?, ?) on conflict (id) do update ` +
        `set fingerprint = excluded.fingerprint, answer = null, expires_at = excluded.expires_at ` +
        `where ${answerTable}.expires_at <= ? returning id`,
      [id, fingerprint, expiresAt, now],
    );
    return rows.length > 0;
  }

  /** Sets or replaces the response of a claimed id. */
  async keep(em: RequestEntityManager, id: string, answer: string): Promise<void> {
    await em.execute(`update ${answerTable} set answer = ? where id = ?`, [answer, id]);
  }

  /** Removes some expired rows once a minute, or with every call while there are more of them. */
  clean(now: number): void {
    if (now < this.#cleansAt) return;
    this.#cleansAt = now + cleaning;
    const some = `select id from ${answerTable} where expires_at <= ? limit ${batch}${dialectOf(this.#mapper).sql.skipLocked}`;
    this.#mapper.em
      .fork()
      .execute(`delete from ${answerTable} where id in (${some}) returning id`, [now])
      .then((removed: unknown[]) => {
        if (removed.length === batch) this.#cleansAt = 0;
      })
      // what could not be removed now is removed the next time
      .catch(() => undefined);
  }
}
