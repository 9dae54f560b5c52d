import { writeApplication } from './application.ts';
import { type FreshDatabase, freshDatabase } from './database.ts';
import type { ListQuery } from './load.ts';
import type { Seen, Surroundings } from './row.ts';
import { type ServedApplication, serve } from './server.ts';

/** Runs the application on a new database, and stops it afterwards. */
export async function withServer(
  surroundings: Surroundings,
  settings: { server?: object; database?: object; options?: readonly string[] },
  use: (server: ServedApplication, database: FreshDatabase) => Promise<Seen>,
): Promise<Seen> {
  const database = await freshDatabase(surroundings);
  const directory = writeApplication(surroundings.root, database.url, settings.server, settings.database);
  const server = await serve(directory, settings.options);
  try {
    return await use(server, database);
  } finally {
    await server.end('SIGKILL');
  }
}

/** Reads and writes of every kind. */
export function mixed(n: number): ListQuery {
  const id = (n % 200) + 1;
  switch (n % 5) {
    case 0:
      return { path: `/thing/${id}.json` };
    case 1:
      return { path: `/thing.json?page=${(n % 4) + 1}` };
    case 2:
      return { method: 'PATCH', path: `/thing/${id}.json`, json: { name: `thing ${n}` } };
    case 3:
      return { method: 'POST', path: `/thing/${id}/tags.json`, json: { id: (n % 20) + 1 } };
    default:
      return { method: 'DELETE', path: `/thing/${id}/tags.json`, json: { id: (n % 20) + 1 } };
  }
}
