import { describe, expect, test } from 'vitest';
import { type Report, summarize } from '../../scripts/summary.ts';

const report = (changes: Partial<Report> = {}): Report => ({
  numPassedTests: 12,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  testResults: [{ status: 'passed', assertionResults: [{ status: 'passed' }] }],
  ...changes,
});

describe('the closing count', () => {
  test('is that of the tests where everything went well', () => {
    expect(summarize({ checked: true, tested: true, report: report() })).toEqual({ passed: 12, failed: 0, reasons: [] });
  });

  test('is that of the tests where only tests failed', () => {
    const testResults = [{ status: 'failed', assertionResults: [{ status: 'failed' }, { status: 'failed' }] }];
    expect(summarize({ checked: true, tested: false, report: report({ numFailedTests: 2, testResults }) })).toEqual({
      passed: 12,
      failed: 2,
      reasons: [],
    });
  });

  test.each([
    ['the checks beside the tests failed', { checked: false, tested: true, report: report() }, /npm run check/],
    ['coverage is too low', { checked: true, tested: false, report: report() }, /coverage/],
    ['a test was skipped', { checked: true, tested: true, report: report({ numPendingTests: 1 }) }, /skipped/],
    [
      'a test is still to be written',
      { checked: true, tested: true, report: report({ numTodoTests: 1 }) },
      /still to be written/,
    ],
    [
      'a file could not be run',
      { checked: true, tested: false, report: report({ testResults: [{ status: 'failed', assertionResults: [] }] }) },
      /could not be run/,
    ],
    ['no test was run', { checked: true, tested: true, report: report({ numPassedTests: 0, testResults: [] }) }, /no test/],
    ['there is no report', { checked: true, tested: false, report: undefined }, /no test/],
  ])('has one failure where %s', (_, run, reason) => {
    const { failed, reasons } = summarize(run);
    expect(failed).toBe(1);
    expect(reasons).toEqual([expect.stringMatching(reason)]);
  });
});
