/** What is read of the report that Vitest writes as JSON. */
export interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: readonly { status: string; assertionResults: readonly { status: string }[] }[];
}

/** The closing count of a run, and what failed beside the tests themselves. */
export interface Summary {
  passed: number;
  failed: number;
  reasons: string[];
}

/**
 * Counts what passed and failed. Tests are counted by Vitest; whatever else fails counts as one failure each, so that
 * "0 failed" is never said of a run that failed.
 */
export function summarize(run: { checked: boolean; tested: boolean; report: Report | undefined }): Summary {
  const { checked, tested, report } = run;
  const reasons: string[] = [];
  const passed = report?.numPassedTests ?? 0;
  let failed = report?.numFailedTests ?? 0;
  const add = (count: number, reason: string) => {
    if (count === 0) return;
    failed += count;
    reasons.push(reason);
  };
  add((report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0), 'tests that were skipped or are still to be written');
  add(report?.testResults.filter(brokeOutsideTests).length ?? 0, 'test files that could not be run');
  if (passed + failed === 0) add(1, 'no test was run');
  if (!tested && failed === 0) add(1, 'coverage, or an error outside of any test: see the output above');
  if (!checked) add(1, 'npm run check: see its output above');
  return { passed, failed, reasons };
}

function brokeOutsideTests(file: Report['testResults'][number]): boolean {
  return file.status === 'failed' && !file.assertionResults.some(({ status }) => status === 'failed');
}
