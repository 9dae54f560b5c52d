import { join } from 'node:path';
import { serveCommand } from './contestants.ts';
import { fillPostgres } from './data/postgres.ts';
import { amounts } from './data/shape.ts';
import type { LoadRequest } from './load/request.ts';
import { type Measurement, measure, requestFile } from './measure.ts';
import type { Options } from './options.ts';
import { startServer } from './server-process.ts';

const deep = 50_000;
const around = 20;
/** Counting two million rows is slow: a shorter measurement would see few responses, or none. */
const leastSeconds = 4;

/** Compares page 1 of two million rows with page 50,000, which is requested by the link of the page before. */
export async function measureDeepPaging(server: string, directory: string, options: Options): Promise<Measurement[]> {
  console.log(`filling a table with ${amounts.large.toLocaleString('en')} people`);
  const url = await fillPostgres(server, 'large', amounts.large);
  const application = join(import.meta.dirname, 'apps', 'people');
  const running = await startServer({
    args: serveCommand(application, options),
    cwd: application,
    env: { DATABASE_URL: url },
    probe: { path: '/api/person/7.json' },
    log: join(directory, 'deep-paging.log'),
  });
  try {
    const first = requestFile(directory, 'deep.first', [{ method: 'GET', path: '/api/person.json' }]);
    const links: LoadRequest[] = [];
    for (let page = deep - around; page < deep; page++) links.push({ method: 'GET', path: await nextOf(running.port, page) });
    const followed = requestFile(directory, 'deep.followed', links);
    const measurements: Measurement[] = [];
    const seconds = Math.max(options.seconds, leastSeconds);
    for (let round = 0; round <= options.rounds; round++) {
      for (const [work, file] of [['page 1', first] as const, ['page 50,000', followed] as const]) {
        const measured = await measure(running, { contestant: 'declarest-pg', work, file }, round, seconds);
        if (round > 0) measurements.push(measured);
      }
    }
    return measurements;
  } finally {
    await running.stop();
  }
}

async function nextOf(port: number, page: number): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/api/person.json?page=${page}`);
  const { pagination } = (await response.json()) as { pagination: { next: string } };
  return pagination.next;
}
