import { describe, expect, test } from 'vitest';
import { type PartReport, type Report, summarize, summarizePart } from '../../scripts/summary.ts';

const result = (status: string, ...failureMessages: string[]) => ({ status, fullName: `that ${status}`, failureMessages });

const report = (changes: Partial<Report> = {}): Report => ({
  numPassedTests: 12,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  testResults: [{ name: 'a', status: 'passed', assertionResults: [result('passed')] }],
  ...changes,
});

describe('the closing count', () => {
  test('is the count of the tests if everything passes', () => {
    expect(summarize({ checked: true, built: true, tested: true, report: report() })).toEqual({
      passed: 12,
      failed: 0,
      reasons: [],
      flaky: [],
    });
  });

  test('is the count of the tests if only tests fail', () => {
    const testResults = [
      { name: 'a', status: 'failed', assertionResults: [result('failed', 'Error: no'), result('failed', 'Error: no')] },
    ];
    expect(summarize({ checked: true, built: true, tested: false, report: report({ numFailedTests: 2, testResults }) })).toEqual({
      passed: 12,
      failed: 2,
      reasons: [],
      flaky: [],
    });
  });

  test.each([
    ['the checks beside the tests failed', { checked: false, built: true, tested: true, report: report() }, /npm run check/],
    ['the build failed', { checked: true, built: false, tested: true, report: report() }, /npm run build/],
    ['coverage is too low', { checked: true, built: true, tested: false, report: report() }, /coverage/],
    ['a test was skipped', { checked: true, built: true, tested: true, report: report({ numPendingTests: 1 }) }, /skipped/],
    [
      'a test is still to be written',
      { checked: true, built: true, tested: true, report: report({ numTodoTests: 1 }) },
      /still to be written/,
    ],
    [
      'a file could not be run',
      {
        checked: true,
        built: true,
        tested: false,
        report: report({ testResults: [{ name: 'a', status: 'failed', assertionResults: [] }] }),
      },
      /could not be run/,
    ],
    [
      'no test was run',
      { checked: true, built: true, tested: true, report: report({ numPassedTests: 0, testResults: [] }) },
      /no test/,
    ],
    ['there is no report', { checked: true, built: true, tested: false, report: undefined }, /no test/],
  ])('has one failure if %s', (_, run, reason) => {
    const { failed, reasons } = summarize(run);
    expect(failed).toBe(1);
    expect(reasons).toEqual([expect.stringMatching(reason)]);
  });
});

test('tests that passed only when repeated are listed with their first failure', () => {
  const testResults = [
    {
      name: '/test/lock.test.ts',
      status: 'passed',
      assertionResults: [result('passed'), result('passed', 'Error: timed out\n    at lock', 'Error: closed')],
    },
  ];
  expect(summarize({ checked: true, built: true, tested: true, report: report({ testResults }) })).toMatchObject({
    failed: 0,
    flaky: ['/test/lock.test.ts: that passed: Error: timed out'],
  });
});

describe('the closing lines of a part', () => {
  const partReport = (changes: Partial<PartReport> = {}): PartReport => ({
    numPassedTests: 3,
    numFailedTests: 0,
    testResults: [{ name: 'a', assertionResults: [{ status: 'skipped', fullName: 'a lock on PostgreSQL' }] }],
    ...changes,
  });
  const part = (changes: Partial<Parameters<typeof summarizePart>[0]> = {}) =>
    summarizePart({
      name: 'spec',
      without: 'PostgreSQL',
      tested: true,
      report: partReport(),
      files: 4,
      leftOut: ['test/cli/a.test.ts', 'test/house.test.ts', 'test/cli/b.test.ts'],
      ...changes,
    });

  test('name skipped databases, files and tests', () => {
    expect(part()).toEqual({
      isPassed: true,
      lines: [
        '',
        'spec: 3 passed, 0 failed',
        'Left out: PostgreSQL; 3 of 4 test files; 1 skipped tests; coverage; npm run check.',
        '  test (1), test/cli (2)',
        '  skipped: a lock on PostgreSQL',
        'npm test runs everything.',
      ],
    });
  });

  test.each([
    ['a test failed', { report: partReport({ numFailedTests: 1 }), tested: false }, '3 passed, 1 failed'],
    ['the run failed outside of tests', { tested: false }, '3 passed, 0 failed; the run failed: see the output above'],
    ['no test ran', { report: undefined }, '0 passed, 0 failed; the run failed: see the output above'],
  ])('report a failure if %s', (_, changes, text) => {
    const { isPassed, lines } = part(changes);
    expect(isPassed).toBe(false);
    expect(lines[1]).toBe(`spec: ${text}`);
  });
});
