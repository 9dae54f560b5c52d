import { describe, expect, test } from 'vitest';
import { usedTypes } from '../../scripts/used-types.ts';

const files: Record<string, string> = {
  index: "export { Person, type Named } from './model/person.ts';\nexport type * from './all.ts';\n",
  'model/person': `import type { Kept, Unused } from './other.ts';
import { Library } from 'library';
/** A person. */
export declare class Person {
    kept(): Kept;
    late: import('../late.ts').Late;
}
export type Named =
/** with a name */
{
    name: string;
}
/** with two */
 | {
    names: Own;
};
type Own = string;
type Alone = Unused;
declare module 'library' {
    interface Extended {}
}
export {};
`,
  'model/other': 'export interface Kept {\n    a: 1;\n}\nexport interface Unused {\n    b: Kept;\n}\n',
  late: 'export type Late = Chain;\ntype Chain = 1;\nexport declare function unused(): Late;\n',
  all: "export type First = Second;\nexport type { Second } from './second.ts';\n",
  second: 'export type Second = 2;\nexport type Third = 3;\n',
};

describe('the used parts of type declarations', () => {
  const used = usedTypes((path) => files[path] ?? '', ['index']);

  test('contain what the exported names refer to', () => {
    expect(used.get('index')).toBe(files.index);
    expect(used.get('late')).toBe('export type Late = Chain;\ntype Chain = 1;\n');
    expect(used.get('model/other')).toBe('export interface Kept {\n    a: 1;\n}\n');
  });

  test('contain whole statements, without those that nothing refers to', () => {
    const { 'model/person': person = '' } = files;
    const expected = person.replace('Kept, Unused', 'Kept').replace('type Alone = Unused;\n', '');
    expect(used.get('model/person')).toBe(expected);
  });
});
