import { describe, expect, test } from 'vitest';
import { ApplicationFailure, CallFailure, messageOf, tell } from '../../src/cli/failure.ts';
import { NoAnswer } from '../../src/cli/io.ts';
import { DeclarationErrors } from '../../src/declaration/report.ts';
import { testIo } from './call.ts';

function told(error: unknown, env: NodeJS.ProcessEnv = {}): { code: number; err: string } {
  const io = testIo({ env });
  return { code: tell(error, io), err: io.printed.err };
}

describe('the error output', () => {
  test('for an expected failure is only its message', () => {
    expect(told(new CallFailure('wrong call'))).toEqual({ code: 2, err: 'declarest: wrong call\n' });
    expect(told(new ApplicationFailure('wrong application'))).toEqual({ code: 1, err: 'declarest: wrong application\n' });
  });

  test('for an unexpected error is its message and how to see more', () => {
    const err = 'declarest: surprise\nset DEBUG=1 for a stack trace\n';
    expect(told(new Error('surprise'))).toEqual({ code: 1, err });
    expect(told('surprise', { DEBUG: '0' })).toEqual({ code: 1, err });
  });

  test('for an error of the file system names the path and the reason', () => {
    const denied = (path: string) =>
      Object.assign(new Error(`EACCES: permission denied, scandir '${path}'`), { code: 'EACCES', syscall: 'scandir', path });
    expect(told(denied('/app/config'))).toEqual({
      code: 1,
      err: 'declarest: cannot list /app/config: permission denied; check the path and its permissions\n',
    });
    expect(told(denied('x'.repeat(5000))).err.length).toBeLessThan(300);
  });

  test('for an unanswered question is only its message', () => {
    expect(told(new NoAnswer('no answer was entered'))).toEqual({ code: 1, err: 'declarest: no answer was entered\n' });
  });

  test('with DEBUG includes the stack of the cause', () => {
    const { err } = told(new ApplicationFailure('cannot start', new TypeError('the cause')), { DEBUG: '1' });
    expect(err).toMatch(/^declarest: cannot start\nTypeError: the cause\n {4}at /);
    expect(told('just text', { DEBUG: '1' }).err).toBe('declarest: just text\njust text\n');
  });

  test('for a declaration lists every error and their number', () => {
    const errors = [2, 1].map((line) => ({ place: { file: 'a.yaml', line, column: 1 }, path: [], message: 'wrong' }));
    expect(told(new DeclarationErrors(errors))).toEqual({ code: 1, err: 'a.yaml:1:1: wrong\na.yaml:2:1: wrong\n2 errors\n' });
  });
});

test('a message is one line and joins the messages of several errors', () => {
  expect(messageOf(new Error('one\n  two'))).toBe('one two');
  expect(messageOf(new AggregateError([new Error('a'), new Error('b')]))).toBe('a; b');
  expect(messageOf(new TypeError())).toBe('TypeError');
});
