/** The utilization of the event loop at which the process counts as overloaded. */
const fullyUsed = 0.95;

/** The number of running statements at which further ones only wait for each other. */
const manyStatements = 32;

/**
 * Calm checks in a row after which an overload ends. It starts with the first busy check already: all requests that are admitted
 * until the next check must be served.
 */
const calmChecks = 2;

/** Checks whether the process or the database is overloaded. Each check measures the time since the previous one. */
export interface LoadMonitor {
  /** Forgets earlier checks. */
  begin(): void;
  isOverloaded(): boolean;
}

export function createLoadMonitor(statementsUnderWay: () => number): LoadMonitor {
  let before = performance.eventLoopUtilization();
  let checksLeft = 0;
  return {
    begin() {
      before = performance.eventLoopUtilization();
      checksLeft = 0;
    },
    isOverloaded() {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, before);
      before = now;
      const isBusy = utilization >= fullyUsed || statementsUnderWay() >= manyStatements;
      checksLeft = isBusy ? calmChecks : Math.max(checksLeft - 1, 0);
      return checksLeft > 0;
    },
  };
}
