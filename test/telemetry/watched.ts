import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { loadApplication } from '../../src/application.ts';
import type { CodeOptions } from '../../src/index.ts';
import { serverOf } from '../../src/server.ts';
import { type DatabaseKind, freshDatabase } from '../support/databases.ts';

export interface Watched {
  readonly app: FastifyInstance;
  readonly url: string;
  /** Everything that was logged, as it was written. */
  text(): string;
  /** The same, line by line. */
  lines(): Record<string, unknown>[];
  /** The line of a request, once it is there. */
  lineOf(id: string, message?: string): Promise<Record<string, unknown>>;
}

/** Serves an application that logs, on a new database, for as long as `use` takes. */
export async function withLog(
  kind: DatabaseKind,
  options: CodeOptions,
  logger: Record<string, unknown>,
  use: (watched: Watched) => Promise<void>,
): Promise<void> {
  const database = await freshDatabase(kind);
  const application = await loadApplication({
    ...options,
    app_main: { ...options.app_main, database: { ...options.app_main.database, url: database.url, schema: 'update' } },
  });
  let written = '';
  const stream = new Writable({
    write(chunk, _, done) {
      written += chunk;
      done();
    },
  });
  const app = await serverOf(application, { logger: { stream, ...logger } });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const text = () => written;
  const lines = () =>
    written
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const lineOf = async (id: string, message = 'request') => {
    for (let tries = 0; tries < 400; tries++) {
      const line = lines().find(({ request_id, msg }) => request_id === id && msg === message);
      if (line) return line;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error(`no line "${message}" of the request ${id} in:\n${written}`);
  };
  try {
    await use({ app, url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`, text, lines, lineOf });
  } finally {
    app.server.closeAllConnections();
    await app.close();
    await database.drop();
  }
}
