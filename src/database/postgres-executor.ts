import pg from 'pg';
import type { DatabaseDeclaration } from '../declaration/types.ts';
import type { Executor, Statement } from './executor.ts';
import { closedError, lostError } from './unavailable.ts';

/** Compiled reads share a few connections, on each of which statements follow one another without waiting for answers. */
const connections = 2;

/** Statements that a connection keeps prepared; those beyond are parsed each time. */
const keptStatements = 1000;

const asText = { getTypeParser: () => (value: unknown) => value } as unknown as pg.CustomTypesConfig;

/** Text forms that the serializers know. The time zone stays the server's, as conditions of an application may depend on it. */
const settings = '-c datestyle=ISO -c bytea_output=hex -c extra_float_digits=1';

/** A prepared statement that cannot go on: its tables have changed, or somebody between us and the server has dropped it. */
const stale = new Set(['0A000', '26000', '42P05']);

interface Link {
  readonly client: Promise<pg.Client>;
  readonly prepared: Set<string>;
}

/** Sends prepared statements over pipelined connections, apart from the mapper's pool. */
export function postgresExecutor({ url, connectTimeout, preparedStatements, statementTimeout }: DatabaseDeclaration): Executor {
  const links: (Link | undefined)[] = [];
  let next = 0;
  let closed = false;

  function connect(position: number): Link {
    const client = new pg.Client({
      // a pooler that cannot have prepared statements does not take settings either
      connectionString: preparedStatements ? withSettings(url) : url,
      connectionTimeoutMillis: connectTimeout,
      ...(statementTimeout > 0 && { statement_timeout: statementTimeout }),
      pipeline: true,
    } as pg.ClientConfig);
    const connected = client.connect().then(
      () => client,
      (error: unknown) => {
        throw isLost(error) ? lostError(error) : error;
      },
    );
    const link: Link = { client: connected, prepared: new Set() };
    // another may have taken its place by then
    const forget = () => {
      if (links[position] === link) links[position] = undefined;
    };
    client.on('error', forget);
    client.on('end', forget);
    link.client.catch(forget);
    links[position] = link;
    return link;
  }

  async function send(position: number, { name, text }: Statement, values: unknown[]): Promise<unknown[][]> {
    const link = links[position] ?? connect(position);
    const client = await link.client;
    if (closed) throw closedError();
    const isKept = preparedStatements && (link.prepared.has(name) || link.prepared.size < keptStatements);
    if (isKept) link.prepared.add(name);
    try {
      const result = await client.query({ ...(isKept && { name }), text, values, rowMode: 'array', types: asText });
      return result.rows;
    } catch (error) {
      if (stale.has((error as { code?: string }).code ?? '') && links[position] === link) {
        links[position] = undefined;
        // it ends when what else was sent on it has been answered
        client.end().catch(() => undefined);
      }
      throw isLost(error) ? lostError(error) : error;
    }
  }

  return {
    format: 'text',
    async rows(statement, parameters) {
      if (closed) throw closedError();
      next = (next + 1) % connections;
      const position = next;
      const values = parameters as unknown[];
      try {
        return await send(position, statement, values);
      } catch (error) {
        if (!stale.has((error as { code?: string }).code ?? '')) throw error;
        return send(position, statement, values);
      }
    },
    async close() {
      closed = true;
      await Promise.allSettled(links.map(async (link) => (await link?.client)?.end()));
    },
  };
}

/** The address with the settings put after those that it may bring itself. */
function withSettings(url: string): string {
  const address = new URL(url);
  const own = address.searchParams.get('options');
  address.searchParams.set('options', own ? `${own} ${settings}` : settings);
  return address.href;
}

/** `pg` has no code for a connection that was lost, or did not come in time. */
function isLost(error: unknown): boolean {
  return /^(Client has encountered a connection error|Client was closed|Connection terminated|timeout expired)/.test(
    (error as Error).message,
  );
}
