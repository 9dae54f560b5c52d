// Connections to PostgreSQL, and how statements are sent over them.
import pg from 'pg';

// A date has no time of day: responses have its text.
pg.types.setTypeParser(pg.types.builtins.DATE, (text) => text);

const connectionString = process.env.DATABASE_URL ?? '';
export const pool = new pg.Pool({ connectionString, max: 10 });

/** Reads use these connections if PIPELINED is set, otherwise the pool, as writes do. */
const pipelined = await Promise.all(
  Array.from({ length: Number(process.env.PIPELINED ?? 0) }, async () => {
    const client = new pg.Client({ connectionString, pipeline: true } as pg.ClientConfig);
    await client.connect();
    return client;
  }),
);
let turn = 0;

type Rows<Row> = Promise<Row[]>;

export async function send<Row>(target: pg.Pool | pg.ClientBase, name: string, text: string, values: unknown[]): Rows<Row> {
  return (await target.query({ name, text, values })).rows as Row[];
}

export function read<Row>(name: string, text: string): (...values: unknown[]) => Rows<Row> {
  if (pipelined.length === 0) return (...values) => send(pool, name, text, values);
  return (...values) => {
    turn = (turn + 1) % pipelined.length;
    return send(pipelined[turn] as pg.Client, name, text, values);
  };
}

export function write<Row>(name: string, text: string): (...values: unknown[]) => Rows<Row> {
  return (...values) => send(pool, name, text, values);
}

/** Runs a function in a transaction on one connection, and commits unless it throws. */
export async function inTransaction<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}
