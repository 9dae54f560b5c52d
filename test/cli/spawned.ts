import { type ChildProcess, spawn } from 'node:child_process';
import { onTestFinished } from 'vitest';
import { command, sourceCommand } from '../../scripts/command.ts';
import type { Outcome } from './call.ts';

/** The command in a process of its own. */
export interface Spawned {
  readonly child: ChildProcess;
  readonly printed: { out: string; err: string };
  /** Resolves with the first match of what is or will be printed, from a position of each text on. */
  until(expression: RegExp, from?: { out: number; err: number }): Promise<RegExpExecArray>;
  /** Where both texts end now, for {@link until}. */
  mark(): { out: number; err: number };
  readonly ended: Promise<Outcome & { readonly signal: NodeJS.Signals | null }>;
}

interface StartOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Whether the source is run even if there is a built package: for applications that import the source, and to look at its modules. */
  readonly fromSource?: boolean;
}

/** Starts the command; it is killed at the end of the test where it still runs. */
export function start(argv: readonly string[], { env = {}, cwd, fromSource = false }: StartOptions = {}): Spawned {
  const { NO_COLOR, FORCE_COLOR, NODE_ENV, ...inherited } = process.env;
  const child = spawn(process.execPath, [fromSource ? sourceCommand : command, ...argv], {
    cwd,
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const printed = { out: '', err: '' };
  const waiting = new Set<() => void>();
  const listen = (name: 'out' | 'err') => (text: string) => {
    printed[name] += text;
    for (const look of waiting) look();
  };
  child.stdout?.setEncoding('utf8').on('data', listen('out'));
  child.stderr?.setEncoding('utf8').on('data', listen('err'));
  const ended = new Promise<Outcome & { signal: NodeJS.Signals | null }>((resolve) => {
    child.on('close', (code, signal) => resolve({ code: code ?? -1, signal, ...printed }));
  });
  return {
    child,
    printed,
    ended,
    mark: () => ({ out: printed.out.length, err: printed.err.length }),
    until: (expression, from = { out: 0, err: 0 }) =>
      new Promise((resolve, reject) => {
        const done = (settle: () => void) => {
          clearTimeout(timer);
          waiting.delete(look);
          settle();
        };
        const fail = (why: string) => done(() => reject(new Error(`${expression} ${why}, but:\n${printed.out}${printed.err}`)));
        const timer = setTimeout(() => fail('was not printed within 45 s'), 45_000);
        const look = () => {
          const found = expression.exec(printed.out.slice(from.out)) ?? expression.exec(printed.err.slice(from.err));
          if (found) done(() => resolve(found));
        };
        waiting.add(look);
        ended.then(() => fail('was not printed before the end'));
        look();
      }),
  };
}

/** Runs the command to its end. */
export async function run(argv: readonly string[], options?: Parameters<typeof start>[1]): Promise<Outcome> {
  const { code, out, err } = await start(argv, options).ended;
  return { code, out, err };
}

/** Waits until the command listens and gives its address. */
export async function addressOf(spawned: Spawned, from?: { out: number; err: number }): Promise<string> {
  return (await spawned.until(/^listening on (http:\/\/127\.0\.0\.1:\d+)$/m, from))[1] as string;
}
