/** The parts of Vitest's JSON report that a full run needs. */
export interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: readonly {
    name: string;
    status: string;
    assertionResults: readonly { status: string; fullName: string; failureMessages: readonly string[] }[];
  }[];
}

/** The final counts of a run, and its failures outside of tests. */
export interface Summary {
  passed: number;
  failed: number;
  reasons: string[];
  /** Lines about the tests that failed first and passed when repeated. */
  flaky: string[];
}

/**
 * Counts successes and failures. Vitest counts the tests. Every other failure counts as one, so that a failed run never prints
 * "0 failed".
 */
export function summarize(run: { checked: boolean; built: boolean; tested: boolean; report: Report | undefined }): Summary {
  const { checked, built, tested, report } = run;
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
  if (!built) add(1, 'npm run build: see its output above');
  return { passed, failed, reasons, flaky: report?.testResults.flatMap(flakyTests) ?? [] };
}

/** A repeated test keeps the messages of its failures. */
function flakyTests({ name, assertionResults }: Report['testResults'][number]): string[] {
  return assertionResults
    .filter(({ status, failureMessages }) => status === 'passed' && failureMessages.length > 0)
    .map(({ fullName, failureMessages }) => `${name}: ${fullName}: ${failureMessages[0]?.split('\n', 1)[0]}`);
}

function brokeOutsideTests(file: Report['testResults'][number]): boolean {
  return file.status === 'failed' && !file.assertionResults.some(({ status }) => status === 'failed');
}

/** The parts of Vitest's JSON report that a partial run needs. */
export interface PartReport {
  numPassedTests: number;
  numFailedTests: number;
  testResults: readonly { name: string; assertionResults: readonly { status: string; fullName: string }[] }[];
}

/** The final lines of a partial run: its results, and the files and tests that were left out. */
export function summarizePart(run: {
  name: string;
  /** The databases that were left out. */
  without: string;
  tested: boolean;
  report: PartReport | undefined;
  /** The number of all test files. */
  files: number;
  /** The test files that were not run, by their paths from the root. */
  leftOut: readonly string[];
}): { lines: string[]; isPassed: boolean } {
  const { name, without, tested, report, files, leftOut } = run;
  const passed = report?.numPassedTests ?? 0;
  const failed = report?.numFailedTests ?? 0;
  const tests = report?.testResults.flatMap(({ assertionResults }) => assertionResults) ?? [];
  const skipped = tests.filter(({ status }) => status !== 'passed' && status !== 'failed');
  const isPassed = tested && failed === 0 && passed > 0;
  const lines = [
    '',
    `${name}: ${passed} passed, ${failed} failed${isPassed || failed > 0 ? '' : '; the run failed: see the output above'}`,
    `Left out: ${without}; ${leftOut.length} of ${files} test files; ${skipped.length} skipped tests; coverage; npm run check.`,
    ...placesOf(leftOut).map((place) => `  ${place}`),
    ...skipped.map(({ fullName }) => `  skipped: ${fullName}`),
    'npm test runs everything.',
  ];
  return { lines, isPassed };
}

/** The folders of test files, each with its number of files, six folders per line. */
function placesOf(files: readonly string[]): string[] {
  const folders = Map.groupBy(files, (file) => file.split('/').slice(0, -1).join('/'));
  const places = [...folders].map(([folder, own]) => `${folder} (${own.length})`).sort();
  const lines: string[] = [];
  while (places.length > 0) lines.push(places.splice(0, 6).join(', '));
  return lines;
}
