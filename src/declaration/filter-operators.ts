/** Which operators make sense of a field: they list the sorts of fields that they suit. */
export type Filtering = 'ordered' | 'textual' | 'named' | 'boolean' | 'none';

/** What the parameter of an operator holds, and what the condition makes of it. */
export type OperatorCondition =
  /** One value of the field; `negated` also finds rows that have none. */
  | { readonly operand: 'value'; readonly sign: '=' | '<' | '<=' | '>' | '>='; readonly negated?: true }
  /** Several values of the field, separated by commas. */
  | { readonly operand: 'list' }
  /** A part of a text, whatever its case: where the rest of the text may be. */
  | { readonly operand: 'text'; readonly before: boolean; readonly after: boolean }
  /** Whether there is a value. */
  | { readonly operand: 'boolean' };

type OperatorTraits = OperatorCondition & {
  readonly suits: readonly Filtering[];
  /** What it says of a field, in the description of a parameter. */
  readonly meaning: string;
};

const ordered: readonly Filtering[] = ['ordered', 'textual'];
const listable: readonly Filtering[] = [...ordered, 'named'];
const comparable: readonly Filtering[] = [...listable, 'boolean'];
const textual: readonly Filtering[] = ['textual'];
const all: readonly Filtering[] = [...comparable, 'none'];

/** Every way to compare a field with the value of a request, in the order in which they are shown. */
export const operatorTraits = {
  eq: { operand: 'value', sign: '=', suits: comparable, meaning: 'is this' },
  ne: { operand: 'value', sign: '=', negated: true, suits: comparable, meaning: 'is not this' },
  lt: { operand: 'value', sign: '<', suits: ordered, meaning: 'is less than this' },
  lte: { operand: 'value', sign: '<=', suits: ordered, meaning: 'is this or less' },
  gt: { operand: 'value', sign: '>', suits: ordered, meaning: 'is more than this' },
  gte: { operand: 'value', sign: '>=', suits: ordered, meaning: 'is this or more' },
  in: {
    operand: 'list',
    suits: listable,
    meaning: 'is one of these, separated by commas; within a value, a comma or backslash has a backslash before it',
  },
  contains: { operand: 'text', before: true, after: true, suits: textual, meaning: 'contains this' },
  starts: { operand: 'text', before: false, after: true, suits: textual, meaning: 'begins with this' },
  ends: { operand: 'text', before: true, after: false, suits: textual, meaning: 'ends with this' },
  exists: { operand: 'boolean', suits: all, meaning: 'is there, or is not' },
} as const satisfies Readonly<Record<string, OperatorTraits>>;

/** How a field can be compared with what a request gives. */
export type FilterOperator = keyof typeof operatorTraits;

export const filterOperators = Object.keys(operatorTraits) as readonly FilterOperator[];

/** The operators that suit a sort of field. */
export function operatorsSuiting(filtering: Filtering): readonly FilterOperator[] {
  return filterOperators.filter((operator) => operatorTraits[operator].suits.includes(filtering));
}

/** The operator of a parameter that has the name of the field alone. */
export const plainOperator = 'eq' satisfies FilterOperator;

/** The name of a query parameter: `lastName`, `lastName[contains]`. */
export function filterParameter(field: string, operator: FilterOperator): string {
  return operator === plainOperator ? field : `${field}[${operator}]`;
}
