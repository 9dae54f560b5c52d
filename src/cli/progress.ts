import type { Io } from './io.ts';

/** Milliseconds between two updates, and before the first one: most work has finished by then. */
const interval = 500;
const clearLine = '\r\u001b[2K';

/** Shows on a terminal that work is going on, and for how long. `pause` removes the line before other output. */
export async function withProgress<Result>(
  { env, stderr }: Pick<Io, 'env' | 'stderr'>,
  text: string,
  work: (pause: () => void) => Promise<Result>,
): Promise<Result> {
  if (!stderr.isTTY || env.TERM === 'dumb') return work(() => {});
  const started = performance.now();
  let isShown = false;
  const draw = () => {
    isShown = true;
    stderr.write(`${clearLine}${text}… ${Math.floor((performance.now() - started) / 1000)} s`);
  };
  const pause = () => {
    if (isShown) stderr.write(clearLine);
    isShown = false;
  };
  const timer = setInterval(draw, interval).unref();
  try {
    return await work(pause);
  } finally {
    clearInterval(timer);
    pause();
  }
}
