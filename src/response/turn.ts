const waiting: (() => void)[] = [];

function proceed(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(proceed);
}

/**
 * Waits for a turn of the event loop. Each turn goes to one export, however many run: everybody else is served in between, and waits for
 * one piece of work at most.
 */
export function exportTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(proceed);
  });
}
