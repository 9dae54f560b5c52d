import { dialectOf } from '../../dialect/dialect.ts';
import type { Statement } from '../executor.ts';
import type { Mapper } from '../mapper.ts';
import type { Writer } from '../writer.ts';
import { removalOf, removalStep } from './expired-rows.ts';
import { ownTable } from './own-table.ts';

/** The counted requests of a caller, and when counting starts again, in milliseconds since 1970. */
export interface Hits {
  readonly hits: number;
  readonly resetsAt: number;
}

/** The table in which several processes count requests. */
const rateTable = 'declarest_rate_limit';

/** Milliseconds. No window is longer, so a row that ends later was written while a clock was wrong. */
const maxWindow = 86_400_000;

/** Counts requests in the application's database, by one statement each: processes do not conflict. Times are milliseconds. */
export interface RateTable {
  hit(caller: string, window: number, now: number): Promise<Hits>;
  /** Removes some callers whose window is over; true if there may be more of them. */
  clean(now: number): Promise<boolean>;
}

export function createRateTable(mapper: Mapper, writer: Pick<Writer, 'change'>): RateTable {
  const dialect = dialectOf(mapper);
  const { sql } = dialect;
  // its rows need not survive a crash
  const exists = ownTable(mapper, rateTable, [
    `create ${sql.scratchTable} if not exists ${rateTable} (caller varchar(64) primary key, hits integer not null, resets_at bigint not null)`,
  ]);
  const [caller, resetsAt, now] = [sql.parameter(1), sql.typedParameter(2, 'bigint'), sql.typedParameter(3, 'bigint')];
  const isOver = `${rateTable}.resets_at <= ${now}`;
  const count: Statement = {
    name: 'declarest_rate_count',
    // after a clock was set back, the rest of a window is at most one whole window
    text:
      `insert into ${rateTable} (caller, hits, resets_at) values (${caller}, 1, ${resetsAt}) on conflict (caller) do update set ` +
      `hits = case when ${isOver} then 1 else ${rateTable}.hits + 1 end, ` +
      `resets_at = case when ${isOver} or ${rateTable}.resets_at > excluded.resets_at then excluded.resets_at ` +
      `else ${rateTable}.resets_at end returning hits, resets_at`,
    wide: false,
  };
  const clean = removalOf(dialect, 'declarest_rate_clean', { table: rateTable, key: 'caller', time: 'resets_at' });
  let indexed: Promise<unknown> | null = null;
  /** Separate from the table, which may exist without it. A database user that may not create the index works without it. */
  const addIndex = () =>
    mapper.em
      .fork({ freshEventManager: true })
      .execute(`create index if not exists ${rateTable}_resets_at on ${rateTable} (resets_at)`)
      .catch(() => undefined);
  return {
    async hit(callerId, window, time) {
      await exists();
      const [row] = await writer.change([{ statement: count, parameters: [callerId, time + window, time] }]);
      return { hits: Number(row?.[0]), resetsAt: Number(row?.[1]) };
    },
    async clean(time) {
      await exists();
      indexed ??= addIndex();
      await indexed;
      const removed = await writer.change([{ statement: clean, parameters: [time, time + maxWindow] }]);
      return removed.length === removalStep;
    },
  };
}
