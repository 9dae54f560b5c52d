import { tmpdir } from 'node:os';
import type { Io } from '../../src/cli/io.ts';
import { main } from '../../src/cli/main.ts';

/** What came of a call. */
export interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A world that remembers what was printed and can be told to stop. */
export interface TestIo extends Io {
  readonly printed: { out: string; err: string };
  stop(): void;
  /** Resolves with the first match of what is or will be printed. */
  until(expression: RegExp): Promise<RegExpExecArray>;
}

export function testIo(world: { env?: NodeJS.ProcessEnv; cwd?: string; isTTY?: boolean; columns?: number } = {}): TestIo {
  const printed = { out: '', err: '' };
  const waiting = new Set<() => void>();
  const stopped = Promise.withResolvers<void>();
  const output = (name: 'out' | 'err') => ({
    isTTY: world.isTTY,
    columns: world.columns,
    write(text: string) {
      printed[name] += text;
      for (const look of waiting) look();
    },
  });
  return {
    stdout: output('out'),
    stderr: output('err'),
    env: world.env ?? {},
    cwd: world.cwd ?? tmpdir(),
    untilStopped: () => stopped.promise,
    printed,
    stop: stopped.resolve,
    until: (expression) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          reject(new Error(`${expression} was not printed within 45 s, but:\n${printed.out}${printed.err}`));
        }, 45_000);
        const look = () => {
          const found = expression.exec(printed.out) ?? expression.exec(printed.err);
          if (!found) return;
          waiting.delete(look);
          clearTimeout(timer);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
  };
}

/** Runs a command line in this process. */
export async function call(argv: readonly string[], world: Parameters<typeof testIo>[0] = {}): Promise<Outcome> {
  const io = testIo(world);
  const code = await main(argv, io);
  return { code, ...io.printed };
}
