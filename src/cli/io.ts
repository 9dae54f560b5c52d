import type { OutputStyle } from './text/layout.ts';

export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** The environment of a command; a parameter, so that tests can replace it. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: NodeJS.ProcessEnv;
  /** The base of relative directories. */
  readonly cwd: string;
  /** Resolves once the program is asked to stop. */
  untilStopped(): Promise<void>;
  /** Asks the person at the terminal, and returns the line that was entered; undefined without a terminal. */
  readonly ask?: ((question: string, signal?: AbortSignal) => Promise<string>) | undefined;
}

export function processIo(): Io {
  for (const stream of [process.stdout, process.stderr]) {
    // The reader may close the pipe early (`declarest routes | head`); a server continues without it.
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') return;
      if (stream !== process.stderr) process.stderr.write(`declarest: cannot write the output: ${error.message}\n`);
      process.exit(1);
    });
  }
  const ask = process.stdin.isTTY && process.stdout.isTTY ? askTerminal : undefined;
  return { stdout: process.stdout, stderr: process.stderr, env: process.env, cwd: process.cwd(), untilStopped, ask };
}

/** The person at the terminal has ended the input instead of answering a question. */
export class NoAnswer extends Error {}

async function askTerminal(question: string, signal?: AbortSignal): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  // without this, the question would never resolve when the input ends
  const ended = new Promise<never>((_, reject) => {
    terminal.once('close', () => reject(new NoAnswer('no answer was entered; nothing was written')));
  });
  try {
    return await Promise.race([terminal.question(question, signal ? { signal } : {}), ended]);
  } finally {
    terminal.close();
  }
}

/** The first signal requests the stop. The second one has no listener any more, and ends the process at once. */
function untilStopped(): Promise<void> {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  return new Promise((resolve) => {
    const stop = () => {
      for (const signal of signals) process.off(signal, stop);
      resolve();
    };
    for (const signal of signals) process.on(signal, stop);
  });
}

export function say(output: Output, line: string): void {
  output.write(`${line}\n`);
}

/** How to show text on an output: in colours and wrapped on a terminal, plain elsewhere. */
export function outputStyleOf(output: Output, env: NodeJS.ProcessEnv): OutputStyle {
  return { colour: isColoured(output, env), columns: output.isTTY ? (output.columns ?? 80) : null };
}

/** `FORCE_COLOR` wins over `NO_COLOR`, which wins over the terminal. */
function isColoured(output: Output, env: NodeJS.ProcessEnv): boolean {
  if (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== '') return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false';
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== '') return false;
  return output.isTTY === true && env.TERM !== 'dumb';
}
