import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { packageRoot } from '../../package-root.ts';
import { listenOn, listenOptions } from '../arguments.ts';
import type { Command } from '../command.ts';
import { type Io, say } from '../io.ts';
import { applicationDirectory } from '../open-application.ts';
import { watchApplication } from '../watch-application.ts';

export default {
  details: [
    'Watches config/, src/ and migrations/. If a change breaks the declaration, the errors are shown until the next change.',
    'If the database does not fit the models, the differences are shown and the server starts when they are resolved.',
    'If models and migrations differ, the command offers to write the migration (on a terminal).',
    'Responses have a Server-Timing header. Everything else works as in "declarest serve".',
  ],
  options: listenOptions,
  exitCodes: { 0: 'stopped by a signal', 1: 'the directory has no application', 2: 'wrong command line' },
  example: 'declarest dev my-application --port 8080',

  async run(given, io) {
    const { port, host } = listenOn(given, io.env);
    const directory = applicationDirectory(given.positionals.dir, io);
    const stopped = io.untilStopped().then(() => 'stop' as const);
    const watcher = watchApplication(directory);
    let ownPort = port;
    // With --port 0, restarts keep the first port, so that the address stays valid.
    const keepPort = (text: string) => {
      const found = port === 0 ? /^listening on .*:(\d+)$/m.exec(text)?.[1] : undefined;
      if (found !== undefined) ownPort = Number(found);
    };
    try {
      for (;;) {
        const options = [
          ...(ownPort === undefined ? [] : [`--port=${ownPort}`]),
          ...(host === undefined ? [] : [`--host=${host}`]),
        ];
        const offer = migrationOffer(directory, io);
        const child = startChild([directory, '--timing', ...options], io, (text) => {
          keepPort(text);
          offer.look(text);
        });
        const changes = Promise.race([stopped, watcher.next()]);
        const ended = await Promise.race([changes.then(() => null), child.ended]);
        // A change of the application cannot fix a wrong command line.
        if (ended === 2) return 2;
        if (ended !== null)
          say(io.stderr, `the server ended with exit code ${ended}; waiting for a change in config/, src/ or migrations/`);
        const next = await changes;
        offer.end();
        await child.stop();
        if (next === 'stop') return 0;
        say(io.stderr, `changed: ${next.join(', ')}; starting again`);
      }
    } finally {
      watcher.close();
    }
  },
} satisfies Command;

/** Milliseconds that the child may take to stop before it is killed. */
const stopTimeout = 3000;

/** Starts `declarest serve` as a child process, and passes its output on. */
function startChild(args: readonly string[], io: Io, onOutput: (text: string) => void) {
  const child = spawn(process.execPath, [join(packageRoot, 'bin', 'declarest.js'), 'serve', ...args], {
    cwd: io.cwd,
    // With this variable, the child ends when its channel to this process closes, so it is never left behind.
    env: { ...io.env, DECLAREST_STARTED_BY: String(process.pid), DECLAREST_DEV: '1' },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // Otherwise a terminal would interrupt the child in addition to us.
    detached: process.platform !== 'win32',
  });
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    io.stdout.write(text);
    onOutput(text);
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    io.stderr.write(text);
    onOutput(text);
  });
  const ended = new Promise<number>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
  return {
    ended,
    async stop() {
      const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeout);
      child.kill('SIGTERM');
      await ended;
      clearTimeout(timer);
    },
  };
}

/** Offers once to write a migration, if the server says that one is missing. A change of the application ends the question. */
function migrationOffer(directory: string, io: Io) {
  const end = new AbortController();
  let isMade = false;
  const ask = async (question: NonNullable<Io['ask']>) => {
    const answer = await question('write the migration now? [y/N] ', end.signal).catch(() => '');
    if (!/^y(es)?$/i.test(answer.trim()) || end.signal.aborted) return;
    const args = [join(packageRoot, 'bin', 'declarest.js'), 'migrate', 'create', directory];
    // the terminal is inherited, because this command asks questions itself
    spawn(process.execPath, args, { cwd: io.cwd, env: io.env, stdio: 'inherit' }).on('error', () => undefined);
  };
  return {
    look(text: string): void {
      if (isMade || !io.ask || !text.includes('models and migrations differ')) return;
      isMade = true;
      void ask(io.ask);
    },
    end: () => end.abort(),
  };
}
