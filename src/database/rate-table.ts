import { type Dialect, dialectOf } from '../dialect/dialect.ts';
import type { Statement } from './executor.ts';
import type { Mapper } from './mapper.ts';
import { OwnTable } from './own-table.ts';
import type { Writer } from './writer.ts';

/** Requests of a caller that were counted, and when counting begins anew, in milliseconds since 1970. */
export interface Hits {
  readonly hits: number;
  readonly resetsAt: number;
}

/** What an application with several processes counts requests in. */
export const rateTable = 'declarest_rate_limit';

/** What is in it is worth nothing after a crash. */
function createRateTableSql({ sql }: Dialect): string {
  return `create ${sql.scratchTable} if not exists ${rateTable} (caller varchar(64) primary key, hits integer not null, resets_at bigint not null)`;
}

/** Counts requests in the database of the application, one statement each, so that no two processes are in each other's way. */
export class RateTable {
  readonly #table: OwnTable;
  readonly #writer: Pick<Writer, 'change'>;
  readonly #count: Statement;
  readonly #clean: Statement;

  constructor(mapper: Mapper, writer: Pick<Writer, 'change'>) {
    const dialect = dialectOf(mapper);
    this.#table = new OwnTable(mapper, rateTable, [createRateTableSql(dialect)]);
    this.#writer = writer;
    const { sql } = dialect;
    const [caller, resetsAt, now] = [sql.parameter(1), sql.typedParameter(2, 'bigint'), sql.typedParameter(3, 'bigint')];
    const isOver = `${rateTable}.resets_at <= ${now}`;
    this.#count = {
      name: 'declarest_rate_count',
      text:
        `insert into ${rateTable} (caller, hits, resets_at) values (${caller}, 1, ${resetsAt}) on conflict (caller) do update set ` +
        `hits = case when ${isOver} then 1 else ${rateTable}.hits + 1 end, ` +
        `resets_at = case when ${isOver} then excluded.resets_at else ${rateTable}.resets_at end returning hits, resets_at`,
      wide: false,
    };
    this.#clean = {
      name: 'declarest_rate_clean',
      text: `delete from ${rateTable} where resets_at <= ${sql.typedParameter(1, 'bigint')} returning 1`,
      wide: false,
    };
  }

  async hit(caller: string, window: number, now: number): Promise<Hits> {
    await this.#table.isThere();
    const [row] = await this.#writer.change([{ statement: this.#count, parameters: [caller, now + window, now] }]);
    return { hits: Number(row?.[0]), resetsAt: Number(row?.[1]) };
  }

  /** Removes whoever has asked nothing since their window was over. */
  async clean(now: number): Promise<void> {
    await this.#writer.change([{ statement: this.#clean, parameters: [now] }]);
  }
}
