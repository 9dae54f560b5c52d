import pg from 'pg';
import type { DatabaseDeclaration } from '../declaration/types.ts';
import type { Executor } from './executor.ts';

/** Compiled reads share a few connections, on each of which statements follow one another without waiting for answers. */
const connections = 2;

const asText = { getTypeParser: () => (value: unknown) => value } as unknown as pg.CustomTypesConfig;

/** Sends prepared statements over pipelined connections, apart from the mapper's pool. */
export function postgresExecutor({ url, connectTimeout, statementTimeout }: DatabaseDeclaration): Executor {
  const clients: (Promise<pg.Client> | undefined)[] = [];
  let next = 0;
  let closed = false;

  async function connect(position: number): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: connectTimeout,
      // text forms of dates and times that the serializers know
      options: '-c timezone=UTC -c datestyle=ISO -c bytea_output=hex -c intervalstyle=postgres -c extra_float_digits=1',
      ...(statementTimeout > 0 && { statement_timeout: statementTimeout }),
      pipeline: true,
    } as pg.ClientConfig);
    const forget = () => {
      clients[position] = undefined;
    };
    client.on('error', forget);
    client.on('end', forget);
    try {
      await client.connect();
    } catch (error) {
      forget();
      throw error;
    }
    return client;
  }

  return {
    format: 'text',
    async rows({ name, text }, parameters) {
      if (closed) throw new Error('the database was closed');
      next = (next + 1) % connections;
      clients[next] ??= connect(next);
      const client = await (clients[next] as Promise<pg.Client>);
      const result = await client.query({ name, text, values: parameters as unknown[], rowMode: 'array', types: asText });
      return result.rows;
    },
    async close() {
      closed = true;
      await Promise.allSettled(clients.map(async (client) => (await client)?.end()));
    },
  };
}
