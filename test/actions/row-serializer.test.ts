import { expect, test } from 'vitest';
import { RowSerializer } from '../../src/actions/row-serializer.ts';
import type { ActiveGroups } from '../../src/model/groups.ts';

type Any = any;

const groups = (read: string[], embedded: string[]): ActiveGroups => ({ read, embedded, write: [] });
const [one, two] = [groups(['a', 'b'], ['x']), groups(['b', 'c'], ['x', 'y'])] as const;
const serializerOf = ({ embedded, read }: ActiveGroups): Any => ({
  serialize: (row: object, rows: unknown) => [row, read.join(), rows],
  planFor: (meta: unknown) => [meta, read, embedded],
});
const framework: Any = { serializer: serializerOf };
const [first, second, third, other] = [1, 2, 3, 4].map((id) => ({ id })) as [object, object, object, object];
const usual = serializerOf(groups(['usual'], []));
const rows: Any = { is: 'rows' };
const serializer = new RowSerializer(
  framework,
  new Map([
    [first, one],
    [second, two],
    [third, one],
  ]),
  usual,
);

test('each row of a list is serialized in its own groups, and others as usual', () => {
  const written = [
    [first, 'a,b', rows],
    [other, 'usual', rows],
    [second, 'b,c', rows],
  ];
  expect(serializer.serialize([first, other, second], rows)).toEqual(written);
  expect(serializer.serialize({ count: 3, results: [first, other, second] }, rows)).toEqual({ count: 3, results: written });
  expect(serializer.of(other)).toBe(usual);
  expect(serializer.of(first)).toBe(serializer.of(third));
});

test('the plan has the fields of all rows, each group once', () => {
  expect(serializer.planFor('meta' as Any)).toEqual(['meta', ['a', 'b', 'c'], ['x', 'y']]);
});
