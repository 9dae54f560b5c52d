import { startChild } from '../child-server.ts';
import { type Command, directoryPositional } from '../command.ts';
import { say } from '../io.ts';
import { listenOn, listenOptions } from '../listen-options.ts';
import { applicationDirectory } from '../open-application.ts';
import { watchApplication } from '../watch-application.ts';

export const dev: Command = {
  details: [
    'Watches config/ and src/. Where a change breaks the declaration, its errors are shown and the next change is waited for.',
    'Answers tell in Server-Timing what their time was spent on.',
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
        const child = startChild([directory, '--timing', ...options], io, keepPort);
        const changes = Promise.race([stopped, watcher.next()]);
        const ended = await Promise.race([changes.then(() => null), child.ended]);
        // No change of the application repairs the call.
        if (ended === 2) return 2;
        if (ended !== null) say(io.stderr, `the server ended with exit code ${ended}; waiting for a change in config/ or src/`);
        const next = await changes;
        await child.stop();
        if (next === 'stop') return 0;
        say(io.stderr, `changed: ${next.join(', ')}; starting again`);
      }
    } finally {
      watcher.close();
    }
  },
};
