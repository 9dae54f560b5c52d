import { type FilterOperator, type OperatorCondition, operatorTraits } from '../../declaration/filter-operators.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { type GivenText, itemsIn } from '../../serialization/parameter-reader.ts';
import { type Condition, not, value } from './condition.ts';
import type { FilterPath, PathColumn } from './filter-path.ts';
import { patternOf, type ValueReader, valueReader } from './filter-value.ts';

/** Makes a condition from a value of a request, or returns what the value should have been. */
export type ConditionMaker = (given: GivenText) => { readonly condition: Condition } | { readonly expected: string };

/** How a database compares texts without regard to case. */
export interface TextMatching {
  readonly dialect: Dialect;
  /** The collation that knows upper and lower case beyond ASCII, as `collate "…"`; empty if that of the database does. */
  readonly collation: string;
}

/** Prepares the condition of an operator on the value at the end of a path. */
export function conditionMaker(path: FilterPath, operator: FilterOperator, matching: TextMatching): ConditionMaker {
  const traits: OperatorCondition = operatorTraits[operator];
  if (traits.operand === 'boolean') return once(existsMaker(path));
  const { dialect } = matching;
  const { kind } = path.column as NonNullable<FilterPath['column']>;
  const read = valueReader(kind, dialect);
  switch (traits.operand) {
    case 'value': {
      const sign = ` ${traits.sign} `;
      const holds = traits.negated ? path.holdsNot : path.holds;
      return once(withValue(read, (given) => holds(({ sql }) => [...sql, sign, value(given)])));
    }
    case 'list':
      return (given) => inList(path, given, read, dialect);
    case 'text': {
      const before = traits.before ? '%' : '';
      const after = traits.after ? '%' : '';
      return once((text) => {
        const found = read(text);
        if ('expected' in found) return found;
        return { condition: path.holds((column) => matches(column, `${before}${patternOf(text)}${after}`, matching)) };
      });
    }
  }
}

type OneValueMaker = (text: string) => ReturnType<ConditionMaker>;

/** Rejects a parameter that is repeated, although it takes one value. */
function once(make: OneValueMaker): ConditionMaker {
  return (given) => (typeof given === 'string' ? make(given) : { expected: 'must be given once' });
}

function withValue(read: ValueReader, conditionOf: (given: unknown) => Condition): OneValueMaker {
  return (text) => {
    const found = read(text);
    return 'expected' in found ? found : { condition: conditionOf(found.value) };
  };
}

function existsMaker({ exists }: FilterPath): OneValueMaker {
  return (text) => {
    if (text === 'true') return { condition: exists };
    return text === 'false' ? { condition: not(exists) } : { expected: 'must be true or false' };
  };
}

function inList(
  path: FilterPath,
  given: GivenText,
  read: ValueReader,
  { sql: { among }, values: { listText } }: Dialect,
): ReturnType<ConditionMaker> {
  const items = itemsIn(given);
  if (!items) return { expected: 'must have a comma or another backslash after each backslash, as in "a\\,b,c"' };
  const values = new Set<unknown>();
  for (const item of items) {
    const found = read(item);
    if ('expected' in found) return { expected: `must be a list of values separated by commas, each of which ${found.expected}` };
    values.add(found.value);
  }
  const list = value(listText([...values]));
  return { condition: path.holds(({ sql }) => among(sql, list)) };
}

/** True if a column is like a pattern, ignoring case. */
export function matches({ kind, sql }: PathColumn, pattern: string, { collation, dialect }: TextMatching): Condition {
  const isPadded = kind.kind === 'string' && kind.fixed === true;
  return dialect.sql.matches(sql, { text: pattern, bind: value, isPadded, collation });
}
