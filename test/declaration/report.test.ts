import { describe, expect, test } from 'vitest';
import { DeclarationErrors, Report } from '../../src/declaration/report.ts';
import { codeSource, type Source } from '../../src/declaration/source.ts';
import type { Place } from '../../src/declaration/types.ts';

/** A source in which a path such as `['b.yaml', 3, 1]` is its own place. */
const source: Source = {
  ...codeSource({}),
  errors: [{ place: { file: 'b.yaml', line: 1, column: 1 }, path: [], message: 'found while reading' }],
  placeOf: (path, at): Place | null => {
    const [file, line, column] = path;
    return typeof line === 'number' ? { file: String(file), line, column: Number(column) + (at === 'key' ? 100 : 0) } : null;
  },
};

function messageOf(report: Report): string {
  try {
    report.throwIfAny();
    return 'nothing';
  } catch (error) {
    expect(error).toBeInstanceOf(DeclarationErrors);
    return (error as Error).message;
  }
}

describe('a report', () => {
  test('has one line per error, ordered by file, line and column, with errors without a place last', () => {
    const place = { file: 'src/models/y.ts', line: 2, column: 5 };
    const report = new Report(source, [
      { path: ['src/models/person.ts'], place: null, message: 'broken' },
      { path: ['src/models/x.ts'], place, message: 'broken\n  over two lines' },
    ]);
    report.add(['app_main', 'apis'], 'without a place');
    report.add(['b.yaml', 10, 1], 'ten');
    report.add(['b.yaml', 9, 20], 'twenty');
    report.add(['b.yaml', 9, 3], 'three');
    report.add(['a.yaml', 99, 1], 'first file');
    report.add(['b.yaml', 9, 3], 'three');
    report.add(['b.yaml', 9, 3], 'at the key', 'key');
    expect(messageOf(report).split('\n')).toEqual([
      'a.yaml:99:1: first file',
      'b.yaml:1:1: found while reading',
      'b.yaml:9:3: three',
      'b.yaml:9:20: twenty',
      'b.yaml:9:103: at the key',
      'b.yaml:10:1: ten',
      'src/models/y.ts:2:5: broken over two lines',
      'src/models/person.ts: broken',
      'app_main.apis: without a place',
    ]);
    expect(report.errors).toHaveLength(10);
  });

  test('without errors throws nothing', () => {
    expect(() => new Report(codeSource({})).throwIfAny()).not.toThrow();
  });

  test('can tell if a path contains an error', () => {
    const report = new Report(codeSource({}));
    report.add(['app_main', 'apis', 'person', 'class'], 'wrong');
    expect(report.touches(['app_main', 'apis', 'person'])).toBe(true);
    expect(report.touches(['app_main', 'apis', 'person', 'class'])).toBe(true);
    expect(report.touches(['app_main', 'apis', 'person', 'class', 'deeper'])).toBe(false);
    expect(report.touches(['app_main', 'apis', 'center'])).toBe(false);
  });

  test('returns its errors sorted, and labels paths by itself', () => {
    const error = new DeclarationErrors([{ place: null, path: ['a', 0], message: 'x' }]);
    expect(error.message).toBe('a.0: x');
    expect(error.name).toBe('DeclarationErrors');
    expect(error.errors).toHaveLength(1);
  });
});
