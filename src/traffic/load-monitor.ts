/** The utilization of the event loop from which on the process is overloaded. */
const fullyUsed = 0.95;

/** Statements under way from which on more of them only wait for each other. */
const manyStatements = 32;

/** Calm checks in a row after which an overload is over. It begins with the first busy one: all requests until the next must be served. */
const calmChecks = 2;

/** Checks from time to time whether the process or the database is overloaded. */
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
