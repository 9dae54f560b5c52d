import { join } from 'node:path';
import { serveCommand } from './contestants.ts';
import { exampleDirectory, installExample } from './install.ts';
import { measure, requestFile } from './measure.ts';
import type { Options } from './options.ts';
import type { Start } from './rounds.ts';
import { residentMegabytes, type ServerCommand, startServer } from './server-process.ts';

const here = import.meta.dirname;
const handWritten = join(here, 'peers', 'by-hand');

/** Starts the example application and the hand-written server in turn, and measures their memory after some load. */
export async function measureStarts(postgres: string, directory: string, options: Options): Promise<Start[]> {
  installExample();
  const log = join(directory, 'starts.log');
  const commands: Record<string, { readonly command: ServerCommand; readonly path: string }> = {
    'fastify-pg': {
      path: '/people/7',
      command: {
        args: ['fastify.ts'],
        cwd: handWritten,
        env: { DATABASE_URL: postgres, PIPELINED: '4' },
        probe: { path: '/people/7' },
        log,
      },
    },
    example: {
      path: '/api/center.json',
      command: {
        args: serveCommand(exampleDirectory, { reads: 'default', profile: undefined }),
        cwd: exampleDirectory,
        env: { DATABASE_URL: `sqlite:${join(directory, 'example.db')}`, NODE_ENV: 'development' },
        probe: { path: '/api/center.json' },
        log,
      },
    },
  };
  const starts: Start[] = [];
  const rounds = options.quick ? Math.min(options.rounds, 3) : options.rounds;
  // the first round creates the example's database, and is not counted
  for (let round = 0; round <= rounds; round++) {
    for (const [contestant, { command, path }] of Object.entries(commands)) {
      const server = await startServer(command);
      try {
        const file = requestFile(directory, `start.${contestant}`, [{ method: 'GET', path }]);
        if (round > 0) await measure(server, { contestant, work: 'start', file }, round, 1);
        if (round > 0) starts.push({ contestant, round, boot: server.boot, memory: residentMegabytes(server.pid) });
      } finally {
        await server.stop();
      }
    }
  }
  return starts;
}
