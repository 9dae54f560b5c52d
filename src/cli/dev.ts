import { type ChildServer, startChild } from './child-server.ts';
import { type Command, directoryPositional } from './command.ts';
import { say } from './io.ts';
import { listenOn, listenOptions } from './listen-options.ts';
import { applicationDirectory } from './open-application.ts';
import { type ApplicationWatcher, watchApplication } from './watch-application.ts';

export const dev: Command = {
  details: [
    'Watches config/ and src/. Where a change breaks the declaration, its errors are shown and the next change is waited for.',
    'Everything else is as with "declarest serve".',
  ],
  positionals: [directoryPositional],
  options: listenOptions,
  exitCodes: { 0: 'stopped when asked to', 1: 'the directory holds no application', 2: 'the call is at fault' },
  example: 'declarest dev my-application --port 8080',

  async run(given, io) {
    const { port, host } = listenOn(given);
    const directory = applicationDirectory(given.positionals.dir, io);
    const stopped = io.untilStopped().then(() => 'stop' as const);
    const watcher = watchApplication(directory);
    let ownPort = port;
    // With any free port, the one that was found first is kept, so that its address stays good.
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
        const child = startChild([directory, ...options], io, keepPort);
        const next = await nextEvent(child, watcher, stopped, (code) => {
          say(io.stderr, `the server ended with exit code ${code}; waiting for a change in config/ or src/`);
        });
        await child.stop();
        if (next === 'stop') return 0;
        say(io.stderr, `changed: ${next.join(', ')}; starting again`);
      }
    } finally {
      watcher.close();
    }
  },
};

/** What comes first: the wish to stop, or a change. A server that ends by itself only makes the wait longer. */
async function nextEvent(
  child: ChildServer,
  watcher: ApplicationWatcher,
  stopped: Promise<'stop'>,
  onEnd: (code: number) => void,
): Promise<'stop' | readonly string[]> {
  const wanted = Promise.race([stopped, watcher.next()]);
  const first = await Promise.race([wanted, child.ended.then((code) => ({ code }))]);
  if (typeof first === 'string' || !('code' in first)) return first;
  onEnd(first.code);
  return wanted;
}
